"""JSON of strangers: Python's own reader ends with other errors where it nests deeply, and makes infinity of 1e400.

It also makes integers that end every calculation with OverflowError.
"""

import json
import math
from typing import Any

MOST_VALUES = 4_000_000
"""In one text: each may take 70 bytes of memory, and two of its own."""


def load_json(text: str | bytes) -> Any:
    """What the text holds.

    Raises:
        ValueError: it is no JSON, is nested too deeply, has more than `MOST_VALUES` values, or holds a number that is
            infinite or none.
    """
    if _values(text) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _values(text: str | bytes) -> int:
    """No fewer than there are, as texts may hold the same marks."""
    return sum(text.count(mark) if isinstance(text, str) else text.count(mark.encode()) for mark in ",[{")


def _whole(text: str) -> int:
    _finite(text)  # Python has integers that no floating-point number is near
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:80]} is no number that can be measured")
    return value
