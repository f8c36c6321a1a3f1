"""Does a database grow with its machines? Fits a power law to configurations that differ only in their number."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from nephoscope.analysis.cells import Cell
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.renamed import names
from nephoscope.analysis.table import Table
from nephoscope.model.records import Direction
from nephoscope.model.rows import GrowthRow
from nephoscope.stats.median import median_interval
from nephoscope.stats.scaling import power_law
from nephoscope.study.model import Configuration, Study

_RATES = ("/s", "/min")
_PER_MACHINE: Mapping[str, bool | set[str]] = {
    "name": True,
    "labels": True,
    "price_usd_per_hour": True,
    "price_basis": True,
    "priced_as": True,
    "zone": True,
    "other_zones": True,
    "database": {"connections"},
    "database_machine": {"count", "hosts"},
}
"""What may differ: the number of machines, and what goes with it. A load generator may be larger, too."""


def growth_of(study: Study, names: Mapping[str, str], cells: Sequence[Cell]) -> list[GrowthRow]:
    """A row for each headline rate of each group of configurations with two or more numbers of machines.

    Args:
        study: what was requested.
        names: configuration as analysed (a split one has its own name) -> as the study names it.
        cells: values of the trials that count.

    Returns:
        Sorted by benchmark, metric and group.
    """
    asked = {one.name: one for one in study.configurations}
    machines = {name: asked[original].database_machine.count for name, original in names.items() if original in asked}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in machines:
        groups[_same(asked[names[name]])].append(name)
    found = [
        _row(_title(asked[names[many[0]]]), asked[names[many[0]]].database.system, chosen, machines)
        for many in groups.values()
        if len({machines[name] for name in many}) > 1
        for chosen in _measured(cells, set(many))
        if len({machines[cell.configuration] for cell in chosen}) > 1
    ]
    return sorted(found, key=lambda row: (row.benchmark, row.metric, row.group, row.configurations))


def _same(configuration: Configuration) -> str:
    """Equal for configurations that differ only in their number of machines."""
    said = configuration.model_dump(mode="json", exclude=dict(_PER_MACHINE))
    if said["load_machine"] is not None:
        said["load_machine"] = "some"
    return json.dumps(said, sort_keys=True)


def _title(configuration: Configuration) -> str:
    machine = configuration.database_machine.type
    return f"{configuration.database.system} on {machine}" if machine else configuration.database.system


def _measured(cells: Sequence[Cell], names: set[str]) -> list[list[Cell]]:
    """Their headline rates, by benchmark and metric."""
    by_metric: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        is_rate = cell.unit.endswith(_RATES) and cell.direction is Direction.HIGHER
        if cell.configuration in names and cell.headline and is_rate and not cell.per_cpu and min(cell.values) > 0:
            by_metric[cell.benchmark, cell.metric].append(cell)
    return list(by_metric.values())


def _row(title: str, system: str, cells: Sequence[Cell], machines: Mapping[str, int]) -> GrowthRow:
    ordered = sorted(cells, key=lambda cell: (machines[cell.configuration], cell.configuration))
    counts = [machines[cell.configuration] for cell in ordered for _ in cell.values]
    fit = power_law(counts, [value for cell in ordered for value in cell.values])
    return GrowthRow(
        group=title,
        system=system,
        benchmark=ordered[0].benchmark,
        subject=ordered[0].subject,
        metric=ordered[0].metric,
        unit=ordered[0].unit,
        configurations=[cell.configuration for cell in ordered],
        machines=[machines[cell.configuration] for cell in ordered],
        medians=[median_interval(cell.values).median for cell in ordered],
        exponent=fit.exponent,
        at_one=fit.at_one,
        low=fit.low,
        high=fit.high,
        coverage=fit.coverage,
        growth=fit.growth,
        trials=sorted(trial for cell in ordered for trial in cell.trials),
    )


GROWTH = Table("growth", GrowthRow, lambda of: growth_of(of.inputs.study, of(names), of(cells)), has_columns=False)
