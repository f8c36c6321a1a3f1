"""`nephoscope status` and `clean`: how a study stands, and what it left behind. Arguments and wiring, no decisions."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nephoscope.app import fleet as stages_fleet
from nephoscope.app import stages
from nephoscope.app.console import LiveProgress, duration, output, talk
from nephoscope.app.wiring import real_world
from nephoscope.model.errors import CleanupFailed
from nephoscope.model.rows import TrialRow
from nephoscope.run.clock import SystemClock
from nephoscope.run.states import STOPS, State
from nephoscope.store.folder import ResultsFolder

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="a results folder, as `run --out` wrote it")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines instead of a table for people")]
Watch = Annotated[bool, typer.Option("--watch", help="show it again every two seconds, until the study is done")]

LOOK_S = 2.0
_COLOURS = {State.DONE: "green", State.INVALID: "yellow", State.GAVE_UP: "red", State.PLANNED: "dim"}


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command(epilog="Example: nephoscope status results/laptop --json")(status)
    app.command(name="clean", epilog="Example: nephoscope clean results/cluster")(clean)


def status(folder: Folder, as_json: AsJson = False, watch: Watch = False) -> None:
    """Show how far a study is: every trial's state and verdict, time left, dollars spent, from what is stored."""
    stored = ResultsFolder.existing(folder)
    if watch:
        _watch(stored)
        return
    rows = stages.status(stored)
    if as_json:
        sys.stdout.write(json.dumps([row.model_dump(mode="json") for row in rows], indent=1, ensure_ascii=False) + "\n")
        return
    output().print(_table(rows))
    for row in rows:
        for reason in row.reasons if row.state != "planned" else ():
            output().print(f"#{row.position} {reason}", highlight=False, markup=False)
    states = [row.state for row in rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    counting = sum(row.counts for row in rows)
    output().print(f"{len(rows)} trials: {counts}; {counting} count", highlight=False, markup=False)
    progress = stages_fleet.progress(stored, SystemClock().unix_ms())
    if progress.spent_usd is not None:
        output().print(f"${progress.spent_usd:.2f} spent", highlight=False, markup=False)


def _table(rows: list[TrialRow]) -> Table:
    table = Table("#", "configuration", "benchmark", "replicate", "state", "verdict", "attempts")
    for row in rows:
        table.add_row(
            *(str(row.position), row.configuration, row.benchmark, str(row.replicate), row.state),
            *(str(row.verdict or "-"), str(row.attempts)),
        )
    return table


def _watch(folder: ResultsFolder) -> None:
    """Until every trial is at its end, or nobody works on the folder; Ctrl-C ends it too."""
    clock = SystemClock()
    with Live(console=output(), auto_refresh=False) as live:
        while True:
            progress = stages_fleet.progress(folder, clock.unix_ms())
            live.update(_view(folder, progress), refresh=True)
            if progress.ended == len(progress.states) or not folder.in_use():
                return
            time.sleep(LOOK_S)


def _view(folder: ResultsFolder, progress: stages_fleet.StudyProgress) -> Group:
    """One line of counts, and one for each trial that is neither planned nor at its end."""
    spent = "" if progress.spent_usd is None else f"; ${progress.spent_usd:.2f} spent"
    left = f"; about {duration(progress.left_s)} left" if progress.left_s else ""
    head = Text(f"{progress.ended} of {len(progress.states)} trials ended: {progress.words}{left}{spent}")
    table = Table("#", "configuration", "benchmark", "replicate", "state")
    for planned, _ in folder.planned():
        state, intent = progress.states[planned.intent.id], planned.intent
        if state in STOPS or state is State.PLANNED:
            continue
        name = Text(state, style=_COLOURS.get(state, "cyan"))
        table.add_row(
            str(intent.position), intent.configuration_name, intent.benchmark.name, str(intent.replicate), name
        )
    return Group(head, table) if table.row_count else Group(head)


def clean(folder: Folder) -> None:
    """Give back every machine that a study left at its providers, found by its tags. Exit code 3 when some are left."""
    stored = ResultsFolder.existing(folder)
    with stored.lock(), LiveProgress(talk(), SystemClock(), 0, 0.0) as progress:
        found = asyncio.run(stages_fleet.clean_up(stored, real_world(progress)))
    for key in found.terminated:
        output().print(f"gave back {key}", highlight=False, markup=False)
    output().print(
        f"{stages_fleet.created(stored)} clusters created, {len(found.terminated)} terminated now, "
        f"{len(found.left)} left",
        highlight=False,
        markup=False,
    )
    if found.left:
        raise CleanupFailed(
            f"these clusters could not be deleted: {', '.join(found.left)}",
            hint="look at the provider's console: they may cost money",
        )
    if found.unreachable:
        raise CleanupFailed(
            f"what was left there may still run: {'; '.join(found.unreachable)}",
            hint="clean again when they answer; what runs there ends by its deadline, or when the next study begins",
        )
