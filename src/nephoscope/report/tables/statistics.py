"""Tables of statistics: the leaderboard and the metrics of one benchmark."""

from collections.abc import Iterable, Sequence

from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, RankRow, Statistic
from nephoscope.model.words import counted
from nephoscope.report import format as people
from nephoscope.report.evidence import slug
from nephoscope.report.limits import MAX_METRIC_ROWS, MAX_METRIC_ROWS_IN_ALL
from nephoscope.report.lookup import headlines
from nephoscope.report.parts import (
    Badge,
    Book,
    Cell,
    Column,
    Link,
    Row,
    Table,
    evidence_cell,
    trial_links,
    verdict_badge,
)
from nephoscope.report.wording import coverage_note, direction_text, interval_text, metric_title, unit_text

FEW = 4
"""Up to this many configurations, every pair is named; with more, pairs are counted and shown in a grid."""
MAX_IN_GRID = 40
"""With more configurations, a grid of pairs is no longer legible; ranks say as much."""
STATISTIC_COLUMNS = (
    Column("Level", numeric=True, hint="What ratios are quotients of; of metrics that are not headlines the median."),
    Column("Median", numeric=True),
    Column("Interval of the median", numeric=True),
    Column("Coverage", numeric=True, hint="Exact for any distribution. Below 95 %, the interval is only the range."),
    Column("Margin", numeric=True, hint="Half the width of the interval, as a percentage of the median."),
)


def section_anchor(benchmark: str) -> str:
    """Anchor of a benchmark's section."""
    return f"benchmark-{slug(benchmark)}"


def comparison_anchor(row: Comparison) -> str:
    """Anchor of a comparison's row."""
    tail = "-per-cpu" if row.per_cpu else ""
    return f"compare-{slug(row.benchmark)}-{slug(row.metric)}-{slug(row.left)}-{slug(row.right)}{tail}"


def grid_anchor(benchmark: str, metric: str) -> str:
    """Anchor of the grid of all pairs."""
    return f"pairs-{slug(benchmark)}-{slug(metric)}"


def has_grid(book: Book) -> bool:
    """Whether a grid of all pairs is drawn: not if pairs are named one by one, nor if it would be illegible."""
    return FEW < len(book.lookup.configurations) <= MAX_IN_GRID


def statistic_cells(book: Book, row: Statistic, scale: people.Scale, *, roomy: bool = False) -> tuple[Cell, ...]:
    """Level; median, interval, coverage and margin. The median links to its trials."""
    about = f"{row.benchmark} on {row.configuration}"
    low = coverage_note(row)
    level = Cell(people.MISSING if row.level is None else scale.number(row.level))
    if row.n == 1:
        note = low if roomy else ""
        empty = Cell(people.MISSING)
        median = evidence_cell(book, scale.number(row.median), row.trials, about)
        return (level, median, Cell("one value", note=note, tone="warn", title=f"No interval; {low}."), empty, empty)
    margin = "" if row.margin_percent is None else "±"
    coverage = people.coverage(row.coverage)
    return (
        level,
        evidence_cell(book, scale.number(row.median), row.trials, about),
        Cell(interval_text(row, scale), note=_other_medians(book, row, scale)),
        Cell(
            coverage if roomy or not low else f"range, {coverage}",
            note=low if roomy else "",
            tone="warn" if low else "",
            title=f"Below 95 %: only the range of the values; {low}." if low else "",
        ),
        Cell(margin + people.percent(row.margin_percent)),
    )


def interval_cells(row: Statistic, scale: people.Scale) -> tuple[Cell, Cell]:
    """Interval of the median and its coverage; one value has neither."""
    if row.n == 1:
        return Cell("one value", tone="warn"), Cell(people.MISSING)
    return Cell(interval_text(row, scale)), Cell(people.coverage(row.coverage))


def table_over(
    book: Book, caption: str, unit: str, rows: Iterable[tuple[float, Statistic]], scale: people.Scale
) -> Table:
    """Statistics over a quantity such as threads or warehouses: its value beside each."""
    columns = (Column("Configuration"), Column(unit.capitalize(), numeric=True), *STATISTIC_COLUMNS)
    body = tuple(
        Row((Cell(one.configuration, tone="name"), Cell(people.integer(at)), *statistic_cells(book, one, scale)))
        for at, one in rows
    )
    return Table(caption, columns, body, compact=True)


def _other_medians(book: Book, row: Statistic, scale: people.Scale) -> str:
    """The medians of quiet trials and with those that steal rejected; empty where no trial lost CPU time."""
    found = book.lookup.delivered.get((row.benchmark, row.metric, row.per_cpu, row.configuration))
    if found is None:
        return ""
    parts = []
    if found.n_quiet < found.n:
        quiet = scale.number(found.quiet_median) if found.quiet_median is not None else "none"
        parts.append(f"as delivered; quiet median {quiet} (n = {found.n_quiet})")
    if found.median_with_rejected is not None:
        n = found.n + found.n_rejected
        parts.append(f"with those that steal rejected {scale.number(found.median_with_rejected)} (n = {n})")
    return "; ".join(parts)


