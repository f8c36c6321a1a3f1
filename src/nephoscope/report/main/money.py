"""Figure 1: price and performance of every configuration."""

from nephoscope.report.parts import Book, Figure


def price_and_performance(book: Book) -> Figure | None:  # noqa: ARG001  # not drawn yet
    """Cost and performance, or ranked bars where nothing is priced; None without a leaderboard."""
    return None
