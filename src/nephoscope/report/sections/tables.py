"""The sections of evidence.html that are tables of rows, each as the analysis stores it."""

from nephoscope.analysis.faults import FaultRow
from nephoscope.analysis.lookup import best_first, headlines
from nephoscope.model.price_rows import CostRow, TransferRow
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.rows import (
    BenchmarkRow,
    BoundRow,
    CheckRow,
    ClaimRow,
    CommandRow,
    Comparison,
    DeliveredRow,
    ErrorRow,
    FamilyComparison,
    GateRow,
    LowerBoundRow,
    RankRow,
    Statistic,
    StealRow,
    TrialRow,
)
from nephoscope.report.main.doubts import plan_notes
from nephoscope.report.parts import (
    MAX_METRIC_ROWS,
    MAX_METRIC_ROWS_IN_ALL,
    Book,
    Table,
    comparison_anchor,
    trial_anchor,
)
from nephoscope.report.tables.rows import table_of

Tables = list[Table]
Columns = tuple[str, ...]
SCALE: Columns = ("benchmark", "metric", "view", "basis")
LEADER: Columns = (
    *("benchmark", "metric", "per_cpu", "configuration", "n", "level", "level_low", "level_coverage", "median", "low"),
    *("coverage", "counted", "machines", "scope", "trials"),
)
STATISTIC: Columns = (
    *("benchmark", "metric", "per_cpu", "configuration", "cpus", "n", "n_excluded", "level", "level_low"),
    *("level_coverage", "median", "low", "coverage", "margin_percent", "more_replicates_needed", "cv_percent"),
    *("range_percent", "minimum", "maximum", "outliers", "pulling", "pulling_percent", "set_aside", "second_kind"),
    *("second_kind_percent", "widened", "counted", "machines", "scope", "trials"),
)
LOWER_BOUND: Columns = ("benchmark", "metric", "configuration", "value", "n", "bounded", "trials")
TRIAL: Columns = (
    *("trial", "position", "block", "benchmark", "configuration", "cpus", "state", "attempts", "started_unix_ms"),
    *("duration_s", "client_cpu_share", "stolen_share", "conditions"),
)
COST: Columns = (
    *("configuration", "basis", "terms", "region", "machine_type", "machines", "usd_per_hour", "month_usd"),
    *("storage_share", "break_even_hours", "method", "hours", "counted", "date", "age_days", "source", "price_row"),
    *("reason_missing", "formula"),
)
TRANSFER: Columns = (
    *(
        "configuration",
        "benchmark",
        "way",
        "here",
        "there",
        "stood",
        "billed",
        "bytes_per_s",
        "month_usd",
        "run_usd",
        "n",
    ),
    *("date", "source", "price_row", "reason_missing", "formula", "trials"),
)
COMPARED: Columns = (
    *("benchmark", "metric", "per_cpu", "left", "right", "verdict", "ratio", "low", "coverage", "p_value"),
    *("p_adjusted", "n_left", "n_right", "counted_left", "counted_right", "machines_left", "machines_right", "scope"),
    *(
        "quiet_ratio",
        "ratio_of_medians",
        "reason",
        "note",
        "more_to_measure",
        "is_hardly_decidable",
        "minimum_detectable_percent",
    ),
)
BEST: Columns = (
    *(
        "scope",
        "of",
        "best",
        "by_median",
        "tied",
        "close",
        "open",
        "excluded",
        "left_out",
        "alpha",
        "detectable_percent",
    ),
    *("cv_percent", "degrees_of_freedom", "n_least", "n_most", "method", "reason", "note", "trials"),
)
CONTRAST: Columns = (
    *("benchmark", "metric", "view", "basis", "left", "right", "verdict", "ratio", "low", "pairs_agreeing"),
    *("pairs", "pairs_left_out", "declared", "p_value", "alpha", "detectable_percent", "method", "reason", "note"),
    "trials",
)
FAMILY: Columns = (
    *("left", "right", "benchmark", "metric", "per_cpu", "verdict", "ratio", "low", "coverage", "p_value"),
    *("p_adjusted", "n_left", "n_right", "blocks", "matched_by", "trials"),
)
CLAIM: Columns = (
    *("claim", "text", "source", "verdict", "expected", "holds", "reason", "benchmark", "metric", "view", "basis"),
    *("ratio", "low", "coverage", "unit_of_n", "n_left", "n_right", "p_value", "p_adjusted", "trials"),
)


def insights(book: Book, kind: str, rule: str = "") -> Tables:
    """The answers, warnings or notes of the study; with a rule, only those that it gave."""
    rows = [row for row in book.lookup.study.insights if row.kind == kind and rule in {"", row.rule}]
    return _made(table_of(book, rows, columns=("rule", "text", "trials"), of=f"{kind.capitalize()}s"))


def warnings(book: Book) -> Tables:
    """Those of the analysis, then those of the plan."""
    notes = plan_notes(book.lookup.study.plan.warnings)
    return [*insights(book, "warning"), *_made(table_of(book, notes, of="Plan"))]


