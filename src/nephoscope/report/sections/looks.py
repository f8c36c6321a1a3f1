"""Which questions of a study that stops by itself were closed, after which block, and why."""

from nephoscope.model.looks import OUTCOMES, QuestionAtLook
from nephoscope.model.words import listed, scope_name
from nephoscope.report.parts import Book, Cell, Column, Row, Table
from nephoscope.report.wording import view_text

_NAMED = 5
_KINDS = {"best": "the best", "contrast": "contrast"}


def looks_table(book: Book) -> Table | None:
    """The questions as the last look left them; None: the study took no looks."""
    looks = book.lookup.study.looks
    if not looks:
        return None
    columns = (
        Column("Question"),
        Column("Benchmark"),
        Column("Metric"),
        Column("Outcome"),
        Column("After block", numeric=True),
        Column("Left", hint="Configurations that may be the best, or that are compared."),
    )
    rows = tuple(_row(row) for row in looks[-1].questions)
    return Table("When questions were closed", columns, rows, anchor="looks", compact=True)


def _about(row: QuestionAtLook) -> str:
    return row.about if row.scope is None else scope_name(row.scope)


def _row(row: QuestionAtLook) -> Row:
    names = listed(row.configurations, _NAMED)
    return Row(
        (
            Cell(f"{_KINDS[row.kind]}: {_about(row)}{view_text(row.view, row.basis)}"),
            Cell(row.benchmark, tone="name"),
            Cell(row.metric, tone="name"),
            Cell(OUTCOMES.get(row.state, row.state)),
            Cell("" if row.closed_after is None else str(row.closed_after)),
            Cell(names, tone="name"),
        )
    )
