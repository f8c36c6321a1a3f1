"""The figure of comparisons: ratios of headline metrics with their intervals."""

from collections.abc import Sequence

from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison
from nephoscope.model.words import verdict_name
from nephoscope.report.figures import charts
from nephoscope.report.parts import SIGNS, Book, Figure, KeyEntry
from nephoscope.report.sections.tables import headline_comparisons
from nephoscope.report.wording import tie_text

MAX_CHART_ROWS = 24


def compared_headlines(book: Book) -> list[Figure]:
    """None where there are too many ratios to draw."""
    first = headline_comparisons(book)
    return book.figures(_figure, first) if 0 < len(first) <= MAX_CHART_ROWS else []


def _about(row: Comparison, metric: Metric | None) -> str:
    title = metric_title(metric) if metric else row.metric
    return f"{row.benchmark}: {title}" + (", per CPU" if row.per_cpu else "")


def _figure(book: Book, rows: Sequence[Comparison]) -> Figure:
    titles = book.lookup.metrics
    pairs = {(row.left, row.right) for row in rows}
    data, labels = [], []
    for row in rows:
        per_cpu, pair = row.per_cpu, (row.left, row.right)
        arrow = "↑" if row.direction is Direction.HIGHER else "↓"
        alone = sum((row.benchmark, per_cpu, pair) == (r.benchmark, r.per_cpu, (r.left, r.right)) for r in rows) == 1
        label = row.benchmark if alone else f"{row.benchmark} · {metric_title(titles[row.benchmark, row.metric])}"
        label += (" per CPU " if per_cpu else " ") + arrow
        label += f" · {row.left} ÷ {row.right}" if len(pairs) > 1 else ""
        labels.append(label)
        data.append(
            {
                "label": label,
                "left": row.left,
                "right": row.right,
                "ratio": row.ratio,
                "low": row.low,
                "high": row.high,
                "ratio_text": _ratio(row),
                "interval_text": _interval(row),
                "verdict": row.verdict.value,
                "verdict_text": verdict_name(row.verdict),
            }
        )
    left, right = next(iter(pairs)) if len(pairs) == 1 else ("left", "right")
    margin = book.lookup.study.equivalence_margin_percent
    spoken = "; ".join(
        f"{_about(row, titles[row.benchmark, row.metric])} {_ratio(row)}, {verdict_name(row.verdict)}" for row in rows
    )
    return book.figure(
        f"{left} compared with {right}: headline metrics",
        f"ratio {left} ÷ {right}; ↑ higher is better, ↓ lower is better",
        f"Points: the ratio; bars: its interval. The band around 1 is the equivalence margin of {margin:g} %, "
        f"{tie_text(margin)}: an interval that lies inside it is a tie. The axis is logarithmic.",
        [("", f"Ratios {left} to {right}. {spoken}", charts.comparisons(labels, data, margin / 100))],
        key=[
            KeyEntry({"=": "■", "?": "●"}.get(sign, sign), "var(--ink)", word)
            for verdict, (sign, word, _) in SIGNS.items()
            if any(row.verdict is verdict for row in rows)
        ],
    )


def _ratio(row: Comparison) -> str:
    return people.ratio(people.interval(row.ratio, row.low, row.high))


def _interval(row: Comparison) -> str:
    if row.low is None or row.high is None:
        return "no interval: too few replicates"
    between = people.Between(row.ratio, row.low, row.high)
    return people.dashed(between, people.ratio_form(between))
