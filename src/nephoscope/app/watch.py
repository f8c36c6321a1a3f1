"""`nephoscope status --watch`: how far a study is, drawn again every two seconds."""

import time

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nephoscope.app.console import output
from nephoscope.app.stages import tracking
from nephoscope.app.stages.tracking import StudyProgress
from nephoscope.model.control import State
from nephoscope.model.numbers import money
from nephoscope.model.words import counted, left_in_words
from nephoscope.run.clock import SystemClock
from nephoscope.run.states import STOPS
from nephoscope.store.folder import ResultsFolder

LOOK_S = 2.0
_COLOURS = {State.DONE: "green", State.INVALID: "yellow", State.GAVE_UP: "red", State.PLANNED: "dim"}


def watch(folder: ResultsFolder, clock: SystemClock) -> None:
    """Shows how far a study is until nobody works on the folder, or Ctrl-C."""
    with Live(console=output(), auto_refresh=False) as live:
        while True:
            progress = tracking.progress(folder, clock.unix_ms())
            live.update(_view(folder, progress), refresh=True)
            if not folder.in_use():
                return
            time.sleep(LOOK_S)


def _view(folder: ResultsFolder, progress: StudyProgress) -> Group:
    """One line of counts, and one for each trial that has started and not ended."""
    spent = "" if progress.spent_usd is None else f"; {money(progress.spent_usd)} spent"
    left = f"; {left_in_words(progress.left_s)}" if progress.left_s else ""
    head = Text(f"{progress.ended:,} of {counted(len(progress.states), 'trial')} ended: {progress.words}{left}{spent}")
    table = Table("#", "configuration", "benchmark", "replicate", "state")
    for planned, _ in folder.planned():
        state, intent = progress.states.get(planned.intent.id, State.PLANNED), planned.intent
        if state in STOPS or state is State.PLANNED:
            continue
        name = Text(state, style=_COLOURS.get(state, "cyan"))
        table.add_row(
            str(intent.position), intent.configuration_name, intent.benchmark.name, str(intent.replicate), name
        )
    return Group(head, table) if table.row_count else Group(head)
