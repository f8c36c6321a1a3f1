"""Arguments and options that several commands share, and how a command joins the command line."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from nephoscope.app.console import say_document
from nephoscope.model.errors import EXIT_OK

MEASURE = "Measure"
RESULTS = "Look at results"
OTHERS = "Results and prices from elsewhere"
"""Headings in `nephoscope --help`."""

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="study file (TOML); `nephoscope init` writes one")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="results folder, as written by `run --out`")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="results folder [default: results/<study>]")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]
JunitFile = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="also write the verdicts as JUnit XML, for CI servers")
]
PrometheusFile = Annotated[
    Path | None,
    typer.Option(
        "--prometheus", metavar="FILE", help="also write the ratios as Prometheus text, for its textfile collector"
    ),
]


class Command(typer.core.TyperCommand):
    """Help in a reader's words: what a value stands for, not its type in Python, and a range without a formula."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """See `TyperCommand`."""
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                records[param.param_type_name].append((_named(record[0]), _ranged(record[1])))
        for heading, rows in (("Arguments", records["argument"]), ("Options", records["option"])):
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


_VALUES = {"int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER", "path": "PATH", "str": "TEXT"}
_TYPE = re.compile(r" <(?:list\[)?([^<>\]]+)\]?>$")
_BETWEEN = re.compile(r"([\d.]+)<=x<=([\d.]+)")
_AT_LEAST = re.compile(r"x>=([\d.]+)")


def _named(term: str) -> str:
    """'--port N' for '--port <int range>', '--format table|csv' for '--format <table|csv>'; an argument has its name.

    An argument, in capitals, says already what it stands for.
    """
    if not term.startswith("-"):
        return _TYPE.sub("", term)
    return _TYPE.sub(lambda found: f" {_VALUES.get(found[1], found[1])}", term)


def _ranged(text: str) -> str:
    """'at least 1' for 'x>=1'."""
    return _AT_LEAST.sub(r"at least \1", _BETWEEN.sub(r"from \1 to \2", text))


class Group(typer.core.TyperGroup):
    """Lists commands under the headings of their groups. Typer does that with Rich only, which takes time to load.

    Without arguments it prints its help, which is no error.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `TyperGroup`."""
        if not args and not ctx.resilient_parsing:
            say_document(ctx.get_help())
            ctx.exit(EXIT_OK)
        return list(super().parse_args(ctx, args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """See `TyperGroup`."""
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        for heading in dict.fromkeys(_heading(command) for _, command in commands):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(_WHOLE))
                        for name, command in commands
                        if _heading(command) == heading
                    ]
                )


_WHOLE = 200
"""Maximum length of a command's summary; longer than any summary we have, so that none is cut."""


def _heading(command: Any) -> str:
    """The heading under which a command is listed."""
    return str(getattr(command, "rich_help_panel", None) or "Commands")


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    *,
    example: str,
    more: Sequence[str] = (),
    then: str = "",
    name: str | None = None,
    under: str = "",
) -> None:
    """Adds a command whose help ends with an example and with what to do next.

    Args:
        app: the command line, or a group of commands.
        command: a function whose arguments say what it takes.
        example: a command line, without `nephoscope`.
        more: further command lines.
        then: what to do next.
        name: of the command, where it is not the function's.
        under: the heading in the list of commands.
    """
    following = f"\n\nNext: {then}" if then else ""
    examples = "\n\n".join(f"Example: nephoscope {one}" for one in (example, *more))
    epilog = f"{examples}{following}"
    app.command(name, cls=Command, epilog=epilog, rich_help_panel=under or None)(command)
