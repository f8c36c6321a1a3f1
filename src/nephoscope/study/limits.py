"""How large a study may be, checked before anything parses it: parsers of TOML take long for what is nested or long.

The largest study that ships has 7 KB, and that of an import of 3,000 machine types some 400 KB and 35,000 entries.
"""

import re

MAX_BYTES = 4 << 20
MAX_ENTRIES = 100_000
"""Keys and elements of lists together."""
MAX_NESTING = 30
"""Brackets within brackets, and parts of a dotted key."""

_TOKEN = re.compile(
    r"""
      (?P<text>\"{3}(?:\\.|[^\\])*?\"{3} | '{3}.*?'{3} | "(?:\\.|[^"\\\n])*" | '[^'\n]*')
    | (?P<comment>\#[^\n]*)
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<dot>\.) | (?P<entry>[,=]) | (?P<line>\n)
    """,
    re.VERBOSE | re.DOTALL,
)


def beyond_limits(text: str) -> tuple[int, str] | None:
    """The line and the sentence of the first limit that a study's text exceeds; None: it keeps all.

    It counts what looks like TOML, so text that is not TOML may be rejected for its size first.
    """
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        return 1, f"larger than {MAX_BYTES >> 20} MiB, which no study needs; is it the right file?"
    line, entries, depth, dots = 1, 0, 0, 0
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind in {"text", "line"}:
            line += found[0].count("\n")
        if kind == "dot":
            dots += 1
        elif kind != "text":
            dots = 0
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        entries += kind == "entry"
        if max(depth, dots) > MAX_NESTING:
            return line, f"nested more than {MAX_NESTING} deep; a study needs five levels"
        if entries > MAX_ENTRIES:
            return line, f"more than {MAX_ENTRIES:,} keys and elements of lists; use [[matrix]], or split the study"
    return None
