"""A rate over the number of machines: every trial, the fitted power law, and linear growth for comparison."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, GrowthRow
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import Spec, by_colour, by_counting, by_shape, data, finished, tip, upwards
from nephoscope.report.parts import Book, Figure, KeyEntry, validity_key
from nephoscope.report.tables.rows import table_of
from nephoscope.report.wording import percentile_of, unit_text

_HEIGHT = 230
_PERCENTILES = ("p50", "p99")
_STEPS = 24
"""Points of a fitted curve."""
_COLUMNS = ("group", "machines", "medians", "exponent", "low", "coverage", "growth", "trials")


def growth_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """One for each headline rate; empty when no configurations differ only in their number of machines."""
    found: list[Figure] = []
    for metric in row.metrics:
        rows = [one for one in book.lookup[GrowthRow] if (one.benchmark, one.metric) == (row.benchmark, metric.name)]
        if rows:
            found += book.figures(_figure, row, metric, rows)
            found += book.figures(_latency, row, rows)
    return found


def _figure(book: Book, row: BenchmarkRow, metric: Metric, rows: list[GrowthRow]) -> Figure:
    scale = people.scale_for(metric.unit, [median for one in rows for median in one.medians])
    drawn = [
        (one.group, f"{metric_title(metric)} of {one.group} over {_counts(one.machines)} machines: {one.growth}.",
         _chart(book, one, scale))
        for one in rows
    ]  # fmt: skip
    grown = {name for one in rows for name in one.configurations}
    values = book.lookup.values.get((row.benchmark, metric.name), [])
    counted = [value.valid for value in values if value.configuration in grown]
    return book.figure(
        f"{row.benchmark}: {metric_title(metric).lower()} over the number of machines",
        f"{unit_text(scale)}, higher is better",
        "Each sign is one trial. The solid line is a fitted power law; the dashed line shows linear growth, starting "
        "from the median on the fewest machines. Both axes start at zero.",
        drawn,
        key=(
            *validity_key(counted, "a valid trial"),
            KeyEntry("─", "var(--ink)", "power law"),
            KeyEntry("┄", "var(--muted)", "linear growth"),
        ),
        table=table_of(book, rows, columns=_COLUMNS, of=row.benchmark),
    )


def _counts(machines: Sequence[int]) -> str:
    """'1, 3 and 6'."""
    *first, last = map(str, machines)
    return f"{', '.join(first)} and {last}" if first else last


def _chart(book: Book, row: GrowthRow, scale: people.Scale) -> Spec:
    machines = dict(zip(row.configurations, row.machines, strict=True))
    points: list[dict[str, Any]] = [
        {
            "machines": machines[value.configuration],
            "value": scale.value(value.value),
            "text": scale.text(value.value),
            "configuration": value.configuration,
            "trial": value.trial,
            "counts": value.valid,
        }
        for value in book.lookup.values.get((row.benchmark, row.metric), [])
        if value.configuration in machines
    ]
    first, last = row.machines[0], row.machines[-1]
    ends = [(at, row.medians[0] * at / first) for at in (first, last)]
    steps = [first * (last / first) ** (step / _STEPS) for step in range(_STEPS + 1)]
    fitted = [(at, row.at_one * at**row.exponent) for at in steps]
    lines = {
        name: [{"machines": at, "value": scale.value(value)} for at, value in many]
        for name, many in (("linear", ends), ("fitted", fitted))
    }
    x = alt.X(
        "machines:Q",
        title="machines",
        scale=alt.Scale(domain=[0, last * 1.08], nice=False),
        axis=alt.Axis(grid=False, values=sorted(set(row.machines)), format="d"),
    )
    y = upwards("value", unit_text(scale), alt.Scale(zero=True))
    signs = alt.Chart(data("points")).encode(x=x, y=y, tooltip=tip("configuration", "text", "trial"))
    layers = [
        alt.Chart(data("linear")).mark_line(**_dashed()).encode(x=x, y=y),
        alt.Chart(data("fitted")).mark_line(strokeWidth=1.8, color="var(--ink)").encode(x=x, y=y),
        *by_counting(
            points,
            signs.mark_point(filled=True, size=55, color="var(--ink)", opacity=0.9),
            signs.mark_point(filled=False, size=55, color="var(--muted)"),
        ),
    ]
    return finished(layers, _HEIGHT, points=points, **lines)


def _latency(book: Book, row: BenchmarkRow, groups: list[GrowthRow]) -> Figure | None:
    """Median and tail latency of every operation over the number of machines: more machines may cost time."""
    medians: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for group in groups:
        machines = dict(zip(group.configurations, group.machines, strict=True))
        for metric in row.metrics:
            operation, percentile = percentile_of(metric) or ("", "")
            if percentile in _PERCENTILES:
                for one in book.lookup.statistics_of(row.benchmark, metric.name):
                    if one.configuration in machines:
                        at = {
                            "machines": machines[one.configuration],
                            "seconds": one.compared.value,
                            "series": percentile,
                        }
                        medians.setdefault((group.group, operation.replace("_", " ")), []).append(at)
    if not medians:
        return None
    scale = people.scale_for("s", [one["seconds"] for many in medians.values() for one in many])
    drawn = []
    for (group_name, operation), many in medians.items():
        rows = [{**one, "value": scale.value(one["seconds"])} for one in many]
        spoken = f"{' and '.join(_PERCENTILES)} of {operation} of {group_name} over machines."
        drawn.append((f"{group_name}: {operation}", spoken, _lines(rows, scale.unit)))
    return book.figure(
        f"{row.benchmark}: response times over the number of machines",
        f"{scale.unit}, lower is better",
        "Medians over valid trials. All panels share their axes, which start at zero.",
        drawn,
        key=[KeyEntry(theme.GLYPHS[place], theme.PERCENTILE_COLOURS[place], name)
             for place, name in enumerate(_PERCENTILES)],
    )  # fmt: skip


def _lines(rows: list[dict[str, Any]], unit: str) -> Spec:
    """A line for each percentile."""
    base = alt.Chart(data("rows")).encode(
        x=alt.X(
            "machines:Q",
            title="machines",
            scale=alt.Scale(zero=True),
            axis=alt.Axis(grid=False, values=sorted({row["machines"] for row in rows}), format="d"),
        ),
        y=upwards("value", unit, alt.Scale(zero=True)),
        color=by_colour("series", _PERCENTILES, theme.PERCENTILE_COLOURS[: len(_PERCENTILES)]),
        tooltip=tip("series", "value:Q"),
    )
    signs = base.mark_point(filled=True, size=55, opacity=1).encode(shape=by_shape("series", _PERCENTILES))
    layers = [base.mark_line(strokeWidth=1.8), signs]
    return finished(layers, _HEIGHT, rows=rows)


def _dashed() -> dict[str, Any]:
    return {("color" if key == "stroke" else key): value for key, value in theme.REFERENCE.items()}
