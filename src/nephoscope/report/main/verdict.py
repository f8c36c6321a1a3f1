"""The verdict: what the study decided, in one card for each question."""

from nephoscope.report.parts import Book
from nephoscope.report.sections.opening import Sentence, sentences

MAX_CARDS = 6


def cards(book: Book) -> list[Sentence]:
    """The first answers of the analysis."""
    return sentences(book, "answer")[:MAX_CARDS]
