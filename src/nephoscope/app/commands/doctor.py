"""`nephoscope doctor`: is this machine fit to measure, or to run a study elsewhere?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nephoscope.app.commands.options import MEASURE, AsJson, add_command
from nephoscope.app.console import print_json, print_table, say

if TYPE_CHECKING:
    from nephoscope.machines.doctor import Finding

Examined = Annotated[
    Path | None,
    typer.Argument(metavar="STUDY", help="check what this study needs [default: what all benchmarks need]"),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    add_command(app, doctor, under=MEASURE, example="doctor studies/laptop.toml --folder /mnt/data")


def doctor(
    study: Examined = None,
    folder: Annotated[
        Path, typer.Option("--folder", help="folder where results and data will go; must exist")
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Check whether this machine is fit to measure: governor, steal, foreign load, clock source, free disk, tools.

    Of a study whose machines are elsewhere it checks the disk here, the access to clouds, which it asks for a list of
    the study's machines, and whether an image or address is still an example of the guides. It enters all hosts over
    SSH at once, as `run` does before the first trial, and copies the load generator to them.

    Exit code 3 if something that is needed is missing.
    """
    import asyncio

    from nephoscope.app.stages import planning
    from nephoscope.app.stages.doctor import diagnose, measures_here
    from nephoscope.machines.doctor import diagnosis, require_fit

    planned = None if study is None else planning.plan(planning.read_study(study))
    findings = asyncio.run(diagnose(folder, planned))
    if as_json:
        print_json(findings)
    else:
        _print(findings)
    here = measures_here(planned)
    require_fit(findings, here=here)
    if not as_json:
        say(diagnosis(findings, here=here))


def _print(findings: "list[Finding]") -> None:
    from rich.text import Text

    from nephoscope.machines.doctor import Health

    marks = {
        Health.GOOD: Text("ok", style="green"),
        Health.WARNING: Text("warning", style="yellow"),
        Health.BAD: Text("bad", style="red"),
    }
    print_table(
        ("", "what", "found", "hint"),
        ((marks[finding.health], finding.what, finding.found, finding.hint) for finding in findings),
    )
