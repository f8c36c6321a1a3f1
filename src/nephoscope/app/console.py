"""How the command line speaks: data on standard output, everything else on standard error.

Rich loads only where something is drawn, so that `--help` and short answers do not wait for it.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from nephoscope.model.words import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def say(text: str) -> None:
    """Prints a line of data: unchanged into a file or a pipe, and so that it cannot command a terminal."""
    sys.stdout.write(f"{visible(text) if sys.stdout.isatty() else text}\n")


def tell(text: "str | Text", style: str = "") -> None:
    """Prints a line for people, on standard error."""
    talk().print(text, style=style or None, highlight=False, markup=False)


def print_json(content: Any) -> None:
    """Prints models as JSON, also inside lists and dictionaries."""
    from pydantic_core import to_json

    say(to_json(content, indent=1, inf_nan_mode="constants", fallback=str).decode())


def print_table(headers: Sequence[str], rows: "Iterable[Sequence[str | Text]]") -> None:
    """Prints a table; a cell that is too wide for the terminal wraps."""
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(*(Column(header, overflow="fold") for header in headers))
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    output().print(table)


def print_rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints plain columns, in a pager on a terminal: Rich would take seconds to draw thousands of rows."""
    text = "\n".join(_columns(headers, list(rows)))
    if sys.stdout.isatty():
        import pydoc

        pydoc.pager(visible(text))
    else:
        say(text)


def print_answer(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints whole values: as columns, or on a terminal that is too narrow for them row by row, a value in each line.

    What is piped is never wrapped nor cut.
    """
    answer = [[_in_one_line(cell) for cell in row] for row in rows]
    lines = _columns(headers, answer)
    if sys.stdout.isatty() and max(map(len, lines)) > output().width:
        widest = max(map(len, headers))
        lines = [
            line
            for number, row in enumerate(answer, start=1)
            for line in (
                f"row {number}",
                *(f"  {head:{widest}}  {cell}" for head, cell in zip(headers, row, strict=True)),
            )
        ]
    for line in lines:
        say(line.rstrip())


def _in_one_line(cell: str) -> str:
    return " ".join(cell.split()) if "\n" in cell or "\t" in cell else cell


def _columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Plain columns, two spaces apart."""
    table = [headers, *rows]
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

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Rich's own control codes are marked as such; any other is somebody's text."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return Careful


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