def rank_cell(rank: RankRow | None) -> Cell:
    """A rank, as a range when it is not certain, with ties marked."""
    if rank is None:
        return Cell(people.MISSING)
    text = str(rank.first) if rank.first == rank.last else f"{rank.first} \N{EN DASH} {rank.last}"
    few = len(rank.ties) <= FEW // 2
    note = f"= {', '.join(rank.ties) if few else f'{len(rank.ties)} ties'}" if rank.ties else ""
    note = "; ".join(filter(None, (note, str(rank.note))))
    return Cell(text, note=note, title=f"A tie with {', '.join(rank.ties)}" if rank.ties else "")


def label_columns(book: Book) -> tuple[Column, ...]:
    """One for each label of the study."""
    return tuple(Column(f"Label: {label}", hint="As the study gives it.") for label in book.lookup.labels)


def label_cells(book: Book, configuration: str) -> tuple[Cell, ...]:
    """What a configuration has in each of these columns."""
    row = book.lookup.described.get(configuration)
    return tuple(Cell((row.labels.get(label) if row else None) or people.MISSING) for label in book.lookup.labels)


def leaderboard(book: Book) -> Table:
    """Per headline metric: every configuration with its statistics, best level first."""
    rows: list[Row] = []
    for benchmark in book.lookup.study.benchmarks:
        for metric in headlines(benchmark):
            scale = book.lookup.scale(benchmark.benchmark, metric)
            title = f"{benchmark.benchmark}: {metric_title(metric)}"
            note = f"{unit_text(scale)}, {direction_text(metric.direction)}{_on(book, benchmark, metric)}"
            rows.append(Row(group=Link(title, book.href(section_anchor(benchmark.benchmark))), group_note=note))
            rows += [
                _leader(book, benchmark, metric, name, scale)
                for name in book.lookup.ranked(benchmark.benchmark, metric)
            ]
    columns = (
        Column("Configuration"),
        Column(
            "Rank",
            numeric=True,
            hint="A range if it is not certain: the best and the worst rank it can have. = marks a tie.",
        ),
        *STATISTIC_COLUMNS,
        Column("n", numeric=True, hint="Valid replicates, or machines if it says so."),
        Column("Excluded", numeric=True, hint="Replicates that are not valid, for any reason."),
        Column("Per CPU", numeric=True, hint="Level of the values, each divided by the CPUs of its trial."),
        Column(
            "Client CPU",
            numeric=True,
            hint="CPU time of a co-located client as a share of all CPUs of its machine: minimum to maximum.",
        ),
        Column("Compared with others"),
        *label_columns(book),
    )
    return Table("Headline metrics, best level first", columns, tuple(rows), anchor="leaderboard-table")


def _leader(book: Book, benchmark: BenchmarkRow, metric: Metric, name: str, scale: people.Scale) -> Row:
    lookup = book.lookup
    row = lookup.statistics.get((benchmark.benchmark, metric.name, False), {}).get(name)
    if row is None:
        excluded = len(lookup.trials_of(benchmark.benchmark, name))
        why = Cell("no valid trial", href=book.href("exclusions"), tone="warn")
        empty = Cell(people.MISSING)
        missing = (empty, why, empty, empty, empty, empty, Cell("0"), Cell(str(excluded)), empty, empty, empty)
        return Row((Cell(name), *missing, *label_cells(book, name)))
    return Row(
        (
            Cell(name, tone="name"),
            rank_cell(lookup.ranks.get((benchmark.benchmark, metric.name, "plain", None), {}).get(name)),
            *statistic_cells(book, row, scale, roomy=True),
            Cell(str(row.n), note=_machines(row)),
            Cell(str(row.n_excluded), href=book.href("exclusions") if row.n_excluded else None),
            _per_cpu(book, benchmark, metric, name),
            Cell(client_share(book, benchmark.benchmark, name)),
            Cell(badges=against(book, benchmark.benchmark, metric, name)),
            *label_cells(book, name),
        )
    )


def _on(book: Book, benchmark: BenchmarkRow, metric: Metric) -> str:
    """Which machines the ranks speak for, where these are not types of machines."""
    key = (benchmark.benchmark, metric.name, False)
    compared = {row.scope for row in book.lookup.comparisons.get(key, [])}
    if "these machines" in compared:
        return ", on these machines"
    return ", on this machine" if compared == {"this machine"} else ""


def _machines(row: Statistic) -> str:
    """What n counts, and how many machines were measured if that is fewer."""
    if row.counted == "machines":
        return "machines"
    fewer = row.machines is not None and row.machines < row.n
    return f"on {counted(row.machines or 0, 'machine')}" if fewer else ""


def _per_cpu(book: Book, benchmark: BenchmarkRow, metric: Metric, name: str) -> Cell:
    row = book.lookup.statistics.get((benchmark.benchmark, metric.name, True), {}).get(name)
    if row is None:
        return Cell(people.MISSING)
    scale = book.lookup.scale(benchmark.benchmark, metric, per_cpu=True)
    note = f"{counted(row.cpus, 'CPU')}" if row.cpus else ""
    return evidence_cell(book, scale.number(row.compared.value), row.trials, f"{row.benchmark} on {name}", note)


