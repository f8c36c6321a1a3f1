"""What is known of a study that may be running: in memory, and read again from disk only where a file changed."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nephoscope.analysis.collect import benchmark_rows, imported_rows, measurement_rows, subjects_of, trial_row
from nephoscope.analysis.stored_trials import Stored
from nephoscope.app.stages.tracking import StudyProgress, TrialProgress, together, trial_progress
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.control import State
from nephoscope.model.records import Plan, PlannedTrial
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, TrialRow
from nephoscope.run.spending import ended_usd, trial_usd
from nephoscope.run.states import STOPS
from nephoscope.store.folder import ResultsFolder, Trial

Stamp = tuple[object, ...]
"""Changes when a file of a trial's folder does."""


@dataclass(frozen=True)
class Known:
    """One trial as last read."""

    stamp: Stamp
    progress: TrialProgress
    planned: PlannedTrial
    started: bool
    row: TrialRow | None
    """None: it has not stopped."""
    headlines: tuple[MeasurementRow, ...]
    """Headline metrics of a trial that finished."""
    usd: float | None
    """What it cost; None: one of its attempts has not ended."""


@dataclass(frozen=True)
class View:
    """A study at one moment."""

    plan: Plan
    benchmarks: Sequence[BenchmarkRow]
    progress: StudyProgress
    running: Sequence[Known]
    """Trials that have started and not stopped, in the plan's order."""
    ended: Sequence[Known]
    """Trials that have stopped, the latest last."""
    in_use: bool
    """A controller works on the folder."""
    imported: bool


class StudyIndex:
    """Reads a results folder once, and then only what changed. Writes nothing."""

    def __init__(self, folder: ResultsFolder) -> None:
        self.folder = folder
        self._known: dict[str, Known] = {}
        self._order: list[str] = []
        """Trials that have stopped, in the order in which that was seen."""
        self._plan: tuple[Stamp, Plan, Sequence[BenchmarkRow]] | None = None
        self._spent_usd: float | None = None
        self.reads = 0
        """How many times a trial was read from disk."""

    def view(self, now_unix_ms: int) -> View:
        """The study now.

        Raises:
            InputError: this version cannot read the folder.
            DamagedFile, NewerSchema: a stored file cannot be read.
        """
        plan, benchmarks = self._read_plan()
        not_needed = self.folder.not_needed() if plan.stop == "decided" else {}
        rows: list[Known] = []
        changed = False
        for planned in plan.trials:
            trial = self.folder.trial(planned.intent.id)
            known = self._known.get(planned.intent.id)
            stamp = _stamp(trial.folder)
            if known is None or known.stamp != stamp:
                known = self._read(planned, trial, stamp, plan, benchmarks)
                changed = True
            if planned.intent.id not in not_needed or known.started:
                rows.append(known)
        self._remember_order(rows)
        if changed:
            priced = any(planned.price_usd is not None for planned in plan.trials)
            self._spent_usd = sum(map(partial(self._usd, now_unix_ms), self._known.values())) if priced else None
        progress = together(
            [one.progress for one in rows],
            not_needed=len(plan.trials) - len(rows),
            spent_usd=self._spent_usd,
            now_unix_ms=now_unix_ms,
        )
        return View(
            plan=plan,
            benchmarks=benchmarks,
            progress=progress,
            running=[one for one in rows if one.progress.state not in STOPS and one.progress.state != State.PLANNED],
            ended=[self._known[trial] for trial in self._order],
            in_use=self.folder.in_use(),
            imported=self.folder.source() is not None,
        )

    def _usd(self, now_unix_ms: int, known: Known) -> float:
        trial = self.folder.trial(known.planned.intent.id)
        return trial_usd(trial, now_unix_ms) if known.usd is None else known.usd

    def _remember_order(self, rows: Sequence[Known]) -> None:
        """Trials that stopped since come last, by the time they ended; one that is repeated leaves the list."""
        stopped = {one.progress.planned.intent.id: one for one in rows if one.row is not None}
        self._order = [trial for trial in self._order if trial in stopped]
        seen = {*self._order}
        new = [one for trial, one in stopped.items() if trial not in seen]
        self._order += [one.progress.planned.intent.id for one in sorted(new, key=_end_ms)]

    def _read_plan(self) -> tuple[Plan, Sequence[BenchmarkRow]]:
        stamp = _file_stamp(self.folder.plan_path)
        if self._plan is None or self._plan[0] != stamp:
            plan, source = self.folder.plan(), self.folder.source()
            rows = imported_rows(plan, source) if source else benchmark_rows(plan, BENCHMARKS)
            self._plan = (stamp, plan, rows)
            self._known = {}
        return self._plan[1], self._plan[2]

    def _read(
        self, planned: PlannedTrial, trial: Trial, stamp: Stamp, plan: Plan, benchmarks: Sequence[BenchmarkRow]
    ) -> Known:
        self.reads += 1
        progress = trial_progress(planned, trial)
        attempts = len(trial.attempts()) if stamp else 0
        row: TrialRow | None = None
        headlines: list[MeasurementRow] = []
        attempt = trial.decisive_attempt() if progress.state in STOPS and attempts else None
        if attempt is not None:
            intent = trial.started_as(planned.intent)
            subjects = subjects_of(plan, self.folder.source(), BENCHMARKS)
            row = trial_row(self.folder, Stored(intent, attempt, attempts), subjects[intent.benchmark.name])
            if row.state == "finished":
                metrics = {one.benchmark: {metric.name: metric for metric in one.metrics} for one in benchmarks}
                wanted = {name for name, metric in metrics[row.benchmark].items() if metric.headline}
                found = measurement_rows(intent, attempt, row, metrics, BENCHMARKS)
                headlines = [one for one in found if one.at_s is None and one.metric in wanted]
        usd = ended_usd(trial) if attempts else 0.0
        known = Known(stamp, progress, planned, attempts > 0, row, tuple(headlines), usd)
        self._known[planned.intent.id] = known
        return known


def _end_ms(known: Known) -> float:
    row = known.row
    if row is None or row.started_unix_ms is None:
        return float(known.planned.intent.position)
    return row.started_unix_ms + 1000 * (row.duration_s or 0.0)


def _stamp(folder: Path) -> Stamp:
    """Empty: the trial was never started. A file that replaces another changes its folder's time."""
    states = _file_stamp(folder / "states.jsonl")
    try:
        with os.scandir(folder / "attempts") as found:
            attempts = sorted((entry.name, entry.stat().st_mtime_ns) for entry in found)
    except OSError:
        attempts = []
    return (states, *attempts) if states or attempts else ()


def _file_stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size
