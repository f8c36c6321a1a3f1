"""A cell: the values of one metric on one configuration, one value per valid replicate; `units` may join them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from nephoscope.model.errors import DamagedFile
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Counted, MeasurementRow, TrialRow
from nephoscope.model.subjects import Subject

Metrics = Mapping[str, Sequence[Metric]]
"""The study's name of a benchmark -> the metrics it declares."""


@dataclass(frozen=True)
class Cell:
    """Values of one metric, smallest first."""

    configuration: str
    benchmark: str
    subject: Subject
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool
    headline: bool
    cpus: int | None
    """CPUs of every trial of the cell; None when unknown or not the same."""
    values: tuple[float, ...]
    members: tuple[tuple[str, ...], ...]
    """The trials behind each value: one, unless a value is a machine's median."""
    blocks: tuple[int, ...]
    """The block of each value; empty if values are medians of machines."""
    n_excluded: int
    counted: Counted = "trials"
    """What the values are of; see `units`."""
    machines: frozenset[str] | None = None
    """The machines of its trials; None: not known."""
    same_as: str | None = None
    """The metric of which its values are a constant multiple: see `one_question`."""
    like_headline: bool = False
    """That one is a headline metric."""

    @cached_property
    def trials(self) -> tuple[str, ...]:
        """All trials, in the order of the values."""
        return tuple(chain.from_iterable(self.members))


def declared(metrics: Metrics) -> dict[tuple[str, str], Metric]:
    """(benchmark, metric) -> its declaration."""
    return {(benchmark, metric.name): metric for benchmark, many in metrics.items() for metric in many}


def cells_of(trials: Sequence[TrialRow], measurements: Sequence[MeasurementRow], metrics: Metrics) -> list[Cell]:
    """Groups the per-trial numbers of the valid trials.

    A trial that is one of several benchmarks gives its values to each, see `equal_benchmarks`. A metric marked as
    meaningful per CPU gets a second cell with each value divided by the CPUs of its own trial; trials with unknown
    CPUs are missing from that cell. A metric that no benchmark declares (an old result, a newer parser) is used as
    its rows describe it, and is neither a headline metric nor per CPU.

    Returns:
        Cells with at least one value, sorted by benchmark, metric, plain before per CPU, and configuration.

    Raises:
        DamagedFile: a measurement of an unknown trial; two values of one metric in one trial; two units in one cell.
    """
    by_id = {row.trial: row for row in trials}
    counting = {row.trial: row for row in trials if row.counts}
    planned = Counter(
        (row.configuration, benchmark) for row in trials if row.state != "not needed" for benchmark in row.benchmarks
    )
    grouped: dict[tuple[str, str, str], dict[str, MeasurementRow]] = defaultdict(dict)
    for row in measurements:
        if row.at_s is not None:
            continue
        if row.trial not in by_id:
            raise _damaged(f"a measurement of {row.metric} belongs to trial {row.trial}, which is not in the study")
        trial = counting.get(row.trial)
        if trial is None:
            continue
        for benchmark in trial.benchmarks:
            group = grouped[benchmark, row.metric, trial.configuration]
            if row.trial in group:
                raise _damaged(f"trial {row.trial} has two values of {row.metric}; a metric has one value per trial")
            group[row.trial] = row
    declarations = declared(metrics)
    cells: list[Cell] = []
    for (benchmark, metric, configuration), rows in sorted(grouped.items()):
        declaration = declarations.get((benchmark, metric))
        pairs = [(by_id[trial], row) for trial, row in sorted(rows.items())]
        expected = planned[configuration, benchmark]
        cells.append(_cell(benchmark, pairs, declaration, expected, per_cpu=False))
        with_cpus = [(trial, row) for trial, row in pairs if trial.cpus]
        if declaration is not None and declaration.per_cpu and with_cpus:
            cells.append(_cell(benchmark, with_cpus, declaration, expected, per_cpu=True))
    return sorted(cells, key=lambda cell: (cell.benchmark, cell.metric, cell.per_cpu, cell.configuration))


def require_one_unit(units: Collection[str], what: str) -> None:
    """Units are not converted.

    Raises:
        DamagedFile: there are several.
    """
    if len(units) > 1:
        raise _damaged(f"{what} has values in {' and in '.join(sorted(units))}")


def _damaged(message: str) -> DamagedFile:
    """Of measurements that no benchmark can have written."""
    return DamagedFile(message, hint="`nephoscope verify DIR` lists the files that changed since they were stored")


def _cell(
    benchmark: str,
    pairs: Sequence[tuple[TrialRow, MeasurementRow]],
    declaration: Metric | None,
    expected: int,
    *,
    per_cpu: bool,
) -> Cell:
    trial, row = pairs[0]
    require_one_unit({row.unit for _, row in pairs}, f"{row.metric} of {trial.configuration}")
    cpus = {trial.cpus for trial, _ in pairs}
    valued = sorted(
        (row.value / (trial.cpus or 1) if per_cpu else row.value, trial.trial, trial.block) for trial, row in pairs
    )
    return Cell(
        configuration=trial.configuration,
        benchmark=benchmark,
        subject=trial.subject,
        metric=row.metric,
        unit=row.unit,
        direction=declaration.direction if declaration else row.direction,
        per_cpu=per_cpu,
        headline=declaration is not None and declaration.headline,
        cpus=cpus.pop() if len(cpus) == 1 else None,
        values=tuple(value for value, *_ in valued),
        members=tuple((name,) for _, name, _ in valued),
        blocks=tuple(block for *_, block in valued),
        n_excluded=expected - len(valued),
    )
