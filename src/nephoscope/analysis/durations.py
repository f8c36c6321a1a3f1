"""How long the trials of each benchmark took on each configuration; a trial of several benchmarks counts in each."""

from collections import defaultdict
from collections.abc import Sequence
from math import fsum

from pydantic import Field

from nephoscope.analysis.renamed import trials
from nephoscope.analysis.table import Table
from nephoscope.model.frozen import Frozen
from nephoscope.model.rows import TrialRow


class DurationRow(Frozen):
    """The finished trials of one benchmark on one configuration, whether or not they count."""

    configuration: str
    benchmark: str
    trials: int = Field(description="finished trials whose duration is known")
    attempts: int = Field(description="of these trials, also those that were repeated or killed")
    mean_s: float
    longest_s: float
    total_s: float = Field(description="of the attempts that are used; others are in no table")


def durations_of(rows: Sequence[TrialRow]) -> list[DurationRow]:
    """A row for each configuration and benchmark with a finished trial; one trial may be of several benchmarks."""
    groups: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    for row in rows:
        if row.state == "finished" and row.duration_s is not None:
            for benchmark in row.benchmarks:
                groups[row.configuration, benchmark].append((row.duration_s, row.attempts))
    return [_row(*key, found) for key, found in groups.items()]


def _row(configuration: str, benchmark: str, found: Sequence[tuple[float, int]]) -> DurationRow:
    durations_s = [duration_s for duration_s, _ in found]
    return DurationRow(
        configuration=configuration,
        benchmark=benchmark,
        trials=len(found),
        attempts=sum(attempts for _, attempts in found),
        mean_s=fsum(durations_s) / len(found),
        longest_s=max(durations_s),
        total_s=fsum(durations_s),
    )


DURATIONS = Table(
    "durations",
    DurationRow,
    lambda of: durations_of(of(trials)),
    order=lambda row: (row.configuration, row.benchmark),
)
