"""Comparisons of configurations: a chart of ratios, a grid of verdicts when there are many, and the table."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Comparison
from nephoscope.model.words import counted, verdict_name
from nephoscope.report import format as people
from nephoscope.report.figures import charts
from nephoscope.report.lookup import headlines
from nephoscope.report.parts import SIGNS, Book, Cell, Column, Figure, KeyEntry, Row, Table, verdict_badge
from nephoscope.report.tables.statistics import FEW, comparison_anchor, grid_anchor, has_grid
from nephoscope.report.wording import ENOUGH, direction_text, metric_title, tie_text

MAX_CHART_ROWS = 24
MAX_ROWS = 200


@dataclass(frozen=True)
class ComparisonSection:
    """What the template prints about comparisons."""

    figures: list[Figure]
    grids: list[Table]
    headline: Table | None
    others: Table | None


def comparison_section(book: Book) -> ComparisonSection:
    """Headline metrics first; the page says how many comparisons are only in comparisons.csv."""
    first: list[Comparison] = []
    others: list[Comparison] = []
    for benchmark in book.lookup.study.benchmarks:
        leading = headlines(benchmark)
        for metric in benchmark.metrics:
            target = first if metric in leading else others
            for per_cpu in (False, True):
                target += book.lookup.comparisons.get((benchmark.benchmark, metric.name, per_cpu), [])
    many = len(book.lookup.configurations) > FEW
    drawn = has_grid(book)
    return ComparisonSection(
        figures=book.figures(_figure, first) if first and len(first) <= MAX_CHART_ROWS else [],
        grids=_grids(book) if drawn else [],
        headline=_table(book, "Comparisons of headline metrics", first) if first else None,
        others=_table(book, "Comparisons of the other metrics", others) if others and not many else None,
    )


def _titles(book: Book) -> dict[tuple[str, str], Metric]:
    return {(b.benchmark, metric.name): metric for b in book.lookup.study.benchmarks for metric in b.metrics}


def _about(row: Comparison, metric: Metric | None) -> str:
    title = metric_title(metric) if metric else row.metric
    return f"{row.benchmark}: {title}" + (", per CPU" if row.per_cpu else "")


def _figure(book: Book, rows: Sequence[Comparison]) -> Figure:
    titles = _titles(book)
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
                "ratio_text": people.ratio(row.ratio),
                "interval_text": _interval(row),
                "verdict": row.verdict.value,
                "verdict_text": verdict_name(row.verdict),
            }
        )
    left, right = next(iter(pairs)) if len(pairs) == 1 else ("left", "right")
    margin = book.lookup.study.equivalence_margin_percent
    spoken = "; ".join(
        f"{_about(row, titles[row.benchmark, row.metric])} {people.ratio(row.ratio)}, {verdict_name(row.verdict)}"
        for row in rows
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


def _interval(row: Comparison) -> str:
    if row.low is None or row.high is None:
        return "no interval: too few replicates"
    return people.ratio_interval(row.ratio, row.low, row.high)


def _table(book: Book, caption: str, rows: Sequence[Comparison]) -> Table:
    titles = _titles(book)
    columns = (
        Column("Metric"),
        Column("Left"),
        Column("Right"),
        Column("Left is"),
        Column("Ratio", numeric=True, hint="Left ÷ right, estimated on logarithms."),
        Column("Interval", numeric=True),
        Column("Coverage", numeric=True),
        Column(
            "p, adjusted",
            numeric=True,
            hint="Benjamini\N{EN DASH}Hochberg: within a leaderboard; over all metrics that are not headlines.",
        ),
        Column("n", numeric=True, hint="Left, right."),
        Column("Speaks for", hint="Types, if several machines of each were measured; else only for those measured."),
        Column("To decide it"),
    )
    shown = tuple(_row(book, row, titles.get((row.benchmark, row.metric))) for row in rows[:MAX_ROWS])
    more = len(rows) - len(shown)
    note = f"For {counted(more, 'more comparison')}, see comparisons.csv." if more > 0 else ""
    return Table(caption, columns, shown, note=note, compact=True)


def _row(book: Book, row: Comparison, metric: Metric | None) -> Row:
    found = book.evidence.cite(book.lookup.trials_of_pair(row), f"{row.benchmark}: {row.left} and {row.right}")
    low_coverage = row.coverage is not None and row.coverage < ENOUGH
    return Row(
        (
            Cell(_about(row, metric), note=direction_text(row.direction)),
            Cell(row.left, tone="name"),
            Cell(row.right, tone="name"),
            Cell(badges=(verdict_badge(row.verdict),)),
            Cell(people.ratio(row.ratio), href=book.href(found.anchor) if found else None),
            Cell(_interval(row)),
            Cell(people.coverage(row.coverage), tone="warn" if low_coverage else ""),
            Cell(people.probability(row.p_adjusted), note=f"p {people.probability(row.p_value)}"),
            Cell(f"{row.n_left}, {row.n_right}", note=_counted(row)),
            Cell(row.scope),
            Cell(_decides(row)),
        ),
        anchor=comparison_anchor(row),
    )


def _counted(row: Comparison) -> str:
    """What n counts, where it is not replicates."""
    sides = dict.fromkeys((row.counted_left, row.counted_right))
    return ", ".join(sides) if "machines" in sides else ""


def _decides(row: Comparison) -> str:
    parts = [str(said) for said in (row.reason, row.note) if said]
    if row.more_to_measure:
        parts.append(f"about {counted(row.more_to_measure, 'more replicate')}")
    elif row.is_hardly_decidable:
        parts.append("more replicates will hardly decide it")
    if row.minimum_detectable_percent is not None:
        parts.append(f"smallest detectable difference: {people.percent(row.minimum_detectable_percent)}")
    return "; ".join(parts) or people.MISSING


def _grids(book: Book) -> list[Table]:
    return [
        _grid(book, benchmark, metric)
        for benchmark in book.lookup.study.benchmarks
        for metric in headlines(benchmark)
        if (benchmark.benchmark, metric.name, False) in book.lookup.comparisons
    ]


def _grid(book: Book, benchmark: BenchmarkRow, metric: Metric) -> Table:
    names = book.lookup.ranked(benchmark.benchmark, metric)
    found: dict[tuple[str, str], Cell] = {}
    for row in book.lookup.comparisons[benchmark.benchmark, metric.name, False]:
        both = ((row.right, row.left, row.verdict.opposite), (row.left, row.right, row.verdict))
        for left, right, verdict in both:
            sign, word, tone = SIGNS[verdict]
            found[left, right] = Cell(sign, tone=tone, title=f"{left} compared with {right}: {word}")
    rows = tuple(
        Row((Cell(f"{index} {name}"), *(found.get((name, other), Cell("·")) for other in names)))
        for index, name in enumerate(names, 1)
    )
    columns = (Column("Configuration"), *(Column(str(index), hint=name) for index, name in enumerate(names, 1)))
    title = f"{benchmark.benchmark}: {metric_title(metric)}, every pair"
    note = "The row compared with the column, best first: ▲ better, ▼ worse, = tie, ? not decided."
    return Table(title, columns, rows, grid_anchor(benchmark.benchmark, metric.name), note, compact=True)
