"""Comparisons of two sides, seen from the other one."""

from typing import Any, Protocol


class TwoSided(Protocol):
    """A ratio of two sides, left / right, with its interval."""

    @property
    def left(self) -> str:
        """Its name."""
        ...

    @property
    def right(self) -> str:
        """Its name."""
        ...

    @property
    def ratio(self) -> float:
        """Left / right."""
        ...

    @property
    def low(self) -> float | None:
        """End of the ratio's interval; None: too few values for one."""
        ...

    @property
    def high(self) -> float | None:
        """The other end."""
        ...


def sides_exchanged(row: TwoSided) -> dict[str, Any]:
    """The fields of the same comparison with left and right exchanged."""
    return {
        "left": row.right,
        "right": row.left,
        "ratio": 1 / row.ratio,
        "low": None if row.high is None else 1 / row.high,
        "high": None if row.low is None else 1 / row.low,
    }
