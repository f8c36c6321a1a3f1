"""`nephoscope doctor`: is this machine fit to measure?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nephoscope.app.commands.options import MEASURE, AsJson, add_command
from nephoscope.app.console import print_json, print_table, say

if TYPE_CHECKING:
    from nephoscope.machines.doctor import Finding


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    add_command(app, doctor, under=MEASURE, example="doctor --folder /mnt/data")


def doctor(
    folder: Annotated[Path, typer.Option("--folder", help="where results and data will go")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Check whether this machine is fit to measure: governor, steal, foreign load, clock source, free disk, tools."""
    import asyncio

    from rich.text import Text

    from nephoscope.app.stages import doctor as stage
    from nephoscope.machines.doctor import Health

    findings = asyncio.run(stage.doctor(folder))
    if as_json:
        print_json(findings)
        return
    marks = {
        Health.GOOD: Text("ok", style="green"),
        Health.WARNING: Text("warning", style="yellow"),
        Health.BAD: Text("bad", style="red"),
    }
    print_table(
        ("", "what", "found", "hint"),
        ((marks[finding.health], finding.what, finding.found, finding.hint) for finding in findings),
    )
    say(_diagnosis(findings))


def _diagnosis(findings: "list[Finding]") -> str:
    from nephoscope.machines.doctor import Health

    bad = [finding.what for finding in findings if finding.health is Health.BAD]
    warned = [finding.what for finding in findings if finding.health is Health.WARNING]
    if bad:
        return f"not fit yet: {', '.join(bad)}"
    return f"fit, with reservations: {', '.join(warned)}" if warned else "fit to measure"
