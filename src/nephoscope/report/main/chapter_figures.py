"""Figures of chapters: rankings, winners of each cloud, what one thing changes, and medians over threads or load."""

from collections.abc import Sequence
from typing import Any

from nephoscope.model.questions import ContrastRow
from nephoscope.model.rows import ComparisonVerdict, Statistic
from nephoscope.model.words import counted
from nephoscope.report import format as people
from nephoscope.report.lookup import headlines, scale_of, unique
from nephoscope.report.main import charts
from nephoscope.report.main.boards import TOP_OF_CHAPTER, Board
from nephoscope.report.main.money import bars, ranking_text
from nephoscope.report.main.names import enumerated
from nephoscope.report.main.palette import UNKNOWN, Palette, provider_of
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.wording import direction_text, metric_title, unit_text

FEW = 8
"""Configurations that have room in one small panel."""
MAX_PANELS = 3
TOP_OF_CLOUD = 5
TWO = 2
PANEL_HEIGHT, STACKED_HEIGHT = 40, 300
"""Of the title of a panel, and of panels in one column; higher ones are side by side."""
MAX_RATIOS = 6


def ranking(book: Book, boards: Sequence[Board], palette: Palette, *, per_cpu: bool = False) -> Figure | None:
    """The best of each headline metric, a panel for each; None without values."""
    ranked = [(board, board.ranked(book.lookup, per_cpu=per_cpu)) for board in boards]
    ranked = [(board, found) for board, found in ranked if len(found) > 1]
    if not ranked:
        return None
    drawn, most = [], max(len(found) for _, found in ranked)
    for board, found in ranked[:MAX_PANELS]:
        shown = found[:TOP_OF_CHAPTER]
        scale = scale_of(board.metric, shown)
        axis = f"{unit_text(scale, per_cpu=per_cpu)}, {direction_text(board.metric.direction)}"
        spec = bars(shown, scale, axis, palette)
        drawn.append((_named(board, ranked), ranking_text(shown, scale, palette), spec))
    panel_height = PANEL_HEIGHT + charts.height(min(most, TOP_OF_CHAPTER))
    cut = f"Medians of the best {TOP_OF_CHAPTER} of {most}" if most > TOP_OF_CHAPTER else "Medians, best first"
    left_out = f" {_more(len(ranked) - MAX_PANELS)}" if len(ranked) > MAX_PANELS else ""
    return book.figure(
        _about(ranked, per_cpu=per_cpu),
        cut
        + ("; lines: intervals." if any(one.n > 1 for _, found in ranked for one in found) else "; one value each."),
        left_out.strip(),
        drawn,
        key=palette.key([one.configuration for _, found in ranked for one in found[:TOP_OF_CHAPTER]]),
        columns=1 if len(drawn) * panel_height <= STACKED_HEIGHT else len(drawn),
        apart=True,
    )


def _about(ranked: Sequence[tuple[Board, list[Statistic]]], *, per_cpu: bool) -> str:
    """'New-Orders per minute'; of several metrics, which have their names in panels, 'The best in fio and sysbench'."""
    if len(ranked) == 1:
        return metric_title(ranked[0][0].metric, per_cpu=per_cpu)
    benchmarks = unique(board.row.benchmark for board, _ in ranked[:MAX_PANELS])
    return f"The best in {enumerated(benchmarks)}" + (", per CPU" if per_cpu else "")


def _more(count: int) -> str:
    return f"{counted(count, 'more headline metric')} on the evidence page."


def _named(board: Board, ranked: Sequence[tuple[Board, list[Statistic]]]) -> str:
    """The name of a panel, with its benchmark where there are several."""
    if len(ranked) == 1:
        return ""
    title = metric_title(board.metric)
    several = len({one.row.benchmark for one, _ in ranked}) > 1
    return f"{board.row.benchmark}: {title}" if several else title


