"""What a person sees while a study runs: one live line on a terminal, plain lines elsewhere."""

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from nephoscope.model.records import PlannedTrial, Status, TrialIntent, VerdictKind
from nephoscope.model.words import duration
from nephoscope.run.clock import Clock


class Remaining:
    """Estimates the time left: what the plan expected of the rest, scaled by how the done part went."""

    def __init__(self, expected_s: float) -> None:
        self._left_s = expected_s
        self._done_expected_s = 0.0
        self._done_s = 0.0

    def done(self, expected_s: float, took_s: float) -> None:
        """One trial ended."""
        self._left_s = max(0.0, self._left_s - expected_s)
        self._done_expected_s += expected_s
        self._done_s += took_s

    def more(self, expected_s: float) -> None:
        """One trial was added."""
        self._left_s += expected_s

    @property
    def seconds(self) -> float:
        """Of the rest of the study."""
        scale = self._done_s / self._done_expected_s if self._done_expected_s > 0 else 1.0
        return self._left_s * scale


def _scale(intent: TrialIntent) -> str:
    """` · scaled to 5 %` where it is."""
    scale = float(intent.benchmark.parameters.get("scale", 1))
    return f" · scaled to {100 * scale:g} %" if scale < 1 else ""


class LiveProgress:
    """A `Listener` for people. Use it as a context manager."""

    def __init__(self, console: Console, clock: Clock, planned: int, expected_left_s: float) -> None:
        self._console = console
        self._clock = clock
        self._planned = planned
        self._done = 0
        self._remaining = Remaining(expected_left_s)
        self._task: TaskID | None = None
        self._progress = Progress(
            SpinnerColumn(),
            MofNCompleteColumn(),
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", style="dim", markup=False),
            TextColumn("{task.fields[value]}", style="cyan", markup=False),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def study_started(self, planned: int, finished_before: int) -> None:
        """See `Listener.study_started`."""
        self._planned, self._done = planned, finished_before
        self._task = self._progress.add_task("", total=planned, completed=finished_before, value="", left="")
        if finished_before:
            self._console.print(f"resuming: {finished_before} of {planned} trials are finished already")

    def trial_started(self, trial: PlannedTrial) -> None:
        """See `Listener.trial_started`."""
        self._update(description=_title(trial), value="", left=f"about {duration(self._remaining.seconds)} left")

    def value(self, text: str) -> None:
        """See `Listener.value`."""
        self._update(value=text)

    def trial_again(self, trial: PlannedTrial, reasons: list[str], wait_s: float) -> None:
        """See `Listener.trial_again`."""
        when = f"again in {duration(wait_s)}" if wait_s else "again now"
        self._console.print(f"{_title(trial)}: {when}", markup=False, highlight=False, style="yellow")
        for reason in filter(None, reasons):
            self._console.print(f"    {reason}", style="dim", markup=False, highlight=False)

    def trial_repeated(self, trial: PlannedTrial, why: str) -> None:
        """See `Listener.trial_repeated`."""
        self._planned += 1
        self._remaining.more(trial.expected_duration_s)
        self._update(total=self._planned)
        self._console.print(f"{_title(trial)}: repeated; {why}", markup=False, highlight=False, style="yellow")

    def trial_ended(self, trial: PlannedTrial, status: Status, verdict: VerdictKind | None, reasons: list[str]) -> None:
        """See `Listener.trial_ended`."""
        self._done += 1
        took_s = trial.expected_duration_s if status.duration_s is None else status.duration_s
        self._remaining.done(trial.expected_duration_s, took_s)
        self._update(completed=self._done, left=f"about {duration(self._remaining.seconds)} left")
        said = str(verdict or status.state)
        colour = "green" if verdict is VerdictKind.VALID else "yellow" if verdict else "red"
        left = "" if self._console.is_terminal else f"; about {duration(self._remaining.seconds)} left"
        line = Text(f"[{self._done}/{self._planned}] {_title(trial)}: ")
        line.append(said, style=colour).append(f" after {took_s:.1f} s{left}")
        self._console.print(line, highlight=False)
        for reason in reasons:
            self._console.print(f"    {reason}", style="dim", markup=False, highlight=False)

    def _update(self, **fields: object) -> None:
        if self._task is not None:
            self._progress.update(self._task, **fields)  # type: ignore[arg-type]  # rich takes any field


def _title(trial: PlannedTrial) -> str:
    intent = trial.intent
    what = f"{intent.configuration_name} · {intent.benchmark.name}"
    return f"block {intent.block} · {what} · replicate {intent.replicate}{_scale(intent)}"
