"""The questions of the study with their answers: the best of each leaderboard, and what one thing changes."""

from nephoscope.model.questions import BestRow, ContrastRow, View
from nephoscope.model.words import counted, scope_name
from nephoscope.report import format as people
from nephoscope.report.parts import Book, Cell, Column, Link, Row, Table, evidence_cell, verdict_badge
from nephoscope.report.wording import candidates_text, metric_title, view_text

MAX_NAMED = 12
MAX_ROWS = 300
_METHODS = {
    "within blocks": "within blocks",
    "without blocks": "without blocks",
    "rank sums": "exact rank sums, as values come in steps",
    "none": "too few values",
}


def best_table(book: Book) -> Table | None:
    """Which configurations may be the best, for every headline metric, view and scope; None without a question."""
    rows = book.lookup.study.best
    columns = (
        Column("Among"),
        Column("The best"),
        Column("Worse", numeric=True, hint="Configurations that were shown not to be the best."),
        Column("Error rate", numeric=True, hint="Chance of excluding one that is the best or equal to the best."),
        Column("Could show", numeric=True, hint="Difference from the best that is found with a chance of 80 %."),
        Column("Spread", numeric=True, hint="Of single values, as pooled; with its degrees of freedom."),
        Column("n", numeric=True),
        Column("By"),
    )
    found: list[Row] = []
    about: tuple[str, str, View, str | None] | None = None
    for row in rows[:MAX_ROWS]:
        if (row.benchmark, row.metric, row.view, row.basis) != about:
            about = (row.benchmark, row.metric, row.view, row.basis)
            found.append(Row(group=Link(_title(book, row), "")))
        found.append(_best(book, row))
    more = len(rows) - MAX_ROWS
    note = f"For {counted(more, 'more question')}, see best.csv." if more > 0 else ""
    return Table("The best of each leaderboard", columns, tuple(found), note=note, compact=True) if found else None


def _best(book: Book, row: BestRow) -> Row:
    unknown = f"{', '.join(row.open)}: too few values" if row.open else ""
    if row.method == "none":
        text, note = "not decided", "each was measured once" if row.n_most == 1 else "too few values"
    elif not row.excluded:
        text, note = f"any of {row.of - len(row.open)}", ""
    else:
        text = candidates_text(row.best, MAX_NAMED)
        note = f"within {row.margin_percent:g} %: {', '.join(row.close)}" if row.close else ""
    if row.tied:
        note = f"a tie: each two differ by less than {row.margin_percent:g} %"
    note = "; ".join(filter(None, (note, unknown, str(row.reason), str(row.note))))
    spread = people.MISSING if row.cv_percent is None else people.percent(row.cv_percent)
    freedom = "" if row.degrees_of_freedom is None else f"{row.degrees_of_freedom:.3g}"
    degrees = f"{freedom} degree{'' if freedom == '1' else 's'} of freedom" if freedom else ""
    return Row(
        (
            Cell(
                f"{scope_name(row.scope)}, {counted(row.of, 'configuration')}",
                note=f"{len(row.left_out)} left out" if row.left_out else "",
            ),
            evidence_cell(book, text, row.trials, f"{_title(book, row)}, {scope_name(row.scope)}"),
            Cell(str(row.excluded), note=note),
            Cell(people.percent(100 * row.alpha)),
            Cell(people.MISSING if row.detectable_percent is None else people.percent(row.detectable_percent)),
            Cell(spread, note=degrees),
            Cell(str(row.n_least) if row.n_least == row.n_most else f"{row.n_least} to {row.n_most}"),
            Cell(_METHODS[row.method]),
        )
    )


def contrasts_table(book: Book) -> Table | None:
    """What one thing changes; None where no two configurations differ in one thing only."""
    rows = book.lookup.study.contrasts
    columns = (
        Column("Metric"),
        Column("Left"),
        Column("Right"),
        Column("Left is"),
        Column("Ratio", numeric=True, hint="Left ÷ right: geometric mean over the pairs."),
        Column("Interval", numeric=True),
        Column("Pairs", numeric=True, hint="Pairs whose own ratio is on the same side of equality, of all pairs."),
        Column("p", numeric=True),
        Column("Error rate", numeric=True),
        Column("Could show", numeric=True, hint="Difference that is found with a chance of 80 %."),
    )
    found: list[Row] = []
    question = None
    for row in rows[:MAX_ROWS]:
        if row.question != question:
            question = row.question
            found.append(Row(group=Link(row.question, ""), group_note="declared in the study" if row.declared else ""))
        found.append(_contrast(book, row))
    more = len(rows) - MAX_ROWS
    note = f"For {counted(more, 'more answer')}, see contrasts.csv." if more > 0 else ""
    return Table("Effect of a single difference", columns, tuple(found), note=note, compact=True) if found else None


def _contrast(book: Book, stored: ContrastRow) -> Row:
    """A ratio of costs where the question is about cost; the verdict is about the same configurations."""
    row = stored.as_costs() if stored.view == "per dollar" else stored
    interval = "no interval: too few values"
    if row.low is not None and row.high is not None:
        interval = people.ratio_interval(row.ratio, row.low, row.high)
    about = f"{row.question}: {row.left} and {row.right}"
    return Row(
        (
            Cell(_title(book, row), tone="name"),
            Cell(row.left),
            Cell(row.right),
            Cell(badges=(verdict_badge(row.verdict),), note="; ".join(filter(None, (str(row.reason), str(row.note))))),
            evidence_cell(book, people.ratio(row.ratio), row.trials, about),
            Cell(interval),
            Cell(f"{row.pairs_agreeing} of {row.pairs}"),
            Cell(people.probability(row.p_value)),
            Cell(people.percent(100 * row.alpha)),
            Cell(people.MISSING if row.detectable_percent is None else people.percent(row.detectable_percent)),
        )
    )


def _title(book: Book, row: BestRow | ContrastRow) -> str:
    titles = {
        metric.name: metric_title(metric)
        for benchmark in book.lookup.study.benchmarks
        if benchmark.benchmark == row.benchmark
        for metric in benchmark.metrics
    }
    return f"{row.benchmark}: {titles.get(row.metric, row.metric)}{view_text(row.view, row.basis)}"
