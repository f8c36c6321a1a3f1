"""Round trips of each machine from the fastest to the slowest, and between regions against the speed of light."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.model import numbers as people
from nephoscope.model.rows import BenchmarkRow, Statistic, WanFloor
from nephoscope.report.figures import groups, theme
from nephoscope.report.figures.machine_charts import AXIS_HEIGHT, ROW
from nephoscope.report.figures.spec import Rows, Spec, coloured, data, finished, rows_axis, tip
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.tables.statistics import figure_table
from nephoscope.report.wording import interval_row

METRES_PER_KM = 1000
_LOW, _HIGH = "_min", "_p99"
_FAR = "between regions, against the speed of light"
_ENDS = {"_min": "shortest", "": "mean", "_p99": "p99"}


def round_trips(book: Book, row: BenchmarkRow) -> list[Figure]:
    """A figure for machines of one region, and one for pairs of regions; empty if nothing like it was measured."""
    metric = headlines(row)[0] if row.metrics else None
    if metric is None or not metric.name.endswith("round_trip"):
        return []
    found = {
        ending: {one.configuration: one for one in book.lookup.statistics_of(row.benchmark, f"{metric.name}{ending}")}
        for ending in _ENDS
    }
    names = [name for name in book.lookup.ranked(row.benchmark, metric) if all(name in one for one in found.values())]
    floors = floors_of(book.lookup, row)
    near, far = [name for name in names if name not in floors], [name for name in names if name in floors]
    return [
        *book.figures(_figure, row, found, _near(book.lookup, near), "within a region", {}),
        *book.figures(_figure, row, found, _pairs(book.lookup, far, floors), _FAR, floors),
    ]


def floors_of(lookup: Lookup, row: BenchmarkRow) -> dict[str, WanFloor]:
    """By configuration; none for a benchmark that ran between database machines, which are in one region."""
    if row.parameters.get("between") == "databases":
        return {}
    return {one.configuration: one for one in lookup[WanFloor]}


def by_place(lookup: Lookup, row: BenchmarkRow, names: Sequence[str]) -> groups.Groups:
    """Machines of one region by cloud, and others by their pair of regions; a single group has no title."""
    floors = floors_of(lookup, row)
    near, far = [name for name in names if name not in floors], [name for name in names if name in floors]
    return {**_near(lookup, near), **_pairs(lookup, far, floors)}


def _near(lookup: Lookup, names: Sequence[str]) -> groups.Groups:
    return groups.only(groups.everywhere(lookup) or {"": list(names)}, names) if names else {}


def _pairs(lookup: Lookup, names: Sequence[str], floors: dict[str, WanFloor]) -> groups.Groups:
    found: groups.Groups = {}
    for name in names:
        floor = floors[name]
        cloud = groups.cloud_of(lookup, name)
        where = f"{floor.database_region} and {floor.load_region}, {floor.distance_m / METRES_PER_KM:,.0f} km"
        found.setdefault(f"{cloud}: {where}" if cloud else where, []).append(name)
    return found


def _figure(
    book: Book,
    row: BenchmarkRow,
    found: dict[str, dict[str, Statistic]],
    panels: groups.Groups,
    where: str,
    floors: dict[str, WanFloor],
) -> Figure | None:
    names = [name for many in panels.values() for name in many]
    if not names:
        return None
    scale = people.scale_for("s", [found[""][name].compared.value for name in names])
    ends = [scale.value(found[end][name].compared.value) for end in _ENDS for name in names]
    ends += [scale.value(floors[name].round_trip_s) for name in names if name in floors]
    axis = f"{scale.unit}   ·   ← lower is better"
    drawn = []
    for title, many in panels.items():
        rows = [_point(name, found, scale) for name in many]
        light = [{"floor": scale.value(floors[many[0]].round_trip_s), "label": "light in fibre"}] if floors else []
        spec = _chart(many, rows, light, max(ends) * 1.05, axis, book.lookup.configurations)
        drawn.append((title, f"{title}: mean round trips of {', '.join(many[:6])}", spec))
    physics = (
        " The dashed line is the time that light in fibre takes there and back by the shortest path." if floors else ""
    )
    shown = [found[""][name] for name in names]
    return book.figure(
        f"{row.benchmark}: round trips {where}",
        f"{scale.unit}, lower is better",
        f"Lines: from the shortest round trip of a trial to the 99th percentile; bars: interval of the mean; all are "
        f"medians over replicates.{physics} All panels have the same axis, which starts at zero.",
        drawn,
        key=(
            KeyEntry("┃", "var(--ink)", "mean"),
            KeyEntry("▬", "var(--band-edge)", "its interval"),
            KeyEntry("─", "var(--muted)", "shortest to p99"),
            *((KeyEntry("┆", "var(--muted)", "light in fibre"),) if floors else ()),
        ),
        table=figure_table(book, f"{row.benchmark}: mean round trip {where}, {scale.unit}", shown, scale),
        columns=min(2, len(drawn)),
    )


def _point(name: str, found: dict[str, dict[str, Statistic]], scale: people.Scale) -> dict[str, Any]:
    mean = found[""][name]
    return {
        "configuration": name,
        "shortest": scale.value(found[_LOW][name].compared.value),
        "longest": scale.value(found[_HIGH][name].compared.value),
        **interval_row(mean, scale),
        "shortest_text": scale.text(found[_LOW][name].compared),
        "longest_text": scale.text(found[_HIGH][name].compared),
    }


def _chart(names: Sequence[str], rows: Rows, light: Rows, most: float, axis: str, palette: Sequence[str]) -> Spec:
    scale = alt.Scale(domain=[0, most], nice=True)
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(names),
        tooltip=tip("configuration", "level_text", "interval_text", "shortest_text", "longest_text"),
    )
    x = alt.X("low:Q", title=axis, scale=scale)
    layers = [
        base.mark_rule(**theme.INTERVAL, strokeWidth=14).encode(x=x, x2=alt.X2("high:Q")),
        base.mark_rule(strokeWidth=1.6).encode(
            x=alt.X("shortest:Q", title=axis), x2=alt.X2("longest:Q"), color=coloured(palette)
        ),
        base.mark_tick(**theme.MEDIAN, size=16).encode(x=alt.X("level:Q", title=axis)),
    ]
    if light:
        layers.append(alt.Chart(data("light")).mark_rule(**theme.REFERENCE).encode(x=alt.X("floor:Q", title=axis)))
    return finished(alt.layer(*layers), ROW * max(1, len(names)) + AXIS_HEIGHT, rows=rows, light=light)
