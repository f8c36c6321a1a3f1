"""One machine type with several kinds of storage: what it does with each, and what share of the bill each takes."""

from collections.abc import Sequence
from typing import Any

from nephoscope.analysis.lookup import unique
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import Direction
from nephoscope.model.rows import ConfigurationRow, Statistic
from nephoscope.model.storage_classes import GENERAL, HIGH, LOCAL, storage_class
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.groups import Groups
from nephoscope.report.figures.results import Results
from nephoscope.report.figures.row_charts import Sign
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table
from nephoscope.report.tables.statistics import figure_table
from nephoscope.report.wording import basis_text, direction_text, interval_text, unit_text

_CLASSES = (GENERAL, HIGH, LOCAL)
MAX_TYPES = 40
"""Machine types in a panel, best first."""


def by_storage(book: Book, results: Results, *, per_cpu: bool = False) -> Figure | None:
    """A row for each machine type and a sign for each kind of storage; None if no type was measured with two kinds."""
    found, metric = results.view(per_cpu=per_cpu), results.metric
    described = book.lookup.described
    stored = [one for one in found if one.configuration in described and described[one.configuration].storage]
    by_type: dict[str, list[Statistic]] = {}
    for one in stored:
        by_type.setdefault(_type(described[one.configuration]), []).append(one)
    if not any(len({_kind(book, one.configuration) for one in many}) > 1 for many in by_type.values()):
        return None
    sign = -1 if metric.direction is Direction.HIGHER else 1
    best = sorted(by_type, key=lambda name: (min(sign * one.compared.value for one in by_type[name]), name))
    panels = groups.only(_types_by_cloud(book, stored), best)
    shown = {title: names[:MAX_TYPES] for title, names in panels.items()}
    drawn_rows = [one for names in shown.values() for name in names for one in by_type[name]]
    scale = people.scale_for(metric.unit, [one.compared.value for one in drawn_rows])
    series = _signs([_kind(book, one.configuration) for one in drawn_rows])
    unit = unit_text(scale, per_cpu=per_cpu)
    end = max(scale.value(one.compared.high) for one in drawn_rows) * 1.05
    drawn = []
    for title, names in shown.items():
        rows = [_point(book, name, one, scale) for name in names for one in by_type[name]]
        spec = row_charts.signs(names, rows, (0.0, end), unit, series)
        drawn.append((title, f"{title}: {metric_title(metric)} of {', '.join(names[:6])} by kind of storage", spec))
    title = metric_title(metric, per_cpu=per_cpu)
    return book.figure(
        f"{results.about}: {title}, by kind of storage",
        f"{unit}, {direction_text(metric.direction)}",
        "A row for each machine type. Signs: levels over replicates; bars: their intervals. All panels have the same "
        "axis, which starts at zero.",
        drawn,
        key=[entry.entry(kind) for kind, entry in series.items()],
        table=figure_table(book, f"{results.about}: {title} by kind of storage, {unit}", drawn_rows, scale),
        columns=min(2, len(drawn)),
    )


def storage_shares(book: Book) -> Figure | None:
    """The volumes' share of the monthly cost, a panel for each class of storage; None if no volume has a price."""
    described = book.lookup.described
    priced = [
        row
        for row in book.lookup[CostRow]
        if row.storage_share and row.configuration in described and described[row.configuration].storage
    ]
    if not priced:
        return None
    by_class: dict[str, list[CostRow]] = {name: [] for name in _CLASSES}
    for row in priced:
        by_class[storage_class(_kind(book, row.configuration))].append(row)
    series = row_charts.kinds([basis_text(basis) for basis in book.lookup.bases])
    sizes = {name: title for title, names in groups.sizes(book.lookup).items() for name in names}
    drawn = []
    for title, many in by_class.items():
        if many:
            rows = [_share(book, row, sizes) for row in many]
            names = sorted({str(row["row"]) for row in rows})
            axis = "share of the monthly cost, %"
            spec = row_charts.signs(names, rows, (0.0, 100.0), axis, series)
            shares = [row.storage_share or 0.0 for row in many]
            ends = f"{people.share(min(shares))} to {people.share(max(shares))}"
            drawn.append((title[:1].upper() + title[1:], f"{title}: volumes are {ends} of the monthly cost", spec))
    return book.figure(
        "Storage as a share of the monthly cost",
        "% of machines and volumes together",
        "Each sign is one configuration. The share comes from prices, not from measurements. A commitment makes "
        "machines cheaper but not volumes, so their share grows.",
        drawn,
        key=[sign.entry(basis) for basis, sign in series.items()],
        table=_share_table(book, priced),
        columns=min(2, len(drawn)),
    )


def _share(book: Book, row: CostRow, sizes: dict[str, str]) -> dict[str, Any]:
    share = 100 * (row.storage_share or 0.0)
    parts = (
        groups.cloud_of(book.lookup, row.configuration),
        _kind(book, row.configuration),
        sizes.get(row.configuration),
    )
    return {
        "row": ", ".join(part for part in parts if part),
        "configuration": row.configuration,
        "series": basis_text(row.basis),
        "level": share,
        "low": share,
        "high": share,
        "text": f"{people.percent(share)} of {people.money(row.month_usd)} a month",
        "interval_text": people.MISSING,
    }


def _share_table(book: Book, rows: Sequence[CostRow]) -> Table:
    columns = (
        Column("Configuration"),
        Column("Storage"),
        Column("Basis"),
        Column("$ per month", numeric=True),
        Column("Share", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(row.configuration, tone="name"),
                Cell(_kind(book, row.configuration)),
                Cell(row.basis),
                Cell(people.money(row.month_usd)),
                Cell(people.share(row.storage_share)),
            )
        )
        for row in rows
    )
    return Table("Storage as a share of the monthly cost", columns, body, compact=True)


def _types_by_cloud(book: Book, rows: Sequence[Statistic]) -> Groups:
    found: Groups = {}
    for one in rows:
        cloud = groups.cloud_of(book.lookup, one.configuration) or "Other machines"
        found.setdefault(cloud, []).append(_type(book.lookup.described[one.configuration]))
    if len(found) == 1:
        return {"": unique(next(iter(found.values())))}
    return {title: unique(names) for title, names in sorted(found.items())}


def _type(row: ConfigurationRow) -> str:
    """What stays the same when the storage changes."""
    return row.machine_type or row.cpu_model or row.configuration


def _kind(book: Book, configuration: str) -> str:
    return book.lookup.described[configuration].storage or ""


def _signs(found: Sequence[str]) -> dict[str, Sign]:
    """General-purpose kinds filled, high-performance kinds hollow, so that both look alike in every cloud."""
    by_class = {name: sorted({kind for kind in found if storage_class(kind) == name}) for name in _CLASSES}
    tones = dict(zip(_CLASSES, row_charts.kinds(_CLASSES).values(), strict=True))
    return {kind: tones[name] for name, kinds in by_class.items() for kind in kinds}


def _point(book: Book, name: str, one: Statistic, scale: people.Scale) -> dict[str, Any]:
    return {
        "row": name,
        "configuration": one.configuration,
        "series": _kind(book, one.configuration),
        "level": scale.value(one.compared.value),
        "low": scale.value(one.compared.low),
        "high": scale.value(one.compared.high),
        "text": scale.text(one.compared),
        "interval_text": interval_text(one.compared, scale),
    }