def leaderboards(book: Book) -> Tables:
    """What was measured of each headline metric, best level first, and every leaderboard that compares it."""
    lookup = book.lookup
    best = [
        row
        for benchmark in lookup.study.benchmarks
        for metric in headlines(benchmark)
        for row in best_first(lookup.statistics_of(benchmark.benchmark, metric.name), metric)
    ]
    return _made(
        table_of(book, best, columns=LEADER, of="Best level first", anchor="leaderboard-table", file="statistics.csv"),
        table_of(book, lookup[RankRow], by=SCALE, file="ranks.csv"),
    )


def families(book: Book) -> Tables:
    """Groups of machine types."""
    rows = book.lookup[FamilyComparison]
    return _made(table_of(book, rows, columns=FAMILY, file="family_comparisons.csv"))


def claims(book: Book) -> Tables:
    """What the results say about claims made elsewhere."""
    return _made(table_of(book, book.lookup[ClaimRow], columns=CLAIM, file="claims.csv"))


def questions(book: Book) -> Tables:
    """The best of each leaderboard, and what one difference changes; ratios of costs where a question is about cost."""
    study = book.lookup.study
    contrasts = [row.as_costs() if row.view == "per dollar" else row for row in study[ContrastRow]]
    return _made(
        table_of(book, study[BestRow], columns=BEST, by=SCALE, file="best.csv"),
        table_of(book, contrasts, columns=CONTRAST, file="contrasts.csv"),
    )


def headline_comparisons(book: Book) -> list[Comparison]:
    """The pairs of each headline metric."""
    return _split_by_headline(book)[0]


def comparisons(book: Book) -> Tables:
    """Headline metrics first."""
    headline, others = _split_by_headline(book)
    return _made(
        *(
            table_of(book, rows, of=of, columns=COMPARED, row_anchor=comparison_anchor, file="comparisons.csv")
            for of, rows in (("Headline metrics", headline), ("Other metrics", others))
        )
    )


def _split_by_headline(book: Book) -> tuple[list[Comparison], list[Comparison]]:
    """The pairs of headline metrics, and those of all others."""
    keys = {(row.benchmark, metric.name) for row in book.lookup.study.benchmarks for metric in headlines(row)}
    split: tuple[list[Comparison], list[Comparison]] = ([], [])
    for row in book.lookup[Comparison]:
        split[(row.benchmark, row.metric) not in keys].append(row)
    return split


def of_benchmark(book: Book, row: BenchmarkRow) -> Tables:
    """What limited it, its errors, all statistics, and what each metric is."""
    study, name = book.lookup.study, row.benchmark
    most = min(MAX_METRIC_ROWS, MAX_METRIC_ROWS_IN_ALL // len(study.benchmarks))
    return _made(
        table_of(
            book,
            [one for one in study[FaultRow] if one.benchmark == name],
            by=("benchmark",),
            of=name,
            file="faults.csv",
        ),
        table_of(book, [bound for bound in study[BoundRow] if bound.benchmark == name], by=("benchmark",), of=name),
        table_of(book, [error for error in study[ErrorRow] if error.benchmark == name], by=("benchmark",), of=name),
        table_of(
            book,
            [statistic for statistic in study[Statistic] if statistic.benchmark == name],
            columns=STATISTIC,
            of=name,
            most=most,
            file="statistics.csv",
        ),
        table_of(
            book,
            [bound for bound in study[LowerBoundRow] if bound.benchmark == name],
            columns=LOWER_BOUND,
            of=name,
            file="lower_bounds.csv",
        ),
        table_of(book, row.metrics, by=("clock",), of=name),
    )


def costs(book: Book) -> Tables:
    """A month of each configuration and of its data transfer, with the formula, or why there is no price."""
    study = book.lookup.study
    return _made(
        table_of(book, study[CostRow], columns=COST, file="costs.csv"),
        table_of(book, study[TransferRow], columns=TRANSFER, file="transfers.csv"),
    )


def judged(book: Book) -> Tables:
    """What the checks changed, how steal was judged, when questions were closed, and every check."""
    study = book.lookup.study
    looks = study.looks[-1].questions if study.looks else []
    return _made(
        table_of(book, study[GateRow], file="gate.csv"),
        table_of(book, study[StealRow], file="steal.csv"),
        table_of(book, study[DeliveredRow], file="delivered.csv"),
        table_of(book, looks, by=SCALE, anchor="looks"),
        table_of(book, study[CheckRow]),
    )


def trials(book: Book) -> Tables:
    """Every trial in plan order; its id opens its record."""
    rows = sorted(book.lookup[TrialRow], key=lambda row: row.position)
    listed = [row for row in rows if row.trial in book.listed]
    more = len(rows) - len(listed)
    return _made(
        table_of(
            book,
            listed,
            columns=TRIAL,
            row_anchor=lambda row: trial_anchor(row.trial),
            most=len(listed),
            more=more,
            file="measurements.csv and raw_files.csv",
        )
    )


def ran(book: Book) -> Tables:
    """The benchmarks with their parameters, and the commands that ran."""
    study = book.lookup.study
    columns = ("benchmark", "title", "uses", "version", "parameters")
    return _made(table_of(book, study.benchmarks, columns=columns), table_of(book, study[CommandRow]))


def _made(*tables: Table | None) -> Tables:
    return [table for table in tables if table is not None]
