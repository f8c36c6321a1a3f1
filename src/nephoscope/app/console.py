"""How the command line speaks: data on standard output, everything else on standard error.

Rich loads only where something is drawn, so that `--help` and short answers do not wait for it.
"""

import json
import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from nephoscope.model.text import HIDDEN_CHARACTER, line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


_FOR_CI = re.compile(r"^(\s*):(?=:.*::)|#(?=#\w*\[)", re.MULTILINE)
"""With `::` at the start of a line a log commands GitHub Actions; with `##[`, `##vso[` or `##teamcity[` anywhere in one
others.
"""


def say(text: str) -> None:
    """Prints a line of data. Whatever it quotes commands neither a terminal nor what reads the log of a CI run."""
    say_document(line(text, most=None))


def say_document(text: str) -> None:
    """The same for lines of our own, of which each may quote something: a study, a table, Markdown."""
    sys.stdout.write(f"{_obeyed_by_none(visible(text))}\n")


def tell(text: "str | Text", style: str = "") -> None:
    """Prints a line for people, on standard error."""
    talk().print(text, style=style or None, highlight=False, markup=False)


def tell_lines(text: str) -> None:
    """Prints lines of our own for people."""
    for part in text.split("\n"):
        tell(part)


def print_json(content: Any) -> None:
    """Prints models as JSON, also inside lists and dictionaries; what cannot be seen is escaped."""
    from pydantic_core import to_json

    text = to_json(content, indent=1, inf_nan_mode="constants", fallback=str).decode()
    text = HIDDEN_CHARACTER.sub(lambda match: json.dumps(match[0])[1:-1], text)
    sys.stdout.write(_FOR_CI.sub(r"\\u0023", text) + "\n")


def _obeyed_by_none(text: str) -> str:
    return _FOR_CI.sub(lambda match: f"{match[1]}\\x3a" if match[1] is not None else "\\x23", text)


Table = list[list[str]]
"""Headers, and below them rows of cells."""


def print_table(headers: Sequence[str], rows: "Iterable[Sequence[str | Text]]") -> None:
    """Prints a table; a cell is one line, and wraps if it is too wide for the terminal."""
    from rich.table import Column
    from rich.table import Table as Drawn
    from rich.text import Text

    table = Drawn(*(Column(header, overflow="fold") for header in headers))
    for row in rows:
        table.add_row(*(Text(_obeyed_by_none(line(cell))) if isinstance(cell, str) else cell for cell in row))
    output().print(table)


def print_rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints plain columns, in a pager on a terminal: Rich would take seconds to draw thousands of rows."""
    text = "\n".join(_columns(headers, *_in_lines(rows)))
    if sys.stdout.isatty():
        import pydoc

        pydoc.pager(visible(text))
    else:
        say_document(text)


def _fitted(table: Table, optional: Sequence[str], width: int) -> Table:
    """The table, its headers first, without the columns that must go; says which these are."""
    headers = table[0]

    def without(gone: Collection[int]) -> Table:
        return [[cell for at, cell in enumerate(row) if at not in gone] for row in table]

    def fits(gone: Collection[int]) -> bool:
        return max(map(len, _columns(*without(gone)))) <= width

    if fits(()):
        return table
    equal = [at for at, (_, *cells) in enumerate(zip(*table, strict=True)) if len(set(cells)) == 1]
    if len(equal) == len(headers):
        return table
    if said := [f"{headers[at]} {table[1][at]}" for at in equal if table[1][at]]:
        for part in textwrap.wrap(f"All: {', '.join(said)}", width, break_long_words=False, break_on_hyphens=False):
            say(part)
    left_out: list[int] = []
    for at in (headers.index(header) for header in optional):
        if fits([*equal, *left_out]):
            break
        left_out += [] if at in equal else [at]
    if left_out and fits([*equal, *left_out]):
        named = ", ".join(headers[at] for at in left_out)
        tell(f"left out, as the terminal is too narrow: {named}; --json has everything")
        return without([*equal, *left_out])
    return without(equal)


def print_answer(headers: Sequence[str], rows: Iterable[Sequence[str]], optional: Sequence[str] = ()) -> None:
    """Prints whole values as columns; what is piped is never wrapped nor cut.

    On a terminal that is too narrow for them, what is equal in all rows stands once above the columns, and of the
    optional columns, by their headers, as many are left out as it takes. If that is not enough, rows are printed one
    after the other, a value in each line.
    """
    table = _in_lines([headers, *rows])
    if sys.stdout.isatty() and len(table) > 2:
        table = _fitted(table, optional, output().width)
    lines, (headers, *answer) = _columns(*table), table
    if sys.stdout.isatty() and max(map(len, lines)) > output().width:
        widest = max(map(len, headers))
        lines = [
            text
            for number, row in enumerate(answer, start=1)
            for text in (
                f"row {number}",
                *(f"  {head:{widest}}  {cell}" for head, cell in zip(headers, row, strict=True)),
            )
        ]
    for text in lines:
        say(text)


def _in_lines(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Cells that are one line each."""
    return [[line(cell, most=None) for cell in row] for row in rows]


def _columns(*table: Sequence[str]) -> list[str]:
    """Plain columns, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def output() -> "Console":
    """Standard output, to draw on."""
    return _console()(soft_wrap=True)


def talk() -> "Console":
    """Standard error."""
    # A live line needs to know its width; a log must not be broken at the width of no terminal.
    return _console()(file=cast("IO[str]", _Unbreakable(sys.stderr)), soft_wrap=not sys.stderr.isatty())


@cache
def _console() -> "type[Console]":
    """Rich's console, which neither ends the process nor passes on what a server or a file says to the terminal."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Careful(Console):
        def on_broken_pipe(self) -> None:
            """Rich would exit with code 1, which means a defect; `cli.main` knows better."""
            raise BrokenPipeError

        def print(self, *objects: Any, **options: Any) -> None:
            """A text is one line, whatever a server or a file put into it."""
            super().print(*map(_in_one_line, objects), **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Rich's own control codes are marked as such; any other is somebody's text."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(_obeyed_by_none(visible(segment.text)), segment.style)

    return Careful


def _in_one_line(drawn: Any) -> Any:
    from rich.text import Text

    if isinstance(drawn, str):
        return line(drawn)
    return Text(" ").join(drawn.split("\n")) if isinstance(drawn, Text) else drawn


class _Unbreakable:
    """Standard error. Losing it (a closed terminal, `2>&1 | head`, a full disk) must not end a long study."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Drops the text if standard error is gone."""
        with self._forgiving():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """See `write`."""
        with self._forgiving():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())  # so that Python's own flush at exit is silent, too
