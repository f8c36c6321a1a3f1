"""Figures of chapters: rankings, winners of each cloud, and the effect of a single difference."""

from collections.abc import Iterable, Sequence
from typing import Any

from nephoscope.analysis.lookup import headlines, scale_of, unique
from nephoscope.insights.names import UNKNOWN_PROVIDER, enumerated, metric_title, provider_of, title_with_benchmark
from nephoscope.model.questions import ContrastRow
from nephoscope.model.rows import ComparisonVerdict, FamilyComparison, Statistic
from nephoscope.model.words import counted
from nephoscope.report.main import charts, ratios
from nephoscope.report.main.boards import TOP_OF_CHAPTER, Board
from nephoscope.report.main.money import bars, ranking_text
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Figure
from nephoscope.report.wording import direction_text, lines_text, unit_text

FEW = 8
"""Configurations that have room in one small panel."""
MAX_PANELS = 3
TOP_OF_CLOUD = 5
MAX_HOSTS = 40
"""Of hosts that should be equal, so many are drawn."""
TWO = 2
PANEL_HEIGHT, STACKED_HEIGHT = 40, 300
"""Of the title of a panel, and of panels in one column; higher ones are side by side."""
MAX_RATIOS = 6
X86_VENDORS = ("AMD", "Intel")
_AXIS = "ratio, first \N{DIVISION SIGN} second"


def ranking(book: Book, boards: Sequence[Board], palette: Palette, *, per_cpu: bool = False) -> Figure | None:
    """The best of each headline metric, a panel for each; None without values."""
    ranked = [(board, board.ranked(book.lookup, per_cpu=per_cpu)) for board in boards]
    ranked = [(board, found) for board, found in ranked if len(found) > 1]
    if not ranked:
        return None
    top, order = TOP_OF_CHAPTER, "best first"
    if book.lookup.study.equal_hosts:
        top, order = MAX_HOSTS, "worst first"
        ranked = [(board, found[::-1]) for board, found in ranked]
    drawn, most = [], max(len(found) for _, found in ranked)
    for board, found in ranked[:MAX_PANELS]:
        shown = found[:top]
        scale = scale_of(board.metric, shown)
        axis = f"{unit_text(scale, per_cpu=per_cpu)}, {direction_text(board.metric.direction)}"
        spec = bars(shown, scale, axis, palette)
        called = title_among(board, (one for one, _ in ranked)) if len(ranked) > 1 else ""
        drawn.append((called, ranking_text(shown, scale, palette), spec))
    panel_height = PANEL_HEIGHT + charts.height(min(most, top))
    cut = f"Levels of the first {top} of {most}, {order}" if most > top else f"Levels, {order}"
    left_out = f" {_more(len(ranked) - MAX_PANELS)}" if len(ranked) > MAX_PANELS else ""
    return book.figure(
        _about(ranked, per_cpu=per_cpu),
        f"{cut}; {lines_text([one for _, found in ranked[:MAX_PANELS] for one in found[:top]])}.",
        left_out.strip(),
        drawn,
        key=palette.key([one.configuration for _, found in ranked for one in found[:top]]),
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


def title_among(board: Board, boards: Iterable[Board]) -> str:
    """Of a board's metric, with its benchmark where the boards have several."""
    several = len({one.row.benchmark for one in boards}) > 1
    return title_with_benchmark(board.metric, board.row.benchmark) if several else metric_title(board.metric)


def winners(book: Book, board: Board, palette: Palette) -> Figure | None:
    """The best of each cloud side by side; None with fewer than two clouds, or when the ranking shows all clouds."""
    by_cloud: dict[str, list[Statistic]] = {}
    found = board.ranked(book.lookup)
    for one in found:
        by_cloud.setdefault(provider_of(book.lookup, one.configuration), []).append(one)
    clouds = {name: many[:TOP_OF_CLOUD] for name, many in by_cloud.items() if name != UNKNOWN_PROVIDER}
    ranked = {provider_of(book.lookup, one.configuration) for one in found[:TOP_OF_CHAPTER]}
    if len(clouds) < 2 or len(found) <= FEW or ranked >= clouds.keys():
        return None
    shown = [one for many in clouds.values() for one in many]
    scale = scale_of(board.metric, shown)
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
        f"Up to {most} of each, best first; all panels share their axis; {lines_text(shown)}.",
        "",
        drawn,
        columns=min(MAX_PANELS, len(drawn)),
    )


def contrasts(book: Book, benchmarks: Sequence[str]) -> Figure | None:
    """The effect of a single difference, over all pairs of configurations that differ in nothing else.

    None without a question, and for two configurations: their comparison opens the chapter. Where the study's headline
    is one of these benchmarks, its questions are asked, in its view.
    """
    asked = book.lookup.study.headline
    view = "plain"
    if asked is not None and asked.benchmark in benchmarks:
        benchmarks, view = [asked.benchmark], asked.view
    rows = [
        row
        for row in book.lookup[ContrastRow]
        if row.benchmark in benchmarks and row.view == view and row.basis is None
    ]
    if not rows or len(book.lookup.configurations) <= TWO:
        return None
    # Decided questions first: they are answers.
    more = len(rows) - MAX_RATIOS
    rows = sorted(rows, key=lambda row: row.verdict is ComparisonVerdict.UNRESOLVED)[:MAX_RATIOS]
    panels = _by_panel(rows)
    margin = rows[0].margin_percent / 100
    metrics = unique(_metric(book, row) for row in rows)
    of_one = f"{metrics[0]}: ratios" if len(metrics) == 1 else "Ratios"
    return book.figure(
        "Effect of a single difference",
        f"{of_one} with their intervals; within the band: a tie.",
        f"{counted(more, 'more ratio')} on the evidence page." if more > 0 else "",
        [_contrast_panel(book, question, many, margin, is_alone=len(panels) == 1) for question, many in panels.items()],
        key=ratios.key(rows),
        columns=min(MAX_PANELS, len(panels)),
    )


