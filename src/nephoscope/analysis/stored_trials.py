"""Stored trials as an analysis finds them: which attempt counts, and whether its files are what they were."""

from dataclasses import dataclass

import nephoscope
from nephoscope.model.records import Plan, TrialIntent
from nephoscope.store import index
from nephoscope.store.attempt import Attempt, ReadOnce
from nephoscope.store.folder import ResultsFolder, Trial, decisive
from nephoscope.store.verified import Checked, Verifier, look

TABLES_VERSION = 19
"""Rises when a table would hold other rows for the same trials; for a new table it need not."""
MADE_BY = f"{nephoscope.__version__} {TABLES_VERSION}"
"""What an analysis depends on besides its inputs."""


@dataclass(frozen=True)
class Stored:
    """A planned trial and the attempt that is used; None: it was never started."""

    intent: TrialIntent
    """What it was when it was run: a new plan may give a kept trial another place. As planned until it starts."""
    attempt: Attempt | None
    attempts: int
    not_needed_after: int | None = None
    """The block after which no open question needed it; None: it is needed."""
    running: bool = False
    """Its attempt has not ended, and the controller that works on the folder began or continued it."""
    checked: Checked | None = None
    """How its files compare with their digests; None: not compared, or its attempt is not committed."""

    @property
    def readable(self) -> Attempt | None:
        """The attempt, unless its files were changed after it was committed: then nothing in them is believed."""
        return None if self.checked and self.checked.altered else self.attempt

    def forget(self) -> None:
        """Forgets what was read of it: that of ten thousand trials takes a gigabyte."""
        if isinstance(self.attempt, ReadOnce):
            self.attempt.forget()


def stored_trials(folder: ResultsFolder, verifier: Verifier | None = None) -> list[Stored]:
    """Every planned trial, in the plan's order; with a verifier, each attempt is compared with its digests.

    With a verifier, the files of each attempt are read only once, and a committed attempt has those that were compared,
    and no others.
    """
    since_ns, not_needed = folder.in_use_since_ns(), folder.not_needed()
    rows: list[Stored] = []
    for planned, trial in folder.planned():
        attempts = trial.attempts()
        attempt, checked = decisive(attempts), None
        if verifier and attempt:
            seen = look(attempt)
            attempt = ReadOnce(attempt, seen.files if seen.committed else None)
            checked = verifier.check(attempt, seen)
        altered = checked is not None and bool(checked.altered)
        intent = trial.started_as(planned.intent) if attempt and not altered else planned.intent
        running = attempt is not None and attempt.status() is None and _is_live(trial, attempt, since_ns)
        rows.append(Stored(intent, attempt, len(attempts), not_needed.get(intent.id), running, checked))
    return rows


def _is_live(trial: Trial, attempt: Attempt, since_ns: int | None) -> bool:
    """Whether the controller that has the folder since then works on an attempt; others were left by dead ones."""
    return since_ns is not None and trial.touched_ns(attempt) >= since_ns


def verified_trials(folder: ResultsFolder, *, remember: bool = True) -> list[Stored]:
    """As `stored_trials`, each compared with its digests; files that have not changed since are not read again.

    `remember`: what was compared is stored in the folder for the next time.
    """
    verifier = Verifier(folder.path)
    rows = stored_trials(folder, verifier)
    if remember:
        verifier.save()
    return rows


def stamp_of_inputs(folder: ResultsFolder, plan: Plan) -> str:
    """Of everything that an analysis of these trials reads, as it looks now; '' a trial cannot be read."""
    trials = [planned.intent.id for planned in plan.trials if folder.concerns(planned.intent.id)]
    return index.stamp_of_inputs(folder.path, MADE_BY, trials)


def is_of_these_trials(folder: ResultsFolder, plan: Plan) -> bool:
    """Whether the folder is still what its analysis was made from, and the analysis was made here.

    If not, a trial was measured, parsed again or copied in since; or the folder is a copy: its tables may say anything.
    """
    known = index.analysed(folder.path)
    if known is None or known.sha256 != folder.analysis_digests().get(folder.analysis_path.name):
        return False
    return known.stamp == stamp_of_inputs(folder, plan)
