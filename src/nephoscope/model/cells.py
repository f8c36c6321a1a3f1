"""Cells of CSV files that people open with a spreadsheet."""

import re

from nephoscope.model.text import line

_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20]"
FORMULA = rf"^'*\s*{_SIGN}"
NUMBER = r"^[+-]?(?:[0-9][0-9,]*)?\.?[0-9]+(?:[eE][+-]?[0-9]+)?$"
"""Text that a spreadsheet runs, unless it is a number; as regular expressions that polars knows, too."""
INSIDE = rf";('*{_SIGN})"
"""The same where a semicolon begins a new cell, as in many countries."""
_FORMULA, _NUMBER, _INSIDE = re.compile(FORMULA), re.compile(NUMBER), re.compile(INSIDE)
_INERT, _INERT_INSIDE = re.compile(rf"^'(?='*\s*{_SIGN})"), re.compile(rf";'(?='*{_SIGN})")


def inert(text: str) -> str:
    """Text as one line, with an apostrophe before what a spreadsheet would run as a formula; a number is none.

    Names and reasons in our tables may come from other people's files. Quotes do not help: a spreadsheet removes them
    before it looks (OWASP, CSV Injection).
    """
    text = _INSIDE.sub(r";'\1", line(text, most=None))
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def as_written(cell: str) -> str:
    """The text of which `inert` made this cell, if it was one line."""
    return _INERT_INSIDE.sub(";", _INERT.sub("", cell))