def families(book: Book, benchmarks: Sequence[str]) -> Figure | None:
    """Designs of CPUs and sizes of machines against each other, over matched types; of the first metric that has any.

    For studies without pairs of configurations that differ in one thing only, whose effect `contrasts` draws.
    """
    ordered = [row for name in benchmarks for row in book.lookup[FamilyComparison] if row.benchmark == name]
    rows = [row for row in ordered if (row.benchmark, row.metric) == (ordered[0].benchmark, ordered[0].metric)]
    if not rows:
        return None
    more = len(rows) - MAX_RATIOS
    rows = sorted(rows, key=lambda row: row.verdict is ComparisonVerdict.UNRESOLVED)[:MAX_RATIOS]
    drawn = []
    for question in unique(row.question for row in rows):
        many = [row for row in rows if row.question == question]
        data = [ratios.row_of(f"{row.left} against {row.right}", row, (row.left, row.right)) for row in many]
        drawn.append(ratios.panel(question, data, rows[0].margin_percent / 100, _AXIS))
    return book.figure(
        "Kinds of machines",
        f"{_metric(book, rows[0])}{', per CPU' if rows[0].per_cpu else ''}: ratios of groups of types, matched in "
        "size, with their intervals; within the band: a tie.",
        f"{counted(more, 'more ratio')} on the evidence page." if more > 0 else "",
        drawn,
        key=ratios.key(rows),
        columns=min(MAX_PANELS, len(drawn)),
    )


def _by_panel(rows: Sequence[ContrastRow]) -> dict[str, list[ContrastRow]]:
    """Question -> its ratios; under '' those of several questions, each of which would be a tiny panel.

    These are all questions about one metric, or those with one ratio each.
    """
    questions: dict[str, list[ContrastRow]] = {}
    for row in rows:
        questions.setdefault(row.question, []).append(row)
    if len(questions) > 1 and len({(row.benchmark, row.metric) for row in rows}) == 1:
        return {"": [row for many in questions.values() for row in many]}
    alone = [many[0] for many in questions.values() if len(many) == 1]
    if len(alone) < TWO:
        return questions
    return {"": alone, **{question: many for question, many in questions.items() if len(many) > 1}}


def _contrast_panel(
    book: Book, question: str, rows: Sequence[ContrastRow], margin: float, *, is_alone: bool
) -> tuple[str, str, dict[str, Any]]:
    """One question, or '' for several: its title names the pair if there is only one, and rows what differs in them."""
    sides = [_sides(book, row) for row in rows]
    pairs = list(dict.fromkeys(sides))
    metrics = unique(_metric(book, row) for row in rows)
    data: list[dict[str, Any]] = []
    for row, (left, right) in zip(rows, sides, strict=True):
        parts = [] if question else [_capital(row.question)]
        parts += [f"{left} against {right}"] if len(pairs) > 1 or len(metrics) == 1 else []
        parts += [_metric(book, row)] if len(metrics) > 1 else []
        data.append(ratios.row_of(": ".join(parts), row, (left, right)))
    left, right = pairs[0]
    title = _capital(question)
    title += f": {left} against {right}" if title and len(pairs) == 1 and len(metrics) > 1 else ""
    one, other = (left, right) if is_alone and len(pairs) == 1 else ("first", "second")
    return ratios.panel(title, data, margin, f"ratio, {one} \N{DIVISION SIGN} {other}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sides(book: Book, row: ContrastRow) -> tuple[str, str]:
    """What is compared, so that it speaks for itself: 'm9g' rather than '9', 'x86 (AMD)' against 'Arm'."""
    if row.question == "generation":
        names = zip(row.lefts, row.rights, strict=True)
        pairs = {(_family(book, left), _family(book, right)) for left, right in names}
        if len(pairs) == 1 and len(named := [one for one in next(iter(pairs)) if one]) == 2:
            return named[0], named[1]
    if row.question == "architecture":
        left, right = (f"x86 ({one})" if one in X86_VENDORS else one for one in (row.left, row.right))
        return left, right
    return row.left, row.right


def _family(book: Book, configuration: str) -> str | None:
    found = book.lookup.described.get(configuration)
    return found.family if found else None


def _metric(book: Book, row: ContrastRow | FamilyComparison) -> str:
    """The metric's title, with its benchmark where the title alone does not tell."""
    per_cpu = isinstance(row, ContrastRow) and row.view == "per CPU"
    titles = {
        (one.benchmark, metric.name): metric_title(metric, per_cpu=per_cpu)
        for one in book.lookup.study.benchmarks
        for metric in headlines(one)
    }
    title = titles.get((row.benchmark, row.metric), row.metric)
    return f"{row.benchmark}: {title}" if list(titles.values()).count(title) > 1 else title
