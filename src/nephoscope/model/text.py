"""Foreign text, made plain before anybody sees it, also in the cells of files that people open with a spreadsheet.

It comes from results folders, imports, servers, hosts, tools and price lists. It may hold what a terminal obeys, what a
reader cannot see, and line breaks with which it poses as a line of ours.
"""

import re

HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, and with them every escape sequence
    r"\xad\u061c\u180e\u200b-\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"  # no width, or no direction
    r"\u115f\u1160\u3164\uffa0"  # letters that are drawn as nothing
    r"\u2028-\u202e\ufffe\uffff"  # line separators, overrides of direction, no characters at all
)
"""Characters that command a terminal, cannot be seen or reverse what is around them; inside a character class that
Python and polars know. Tabs and line breaks are not among them.
"""
HIDDEN_CHARACTER = re.compile(rf"[{HIDDEN}\ud800-\udfff]")
_BREAK = re.compile(r"(?<! ) *[\t\n\r][ \t\n\r]*")
MOST = 10_000
"""Characters of one line for people."""


def _is_plain(text: str) -> bool:
    """Python calls some characters printable that are drawn as nothing, such as variation selectors."""
    return text.isascii() and text.isprintable()


def hidden(text: str) -> str | None:
    """The first character of a text that nobody could see, or that commands a terminal; None: there is none."""
    match = None if _is_plain(text) else HIDDEN_CHARACTER.search(text)
    return None if match is None else match[0]


def visible(text: str) -> str:
    r"""The text with `\x1b` and the like written out; newlines and tabs stay."""
    if _is_plain(text):
        return text
    return HIDDEN_CHARACTER.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def line(text: str, most: int | None = MOST) -> str:
    """The text as one line in which everything can be seen, cut after `most` characters."""
    whole = text if _is_plain(text) else visible(_BREAK.sub(" ", text.rstrip("\t\n\r")))
    return whole if most is None or len(whole) <= most else f"{whole[: most - 1]}…"


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
