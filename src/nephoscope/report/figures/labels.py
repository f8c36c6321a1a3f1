"""The names of rows in lines: whole and unique, in a width that leaves room for the chart on a telephone."""

import re
from collections.abc import Iterable, Sequence

MAX_CHARACTERS = 26
"""Of one line: about 165 pixels."""
LINE_HEIGHT = 14
_PARTS = re.compile(r"[^\s_./:·-]*[\s_./:·-]*")


def wrapped(names: Iterable[str]) -> dict[str, list[str]]:
    """Name -> its lines, broken after a separator where there is one; joined, the lines are the name."""
    return {name: _lines(name) for name in names}


def _lines(name: str) -> list[str]:
    """As few lines as there can be, and these of nearly equal length."""
    parts = [piece for part in _PARTS.findall(name) for piece in _pieces(part)]
    fewest = len(_filled(parts, MAX_CHARACTERS))
    # A space at the end of a full line is not counted, so the mean of the lines may be one character too long.
    widths = range(min(-(-len(name) // fewest), MAX_CHARACTERS), MAX_CHARACTERS + 1)
    return next(lines for width in widths if len(lines := _filled(parts, width)) == fewest)


def _pieces(part: str) -> list[str]:
    return [part[start : start + MAX_CHARACTERS] for start in range(0, len(part), MAX_CHARACTERS)]


def _filled(parts: Sequence[str], most: int) -> list[str]:
    lines = [""]
    for part in parts:
        if lines[-1] and len((lines[-1] + part).rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return lines
