"""Stored rows with the configurations that are analysed: replicates on machines that differ are of different ones.

Configurations whose machines differ are split, by name, before anything is computed. Rows of trials, measurements,
commands, machines and statistics carry the split name; the plan keeps the one of the study.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from nephoscope.analysis.cells import Metrics
from nephoscope.analysis.lower_bounds import apart
from nephoscope.analysis.machines import split_names
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.rows import LowerBoundRow, MeasurementRow, NetworkRow, RawFileRow, TrialRow
from nephoscope.model.subjects import Extent
from nephoscope.study.model import Configuration

Named = TypeVar("Named", TrialRow, MeasurementRow, NetworkRow)
"""Rows that name a trial and its configuration."""
_NAMED = attrgetter("configuration", "benchmark", "metric", "position", "trial")
"""By what measurements are ordered first: mostly it leaves one, so that a longer key would cost time for nothing."""


def names_of_trials(of: Workings) -> dict[str, str]:
    """Trial -> the configuration as analysed, of trials whose machines were seen."""
    return split_names(of.inputs.machines)


def trials(of: Workings) -> list[TrialRow]:
    """Every trial of the plan, in its order."""
    return sorted(_renamed(of.inputs.trials, of(names_of_trials)), key=lambda row: (row.position, row.trial))


def started_unix_ms(of: Workings) -> int | None:
    """When the first trial began; None: none did."""
    return min((row.started_unix_ms for row in of(trials) if row.started_unix_ms is not None), default=None)


def names(of: Workings) -> dict[str, str]:
    """Configuration as analysed -> its name in the study."""
    original = {row.trial: row.configuration for row in of.inputs.trials}
    return {row.configuration: original[row.trial] for row in of(trials)}


def requested(of: Workings) -> dict[str, Configuration]:
    """Configuration as analysed -> what the study asks for."""
    by_name = {configuration.name: configuration for configuration in of.inputs.study.configurations}
    return {name: by_name[original] for name, original in of(names).items() if original in by_name}


def metrics(of: Workings) -> Metrics:
    """What each benchmark declares."""
    return {row.benchmark: row.metrics for row in of.inputs.benchmarks}


def extents(of: Workings) -> Mapping[str, Extent]:
    """Benchmark -> the part of a configuration that it measures."""
    return {row.benchmark: row.extent for row in of.inputs.benchmarks}


def measurements(of: Workings) -> list[MeasurementRow]:
    """What statistics may use, in the order of its table."""
    return of(_apart)[0]


def _apart(of: Workings) -> tuple[list[MeasurementRow], list[LowerBoundRow]]:
    """What statistics may use, and what is only known to be above something."""
    by_trial = of(names_of_trials)
    values, bounds = (_renamed(rows, by_trial) for rows in (of.inputs.measurements, of.inputs.bounds))
    usable, lower_bounds = apart(of(trials), values, bounds)
    return sorted(sorted(usable, key=_within), key=_NAMED), lower_bounds


def network(of: Workings) -> list[NetworkRow]:
    """Counters of bytes, by configuration as analysed."""
    return sorted(
        _renamed(of.inputs.network, of(names_of_trials)),
        key=lambda row: (row.configuration, row.benchmark, row.trial, row.machine),
    )


def _within(row: MeasurementRow) -> tuple[bool, float, str, float]:
    return row.at_s is not None, row.at_s or 0.0, row.role or "", row.value


def _renamed(rows: Sequence[Named], by_trial: Mapping[str, str]) -> list[Named]:
    return [_with_name(row, by_trial.get(row.trial, row.configuration)) for row in rows]


def _with_name(row: Named, name: str) -> Named:
    if name == row.configuration:
        return row
    return (
        row._replace(configuration=name)
        if isinstance(row, MeasurementRow)
        else row.model_copy(update={"configuration": name})
    )


TRIALS = Table("trials", TrialRow, trials)
MEASUREMENTS = Table("measurements", MeasurementRow, measurements)
LOWER_BOUNDS = Table("lower_bounds", LowerBoundRow, lambda of: of(_apart)[1])
NETWORK = Table("network", NetworkRow, network)
RAW_FILES = Table("raw_files", RawFileRow, lambda of: of.inputs.raw_files, order=lambda row: (row.trial, row.file))
