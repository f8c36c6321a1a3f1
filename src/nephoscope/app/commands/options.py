"""Arguments and options that several commands share, and how a command joins the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

MEASURE = "Measure"
RESULTS = "Look at results"
OTHERS = "Results and prices from elsewhere"
"""Headings in `nephoscope --help`."""

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="study file (TOML); `nephoscope init` writes one")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="results folder, as written by `run --out`")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="results folder [default: results/<study>]")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    *,
    example: str,
    then: str = "",
    name: str | None = None,
    under: str = "",
) -> None:
    """Adds a command whose help ends with an example and with what to do next.

    Args:
        app: the command line, or a group of commands.
        command: a function whose arguments say what it takes.
        example: a command line, without `nephoscope`.
        then: what to do next.
        name: of the command, where it is not the function's.
        under: the heading in the list of commands.
    """
    following = f"\n\nNext: {then}" if then else ""
    epilog = f"Example: nephoscope {example}{following}"
    app.command(name, epilog=epilog, rich_help_panel=under or None)(command)
