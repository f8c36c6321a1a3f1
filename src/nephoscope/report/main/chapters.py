"""The chapters of the main page: CPU, network, storage, OLTP, key-value and cost."""

from dataclasses import dataclass

from nephoscope.report.parts import Book, Figure, Table


@dataclass(frozen=True)
class Chapter:
    """One subject: an opening sentence, at most three figures and one table."""

    anchor: str
    title: str
    opening: str
    figures: tuple[Figure, ...] = ()
    table: Table | None = None


def chapters(book: Book) -> list[Chapter]:  # noqa: ARG001  # none yet
    """The chapters of which the study has results."""
    return []
