"""The state of the studies that are served, as the page asks for it every few seconds."""

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nephoscope.app.live.answers import LiveCard, cards_of
from nephoscope.app.live.drawing import ReportDrawer
from nephoscope.app.live.index import Known, StudyIndex, View
from nephoscope.app.remaining import left_in_words
from nephoscope.app.stages.evaluation import stored_study
from nephoscope.model.errors import NephoscopeError
from nephoscope.model.words import dollars, duration
from nephoscope.run.clock import Clock
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.managed import study_as_provided

MAX_LISTED = 25
"""Trials in a list, the latest ones."""
LOOK_S = 1.0
"""Answers are this old at most, however many pages ask."""
REST = 20
"""Cards of a big study take a second: this many times as long nothing is computed after them."""
ON_THIS_MACHINE = frozenset({"local", "emulated"})
"""Providers whose trials a drawing on this machine would disturb."""


@dataclass
class Served:
    """One study."""

    key: int
    index: StudyIndex
    drawer: ReportDrawer
    hold_while_running: bool
    """Draw no report while trials run, as these run on this machine."""
    margin_percent: float
    title: str
    cards: list[LiveCard] = field(default_factory=list)
    cards_of_trials: Sequence[str] = ()
    cards_due_s: float = 0.0
    """Not computed again before that."""
    report: Path | None = None


class Studies:
    """All studies that are served. Several threads may ask."""

    def __init__(self, folders: Sequence[ResultsFolder], out: Path, clock: Clock, every_s: float | None) -> None:
        """Reads each study.

        Args:
            folders: of the studies.
            out: where reports are drawn.
            clock: for times and intervals.
            every_s: the least time between two reports of a study; None: the default, and none while trials run on
                this machine.

        Raises:
            InputError, DamagedFile, NewerSchema: a folder cannot be read.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_s: float | None = None
        self._state: dict[str, Any] = {}
        self.served = [_served(key, folder, out, every_s) for key, folder in enumerate(folders, start=1)]

    def state(self) -> dict[str, Any]:
        """What the page shows, as plain values."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            if self._looked_s is None or now_s - self._looked_s >= LOOK_S:
                self._looked_s = now_s
                self._state = {"studies": [self._look(one, now_s) for one in self.served]}
            return self._state

    def report_of(self, key: str) -> Path | None:
        """The folder with a study's report, by its key as a path has it; None: there is none."""
        with self._lock:
            return next((one.report for one in self.served if str(one.key) == key), None)

    def stop(self) -> None:
        """Ends every drawing that is under way."""
        for one in self.served:
            one.drawer.stop()

    def _look(self, one: Served, now_s: float) -> dict[str, Any]:
        name = str(one.index.folder.path)
        try:
            view = one.index.view(self._clock.unix_ms())
        except (NephoscopeError, OSError) as error:
            return {"key": one.key, "name": name, "title": one.title, "problem": str(error)}
        trials = [known.progress.planned.intent.id for known in view.ended]
        if trials != one.cards_of_trials and now_s >= one.cards_due_s:
            one.cards, one.cards_of_trials = cards_of(view, margin_percent=one.margin_percent), trials
            one.cards_due_s = now_s + REST * (self._clock.monotonic_s() - now_s)
        hold = view.in_use and one.hold_while_running
        drawn = one.drawer.poll(len(trials), now_s, hold=hold)
        one.report = drawn.folder
        return {
            "key": one.key,
            "name": name,
            "title": one.title,
            "problem": "",
            **_progress(view),
            "running": [_running(known) for known in view.running[:MAX_LISTED]],
            "ended": [_ended(known) for known in reversed(view.ended[-MAX_LISTED:])],
            "refused": [_ended(known) for known in reversed(view.ended) if not _counts(known)][:MAX_LISTED],
            "cards": [asdict(card) for card in one.cards],
            "report": {
                "href": f"/studies/{one.key}/report/" if drawn.folder else "",
                "trials": drawn.trials,
                "newer": len(trials) - drawn.trials,
                "drawing": drawn.drawing,
                "held": hold,
                "problem": drawn.problem,
            },
        }


EVERY_S = 30.0
"""Least time between two reports of a study, unless stated."""


def _served(key: int, folder: ResultsFolder, out: Path, every_s: float | None) -> Served:
    study = stored_study(folder)
    here = any(one.provider in ON_THIS_MACHINE for one in study_as_provided(study).configurations)
    return Served(
        key=key,
        index=StudyIndex(folder),
        drawer=ReportDrawer(folder, out / str(key), EVERY_S if every_s is None else every_s),
        hold_while_running=here and every_s is None,
        margin_percent=study.equivalence_margin_percent,
        title=study.title or study.name,
    )


def _progress(view: View) -> dict[str, Any]:
    progress, may_stop = view.progress, view.plan.stop == "decided"
    going_on = view.in_use and progress.left_s
    return {
        "in_use": view.in_use,
        "ended_count": progress.ended,
        "trials": len(progress.states),
        "words": progress.words,
        "left": left_in_words(progress.left_s, may_stop=may_stop) if going_on else "",
        "spent": "" if progress.spent_usd is None else f"{dollars(progress.spent_usd)} spent",
    }


def _counts(known: Known) -> bool:
    return known.row is not None and known.row.counts


def _running(known: Known) -> dict[str, Any]:
    intent = known.planned.intent
    return {
        "trial": intent.id,
        "configuration": intent.configuration_name,
        "benchmark": intent.benchmark.name,
        "replicate": intent.replicate,
        "state": str(known.progress.state),
    }


def _ended(known: Known) -> dict[str, Any]:
    row = known.row
    said = _running(known)
    if row is not None:
        finished = row.state == "finished"
        said["state"] = str(row.verdict or "finished") if finished else row.state
        said["reasons"] = row.reasons
        said["took"] = "" if row.duration_s is None else duration(row.duration_s)
    return said