def client_share(book: Book, benchmark: str, name: str) -> str:
    """The smallest and the largest share that the client took in any valid trial."""
    rows = book.lookup.trials_of(benchmark, name)
    shares = [row.client_cpu_share for row in rows if row.counts and row.client_cpu_share is not None]
    if not shares:
        return people.MISSING
    least, most = people.share(min(shares)), people.share(max(shares))
    return least if least == most else f"{least.removesuffix(' %')} \N{EN DASH} {most}"


def against(book: Book, benchmark: str, metric: Metric, name: str) -> tuple[Badge, ...]:
    """The verdicts on one configuration: named one by one if there are few, counted if there are many."""
    found = book.lookup.comparisons.get((benchmark, metric.name, False), [])
    mine = [row for row in found if name in {row.left, row.right}]
    verdicts = [(row, row.verdict if row.left == name else row.verdict.opposite) for row in mine]
    if len(book.lookup.configurations) <= FEW:
        return tuple(_named(book, row, name, verdict_badge(verdict)) for row, verdict in verdicts)
    link = book.href(grid_anchor(benchmark, metric.name)) if has_grid(book) else None
    counts = [(kind, sum(verdict is kind for _, verdict in verdicts)) for kind in type(mine[0].verdict)] if mine else []
    return tuple(verdict_badge(kind, f"\N{MULTIPLICATION SIGN} {count}", link) for kind, count in counts if count)


def _named(book: Book, row: Comparison, name: str, badge: Badge) -> Badge:
    other = row.right if row.left == name else row.left
    join = "than" if badge.tone in {"good", "bad"} else "with"
    ratio = f", {people.ratio(row.ratio)}" if row.left == name else ""
    return Badge(badge.sign, badge.word, badge.tone, f"{join} {other}{ratio}", book.href(comparison_anchor(row)))


def metrics_table(book: Book, benchmark: BenchmarkRow) -> Table | None:
    """Every metric of a benchmark with its statistics; headline metrics first."""
    first = headlines(benchmark)
    ordered = [*first, *(metric for metric in benchmark.metrics if metric not in first)]
    rows: list[Row] = []
    left_out = 0
    most = min(MAX_METRIC_ROWS, MAX_METRIC_ROWS_IN_ALL // len(book.lookup.study.benchmarks))
    for metric in ordered:
        views = (book.lookup.statistics_of(benchmark.benchmark, metric.name, per_cpu=view) for view in (False, True))
        size = sum(len(found) for found in views)
        if size and len(rows) + size > most:
            left_out += 1
        else:
            rows += _metric_rows(book, benchmark, metric)
    if not rows:
        return None
    columns = (
        Column("Metric"),
        Column("Configuration"),
        *label_columns(book),
        *STATISTIC_COLUMNS,
        Column("CV", numeric=True, hint="Standard deviation divided by mean."),
        Column("Range", numeric=True, hint="Maximum minus minimum, as a percentage of the median."),
        Column("n", numeric=True),
        Column("Excluded", numeric=True),
        Column("Outliers", hint="Modified z-score above 3.5; flagged, never dropped."),
    )
    more = f"For {counted(left_out, 'more metric')}, see statistics.csv." if left_out else ""
    return Table(f"All metrics of {benchmark.benchmark}", columns, tuple(rows), note=more, compact=True)


def _metric_rows(book: Book, benchmark: BenchmarkRow, metric: Metric) -> list[Row]:
    rows: list[Row] = []
    for per_cpu in (False, True):
        found = book.lookup.statistics_of(benchmark.benchmark, metric.name, per_cpu=per_cpu)
        if not found:
            continue
        scale = book.lookup.scale(benchmark.benchmark, metric, per_cpu=per_cpu)
        note = f"{unit_text(scale, per_cpu=per_cpu)}, {direction_text(metric.direction)}"
        head = Cell(metric_title(metric, per_cpu=per_cpu), note=note, span=len(found))
        rows.append(Row((head, *_metric_cells(book, found[0], scale))))
        rows += [Row(_metric_cells(book, row, scale), continued=True) for row in found[1:]]
    return rows


def _metric_cells(book: Book, row: Statistic, scale: people.Scale) -> tuple[Cell, ...]:
    return (
        Cell(row.configuration),
        *label_cells(book, row.configuration),
        *statistic_cells(book, row, scale),
        Cell(people.percent(row.cv_percent)),
        Cell(people.percent(row.range_percent)),
        Cell(str(row.n)),
        Cell(str(row.n_excluded)),
        Cell(links=trial_links(row.outliers, book)),
    )


def figure_table(book: Book, caption: str, rows: Sequence[Statistic], scale: people.Scale) -> Table:
    """The data of a chart of statistics."""
    columns = (
        Column("Configuration"),
        *STATISTIC_COLUMNS,
        Column("Minimum", numeric=True),
        Column("Maximum", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(row.configuration),
                *statistic_cells(book, row, scale),
                Cell(scale.number(row.minimum)),
                Cell(scale.number(row.maximum)),
            )
        )
        for row in rows
    )
    return Table(caption, columns, body, compact=True)
