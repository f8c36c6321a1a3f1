"""What a reader should doubt: at most ten points, worst first."""

from nephoscope.report.parts import Book
from nephoscope.report.sections.opening import Sentence, sentences

MAX_DOUBTS = 10


def doubts(book: Book) -> list[Sentence]:
    """The warnings of the analysis."""
    return sentences(book, "warning")[:MAX_DOUBTS]
