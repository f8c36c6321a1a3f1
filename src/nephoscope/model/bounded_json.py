"""JSON of strangers: Python's own reader ends with other errors where it nests deeply, and makes infinity of 1e400."""

import json
import math
from typing import Any


def load_json(text: str | bytes) -> Any:
    """What the text holds.

    Raises:
        ValueError: it is no JSON, is nested too deeply, or holds a number that is infinite or none.
    """
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:80]} is no number that can be measured")
    return value
