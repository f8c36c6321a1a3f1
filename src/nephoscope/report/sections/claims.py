"""Claims on the page: each claim, what the results say about it, and on what basis."""

from nephoscope.model.rows import ClaimRow
from nephoscope.report import format as people
from nephoscope.report.parts import Badge, Book, Cell, Column, Row, Table, evidence_cell

_SIGNS = {"supported": ("✓", "good"), "refuted": ("✕", "bad"), "not decided": ("?", "doubt")}


def claims_table(book: Book) -> Table | None:
    """A row for each claim and metric, in the order of the file."""
    rows = book.lookup.study.claims
    if not rows:
        return None
    columns = (
        Column("Claim"),
        Column("Verdict"),
        Column("Measured by"),
        Column("Ratio", numeric=True, hint="Left / right, as in the claim."),
        Column("Interval", numeric=True),
        Column(
            "n", numeric=True, hint="Left, right: replicates of two configurations, or configurations in two groups."
        ),
        Column("p, adjusted", numeric=True, hint="Holm correction over all claims that could be decided."),
    )
    return Table("Claims and what the results say about them", columns, tuple(_row(book, row) for row in rows))


def _row(book: Book, row: ClaimRow) -> Row:
    sign, tone = _SIGNS[row.verdict]
    rest = "" if row.holds else "not as expected" if row.expected else ""
    by = f"{row.benchmark} {row.metric}" + ("" if row.view == "plain" else f", {row.view}")
    ratio, interval = Cell(people.MISSING), people.MISSING
    if row.ratio is not None:
        if row.low is not None and row.high is not None:
            interval = people.ratio_interval(row.ratio, row.low, row.high)
        ratio = evidence_cell(book, people.ratio(row.ratio), row.trials, f"claim “{row.claim}”")
    return Row(
        (
            Cell(row.text, note=row.source),
            Cell(badges=(Badge(sign, row.verdict, tone, rest),), note=str(row.reason)),
            Cell(by, note=row.basis or ""),
            ratio,
            Cell(interval),
            Cell(f"{row.n_left}, {row.n_right}" if row.unit_of_n else people.MISSING, note=row.unit_of_n),
            Cell(people.MISSING if row.p_adjusted is None else people.probability(row.p_adjusted)),
        )
    )
