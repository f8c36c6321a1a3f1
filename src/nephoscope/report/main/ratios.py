"""Ratios with their intervals, as charts of both pages draw them."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.model import numbers as people
from nephoscope.model.questions import ContrastRow
from nephoscope.model.rows import Comparison, ComparisonVerdict, FamilyComparison
from nephoscope.model.words import NOT_DECIDED, verdict_name
from nephoscope.report.figures import theme
from nephoscope.report.figures.row_charts import FEW_TICKS
from nephoscope.report.figures.spec import Rows, Spec, by_shape, data, finished, rows_axis, tie_band, tip
from nephoscope.report.main import charts
from nephoscope.report.parts import KeyEntry

Ratio = ContrastRow | FamilyComparison | Comparison
VERDICTS = {
    "better": ("triangle-up", "▲", "the first is better"),
    "worse": ("triangle-down", "▼", "the first is worse"),
    "tie": ("square", "■", "a tie"),
    "unresolved": ("circle", "●", NOT_DECIDED),
}
"""Verdict -> its sign in Vega, the same in text, and its meaning."""


def chart(labels: Sequence[str], rows: Rows, margin: float, title: str) -> Spec:
    """Ratios around equality on a logarithmic axis; the band is the equivalence margin."""
    ends = tie_band(margin)
    x = alt.X(
        "ratio:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False, domain=[ends["low"], ends["high"]]),
        axis=alt.Axis(labelExpr="format(datum.value, '~r') + '\N{MULTIPLICATION SIGN}'", tickCount=FEW_TICKS),
    )
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(labels, "label", size=charts.LABEL_SIZE),
        tooltip=tip("compared", "ratio_text", "interval_text", "verdict_text"),
    )
    band = alt.Chart(data("margin"))
    # Signs tell the verdicts apart: colours stand for configurations.
    shape = by_shape("verdict", list(VERDICTS), [sign for sign, _, _ in VERDICTS.values()])
    layers = [
        band.mark_rect(**theme.EQUIVALENCE).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        band.mark_rule(**theme.REFERENCE).encode(x=alt.X("one:Q")),
        base.mark_rule(strokeWidth=2, color="var(--ink)").encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=64, opacity=1, color="var(--ink)").encode(x=x, shape=shape),
    ]
    return finished(layers, charts.height(len(labels)), rows=rows, margin=[ends])


def panel(title: str, rows: Sequence[dict[str, Any]], margin: float, axis: str) -> tuple[str, str, Spec]:
    """The panel of a figure, with its alternative text; `rows`: see `row_of`."""
    spoken = "; ".join(f"{row['label']} {row['ratio_text']}, {row['verdict_text']}" for row in rows)
    return title, f"{title or 'Ratios'}. {spoken}.", chart([row["label"] for row in rows], rows, margin, axis)


def row_of(label: str, row: Ratio, sides: tuple[str, str]) -> dict[str, Any]:
    """A ratio as chart data, under the names that its sides have for a reader."""
    decided = row.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
    return {
        "label": label,
        "compared": f"{sides[0]} against {sides[1]}",
        "ratio": row.ratio,
        "low": row.low if row.low is not None else row.ratio,
        "high": row.high if row.high is not None else row.ratio,
        "ratio_text": people.ratio(people.interval(row.ratio, row.low, row.high)),
        "interval_text": _interval(row),
        "verdict": row.verdict.value,
        "verdict_text": f"{sides[0]} is {row.verdict.value}" if decided else verdict_name(row.verdict),
    }


def _interval(row: Ratio) -> str:
    if row.low is None or row.high is None:
        return "no interval: too few values"
    between = people.Between(row.ratio, row.low, row.high)
    return people.dashed(between, people.ratio_form(between))


def key(rows: Sequence[Ratio]) -> list[KeyEntry]:
    """The signs of the verdicts that there are."""
    verdicts = {row.verdict.value for row in rows}
    return [KeyEntry(sign, "var(--ink)", word) for kind, (_, sign, word) in VERDICTS.items() if kind in verdicts]
