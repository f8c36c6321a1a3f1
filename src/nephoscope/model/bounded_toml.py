"""TOML of strangers: Python takes the square of its parts in time for a dotted key, and the stack for brackets."""

import re
import tomllib
from typing import Any

MAX_BYTES = 4 << 20
MAX_ENTRIES = 100_000
"""Keys, tables and elements of lists together."""
MAX_NESTING = 30
"""Brackets within brackets, and parts of a dotted key."""

# Texts that do not end count, too: else each quote in one would begin a search to its end.
_TOKEN = re.compile(
    r"""
      (?P<text>\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z) | '{3}.*?(?:'{3}|\Z) | "(?:\\.|[^"\\\n])*"? | '[^'\n]*'?)
    | (?P<comment>\#[^\n]*)
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<dot>\.) | (?P<entry>[,=]) | (?P<line>\n)
    """,
    re.VERBOSE | re.DOTALL,
)


def load_toml(text: str) -> dict[str, Any]:
    """What the text holds.

    Raises:
        ValueError: it is no TOML, a number has thousands of digits, or something is nested too deeply.
    """
    if beyond := beyond_limits(text, most_bytes=None, most_entries=None):
        raise ValueError(f"{beyond[1]} (at line {beyond[0]})")
    return tomllib.loads(text.removeprefix("\ufeff"))


def beyond_limits(
    text: str, *, most_bytes: int | None = MAX_BYTES, most_entries: int | None = MAX_ENTRIES
) -> tuple[int, str] | None:
    """The line and the sentence of the first limit that a text exceeds; None: it keeps all.

    It counts what looks like TOML, so text that is not TOML may be rejected for its size first.
    """
    if most_bytes is not None and len(text.encode(errors="surrogatepass")) > most_bytes:
        return 1, f"larger than {most_bytes >> 20} MiB, which no study needs; is it the right file?"
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
        entries += kind in {"entry", "open"}
        if max(depth, dots) > MAX_NESTING:
            return line, f"nested more than {MAX_NESTING} deep; a study needs five levels"
        if most_entries is not None and entries > most_entries:
            return line, f"more than {most_entries:,} keys, tables and elements of lists; use [[matrix]], or split it"
    return None