def winners(book: Book, board: Board, palette: Palette) -> Figure | None:
    """The best of each cloud side by side; None with fewer than two clouds, or when the ranking shows everything."""
    by_cloud: dict[str, list[Statistic]] = {}
    found = board.ranked(book.lookup)
    for one in found:
        by_cloud.setdefault(provider_of(book.lookup, one.configuration), []).append(one)
    clouds = {name: many[:TOP_OF_CLOUD] for name, many in by_cloud.items() if name != UNKNOWN}
    if len(clouds) < 2 or len(found) <= FEW:
        return None
    scale = scale_of(board.metric, [one for many in clouds.values() for one in many])
    axis = f"{unit_text(scale)}, {direction_text(board.metric.direction)}"
    most = max(len(many) for many in clouds.values())
    drawn = [
        (
            name,
            ranking_text(many, scale, palette),
            bars(many, scale, axis, palette),
        )
        for name, many in clouds.items()
    ]
    return book.figure(
        f"The best of each cloud: {metric_title(board.metric)}",
        f"Up to {most} of each, best first; all panels share their axis.",
        "",
        drawn,
        columns=min(MAX_PANELS, len(drawn)),
    )


def contrasts(book: Book, benchmarks: Sequence[str]) -> Figure | None:
    """What one thing changes, for all pairs of configurations that differ in nothing else.

    None without a question, and for two configurations: their comparison opens the chapter.
    """
    rows = [
        row
        for row in book.lookup.study.contrasts
        if row.benchmark in benchmarks and row.view == "plain" and row.basis is None
    ]
    if not rows or len(book.lookup.configurations) <= TWO:
        return None
    # Decided questions first: they are answers.
    rows = sorted(rows, key=lambda row: row.verdict is ComparisonVerdict.UNRESOLVED)[:MAX_RATIOS]
    questions: dict[str, list[ContrastRow]] = {}
    for row in rows:
        questions.setdefault(row.question, []).append(row)
    margin = rows[0].margin_percent / 100
    verdicts = {row.verdict.value for row in rows}
    return book.figure(
        "What one thing changes",
        "Left ÷ right with its interval; within the band: a tie.",
        "",
        [_contrast_panel(book, question, many, margin) for question, many in questions.items()],
        key=[
            KeyEntry(sign, "var(--ink)", word) for kind, (_, sign, word) in charts.VERDICTS.items() if kind in verdicts
        ],
        columns=1 if len(questions) == 1 else min(MAX_PANELS, len(questions)),
    )


def _contrast_panel(
    book: Book, question: str, rows: Sequence[ContrastRow], margin: float
) -> tuple[str, str, dict[str, Any]]:
    """One question: its title names the pair if there is only one, and the rows name what differs between them."""
    pairs = unique(f"{row.left} ÷ {row.right}" for row in rows)
    metrics = unique(_metric(book, row) for row in rows)
    data: list[dict[str, Any]] = []
    for row in rows:
        parts = [f"{row.left} ÷ {row.right}"] if len(pairs) > 1 or len(metrics) == 1 else []
        parts += [_metric(book, row)] if len(metrics) > 1 else []
        data.append(
            {
                "label": ": ".join(parts),
                "left": row.left,
                "right": row.right,
                "ratio": row.ratio,
                "low": row.low if row.low is not None else row.ratio,
                "high": row.high if row.high is not None else row.ratio,
                "ratio_text": people.ratio(row.ratio),
                "interval_text": _interval(row),
                "verdict": row.verdict.value,
            }
        )
    title = question[:1].upper() + question[1:]
    title += f": {pairs[0]}" if len(pairs) == 1 and len(metrics) > 1 else ""
    spoken = "; ".join(f"{row['label']} {row['ratio_text']}, {row['verdict']}" for row in data)
    return title, f"{title}. {spoken}.", charts.ratios([row["label"] for row in data], data, margin)


def _metric(book: Book, row: ContrastRow) -> str:
    """The metric's title, with its benchmark where the title alone does not tell."""
    titles = {
        (one.benchmark, metric.name): metric_title(metric)
        for one in book.lookup.study.benchmarks
        for metric in headlines(one)
    }
    title = titles.get((row.benchmark, row.metric), row.metric)
    return f"{row.benchmark}: {title}" if list(titles.values()).count(title) > 1 else title


def _interval(row: ContrastRow) -> str:
    if row.low is None or row.high is None:
        return "no interval: too few values"
    return f"{people.ratio(row.low).removesuffix(people.TIMES)} \N{EN DASH} {people.ratio(row.high)}"
