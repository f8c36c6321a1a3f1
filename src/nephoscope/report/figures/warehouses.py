"""TPC-C over warehouses: efficiency and New-Order response time at every level, with the limits of the rule."""

from typing import Any

from nephoscope.model import numbers as people
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.words import counted
from nephoscope.report.figures import theme
from nephoscope.report.figures.searches import Point, chart, points_of
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table, interval_cells, validity_key

WAREHOUSES, PASSED = "point.warehouses", "point.passed"
MOST, FAILING = "most_warehouses", "least_failing_warehouses"
_WHOLE = people.Scale(1.0, "", "")
"""Of numbers of warehouses."""
QUANTITIES = (
    ("point.efficiency", "limit.efficiency", "efficiency", "%"),
    ("point.new_order_response", "limit.new_order_response", "New-Order response time", "s"),
)
"""Metric, the rule's limit for it, its title and its unit."""


def warehouse_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """One per quantity; empty for a benchmark without a search over warehouses."""
    points = points_of(book.lookup, row, WAREHOUSES)
    return [
        figure
        for quantity in QUANTITIES
        if any(quantity[0] in point for many in points.values() for point in many)
        for figure in book.figures(_figure, row, points, quantity)
    ]


def _figure(
    book: Book, row: BenchmarkRow, points: dict[str, list[Point]], quantity: tuple[str, str, str, str]
) -> Figure:
    metric, limit, title, unit = quantity
    scale = people.scale_for(
        unit, [float(point[metric]) for many in points.values() for point in many if metric in point]
    )
    drawn = []
    for name, many in points.items():
        rows = [
            {
                "warehouses": float(point[WAREHOUSES]),
                "value": scale.value(float(point[metric])),
                "series": title,
                "counts": bool(point[PASSED]),
                "trial": point["trial"],
            }
            for point in many
            if metric in point
        ]
        limits = [
            {"limit": scale.value(one.compared.value), "label": "limit"}
            for one in book.lookup.of_configuration(row.benchmark, limit, name)
        ]
        bracket = [
            {"level": one.compared.value}
            for end in (MOST, FAILING)
            for one in book.lookup.of_configuration(row.benchmark, end, name)
        ]
        colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
        spoken = f"{title} of {name} over active warehouses: {counted(len(rows), 'point')}."
        spec = chart(rows, bracket, limits, {title: colour}, ("warehouses", "active warehouses"), (scale.unit, False))
        drawn.append((name, spoken[:1].upper() + spoken[1:], spec))
    return book.figure(
        f"{row.benchmark}: {title} over warehouses",
        f"{scale.unit}, {'higher' if unit == '%' else 'lower'} is better",
        "Each sign is one level of a search, with wait times. The limit lies between the dashed lines: the most "
        "confirmed warehouses, and the fewest from which on no level passed (medians over replicates). The horizontal "
        "line is the limit of the rule. Both axes start at zero.",
        drawn,
        key=validity_key((bool(point[PASSED]) for many in points.values() for point in many), "passed", "did not pass"),
        table=_table(book, row) if metric == QUANTITIES[0][0] else None,
    )


_TOLD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (MOST, "Maximum", {"hint": "Median over replicates."}),
    (FAILING, "Fewest failed warehouses", {}),
    ("tpmc", "tpmC", {"hint": "Median at the level found."}),
    ("efficiency_of_12_86", "Efficiency, %", {"hint": "Of 12.86 tpmC per warehouse."}),
    ("new_order.response_p90", "New-Order p90, s", {}),
)


def _table(book: Book, row: BenchmarkRow) -> Table | None:
    """The level found for each configuration with its interval, and what was measured at that level."""
    found = book.lookup.statistics_of(row.benchmark, MOST)
    if not found:
        return None
    columns = (
        Column("Configuration"),
        *(Column(title, numeric=True, **more) for _, title, more in _TOLD),
        Column(
            "Interval of the median",
            numeric=True,
            hint="Interval of the highest number of warehouses, over replicates.",
        ),
        Column("Coverage", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(one.configuration, tone="name"),
                *(Cell(_median(book, row, metric, one.configuration)) for metric, _, _ in _TOLD),
                *interval_cells(one, _WHOLE),
            )
        )
        for one in found
    )
    return Table(f"{row.benchmark}: maximum number of warehouses", columns, body, compact=True)


def _median(book: Book, row: BenchmarkRow, metric: str, configuration: str) -> str:
    found = book.lookup.of_configuration(row.benchmark, metric, configuration)
    if not found:
        return people.MISSING
    return people.quantity(found[0].compared, "")
