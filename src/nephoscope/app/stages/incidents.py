"""What went wrong around the trials of a folder, for the end of a run: programs of others, and failed cleaning up."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress

from nephoscope.checks.interference import ForeignLoad
from nephoscope.machines.telemetry import parse_telemetry
from nephoscope.model.errors import DamagedFile, OutputUnreadable
from nephoscope.model.numbers import duration
from nephoscope.model.records import VerdictKind
from nephoscope.model.words import counted
from nephoscope.run.derive import TELEMETRY_PREFIX, TELEMETRY_SUFFIX
from nephoscope.store import plain
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder

_MAX_NAMED = 3


def lines(folder: ResultsFolder) -> Iterator[str]:
    """One line on programs of others, if trials were rejected for them; one for each failure of cleaning up."""
    disturbed = [
        attempt for _, trial in folder.planned() for attempt in trial.finished_attempts() if _disturbed(attempt)
    ]
    seconds: defaultdict[str, float] = defaultdict(float)
    trials: Counter[str] = Counter()
    for attempt in disturbed:
        used = _foreign_s(attempt)
        trials.update(used.keys())
        for name, cpu_s in used.items():
            seconds[name] += cpu_s
    if seconds:
        most = sorted(seconds, key=lambda name: (-seconds[name], name))[:_MAX_NAMED]
        named = (f"{name} ({duration(seconds[name])} of CPU time in {counted(trials[name], 'trial')})" for name in most)
        yield f"programs of others that disturbed rejected trials: {', '.join(named)}"
    for planned, trial in folder.planned():
        for attempt in trial.attempts()[-1:]:
            for failure in attempt.cleanup_failures():
                yield f"warning: {planned.intent.configuration_name} · {planned.intent.benchmark.name}: {failure}"


def _disturbed(attempt: Attempt) -> bool:
    return any(row.check == ForeignLoad.name and row.verdict is VerdictKind.INVALID for row in attempt.verdicts())


def _foreign_s(attempt: Attempt) -> dict[str, float]:
    """CPU time of programs of others by name, as far as the sampler read them."""
    found: defaultdict[str, float] = defaultdict(float)
    for log in sorted(attempt.raw_dir.glob(f"{TELEMETRY_PREFIX}*{TELEMETRY_SUFFIX}")):
        with suppress(OutputUnreadable, DamagedFile, OSError):
            for sample in parse_telemetry(plain.read(log).decode(errors="replace")):
                for process in sample.foreign_processes:
                    found[process.name] += process.cpu_s
    return found
