"""Cells of CSV files that people open with a spreadsheet."""

import re

FORMULA = r"^'*\s*[=+\-@\t\r]"
NUMBER = r"^[+-]?(?:[0-9][0-9,]*)?\.?[0-9]+(?:[eE][+-]?[0-9]+)?$"
"""Text that a spreadsheet runs, unless it is a number; as regular expressions that polars knows, too."""
_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)


def inert(text: str) -> str:
    """Text with an apostrophe before it if a spreadsheet would run it as a formula; a number is none.

    Names and reasons in our tables may come from other people's files. Quotes do not help: a spreadsheet removes them
    before it looks (OWASP, CSV Injection).
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text
