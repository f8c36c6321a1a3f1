"""The command line: its groups of commands, and how it ends. Imports no stage: each command loads what it uses."""

import atexit
import gc
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

import nephoscope
from nephoscope.app.commands import (
    compare,
    doctor,
    first_run,
    fleet,
    imports,
    parse_output,
    place,
    prices,
    results,
    serve,
    study,
    types,
)
from nephoscope.app.commands.options import Group
from nephoscope.app.console import say, tell, tell_lines
from nephoscope.app.limits import lacking, limits, low, require_enough
from nephoscope.model.errors import (
    EXIT_DEFECT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    STORAGE_ERRNOS,
    InputError,
    Move,
    NephoscopeError,
    Stopped,
    StorageFailed,
)
from nephoscope.model.words import without_kind

COMMANDS = (study, first_run, fleet, doctor, results, compare, serve, parse_output, imports, types, place, prices)
"""Modules with a `register`, in the order of `--help`. A new module of commands: one file beside them, and here."""

HELP = """
Find out which cloud machine your database should run on, what it costs, and how sure that is.

A study file says what to compare. `plan` shows the cost, `run` measures, `report` writes the conclusions.
"""

EPILOG = """
Start here: `nephoscope demo` measures this machine; `nephoscope init FILE` writes a study to edit;
`nephoscope init --compare shared_buffers=128MB,1GB` writes one that compares a setting.

Exit codes: 0 done · 1 a defect in nephoscope · 2 wrong input · 3 something needed is missing or unreachable ·
4 trials failed or could not be read · 5 the results folder is in use · 6 results could not be stored ·
7 a claim does not hold · 8 `compare --fail-if`: worse or not decided; `verify`: stored files altered ·
129/130/143 stopped by SIGHUP/Ctrl-C/SIGTERM (`run` again resumes)
"""


app = typer.Typer(
    cls=Group,
    help=HELP,
    epilog=EPILOG,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,
)
for _module in COMMANDS:
    _module.register(app)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="print the version and exit")] = False) -> None:
    if version:
        say(nephoscope.__version__)
        raise typer.Exit(EXIT_OK)


_COMPLETE = "_NEPHOSCOPE_COMPLETE"
"""Of the environment, when a shell asks how a command line could go on."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    Args:
        arguments: None takes those of this process, which is then expected to end.
    """
    given = sys.argv[1:] if arguments is None else arguments
    command = next(iter(given), "")
    if arguments is None:
        tune_gc(command)
    if _COMPLETE in os.environ:
        os.environ["COLUMNS"] = "10000"  # zsh and fish take each line of a wrapped description for a candidate
    try:
        if "--help" not in given:
            require_enough(command, limits(), os.cpu_count() or 1)
        result = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except NephoscopeError as error:
        return tell_error(error)
    except TyperException as error:
        return tell_error(
            InputError(
                without_kind(error.format_message()), hint="see `nephoscope --help` or `nephoscope COMMAND --help`"
            )
        )
    except (Stopped, KeyboardInterrupt, typer.Abort) as stopped:
        tell("stopped; run the same command again to resume", style="yellow")
        return stopped.exit_code if isinstance(stopped, Stopped) else EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit) as ended:
        return _end_without_reader(ended)
    except BaseException as error:  # a panic of Rust is no Exception
        return _tell_unexpected(error)
    return result if isinstance(result, int) else EXIT_OK


def _end_without_reader(ended: BaseException) -> int:
    """Ends well after `nephoscope plan … | head`, where nobody reads the rest of the output.

    Typer makes that an exit with code 1; any other exit goes on.
    """
    if not isinstance(ended, BrokenPipeError) and not isinstance(ended.__context__, BrokenPipeError):
        raise ended
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's flush at exit is silent, too
    return EXIT_OK


def tell_error(error: NephoscopeError) -> int:
    """Says what happened and what to do next; returns the exit code."""
    from rich.text import Text

    first, *more = error.message.split("\n")
    tell(Text.assemble(("error: ", "bold red"), first))
    for text in more:
        tell(text)
    if error.hint:
        tell(f"hint: {error.hint}")
    if error.move in _WHOSE_MOVE:
        tell(_WHOSE_MOVE[error.move], style="dim")
    return error.exit_code


_WHOSE_MOVE = {
    Move.OURS: "this is a defect in nephoscope: please report it",
    Move.NOBODY: "this is probably temporary: try again later",
}
"""Where the next move is not the reader's; the reader's own move is the hint."""


def _tell_unexpected(error: BaseException) -> int:
    if problem := lacking(error, limits()):
        return tell_error(problem)
    if isinstance(error, OSError) and error.errno in STORAGE_ERRNOS:
        return tell_error(StorageFailed.of(Path(error.filename or "output"), error))
    tell_lines(traceback.format_exc().rstrip())
    if few := low(limits()):
        tell(f"this process is limited, which may be the cause: {', '.join(few)}", style="yellow")
    tell("this is a defect in nephoscope: please report it with the lines above", style="red")
    return EXIT_DEFECT


if __name__ == "__main__":
    sys.exit(main())


ONE_PASS = frozenset({"import", "status", "analyze", "report", "compare"})
"""Commands that read a whole folder and end soon afterwards."""
OBJECTS_BETWEEN_LOOKS, OBJECTS_OF_ONE_PASS = 200_000, 2_000_000
"""By default Python looks for cycles after every 700 new objects. A study has hundreds of thousands of rows, none of
them in a cycle, and the search took a sixth of an analysis."""


def tune_gc(command: str) -> None:
    """Searches seldom; during a command of `ONE_PASS` hardly ever, and not at its end."""
    if command not in ONE_PASS:
        gc.set_threshold(OBJECTS_BETWEEN_LOOKS, 50, 50)
        return
    gc.set_threshold(OBJECTS_OF_ONE_PASS, 50, 50)
    atexit.register(_freeze)


def _freeze() -> None:
    """Exempts all objects from the last search, which took another tenth: the system takes all memory back anyway.

    What is in a cycle is not finalized then. A module that DuckDB's extension defines would be reported as leaked.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
