"""What a person sees while a study runs: one live line on a terminal, plain lines elsewhere."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nephoscope.app.remaining import Remaining
from nephoscope.machines.doctor import Health, HostFindings
from nephoscope.model.numbers import duration
from nephoscope.model.records import PlannedTrial, Status, TrialIntent, VerdictKind
from nephoscope.model.text import line
from nephoscope.model.words import counted, left_in_words
from nephoscope.run.clock import Clock

_MARKS = {
    Health.GOOD: Text("ok", style="green"),
    Health.WARNING: Text("warning", style="yellow"),
    Health.BAD: Text("bad", style="red"),
}
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURNS_PER_S = 4
_MIN_TITLE = 12
"""Characters of a title that remain beside a long value."""


@dataclass(frozen=True)
class View:
    """What the live line shows at one moment."""

    ended: int
    planned: int
    title: str
    """What runs: 'all-cpus · tpcc'; empty: nothing."""
    value: str
    """What was last seen in it: '12,345 operations/s'."""
    spent: str
    """How far it is: '43 s of 77 s'."""
    left_s: float
    may_stop: bool = False
    """The study may end before its last block: `left_s` is the most that is left."""


def live_line(view: View, width: int, turn: int = 0) -> str:
    """One line of at most `width` characters: what runs, how far it is, and the time left.

    If there is too little room, it first omits how far the trial is, then shortens its name, then the value.
    """
    head = f"{_SPINNER[turn % len(_SPINNER)]} {view.ended}/{view.planned} "
    at_most = "at most " if view.may_stop else ""
    tail = f"  {at_most}{duration(round(view.left_s))} left" if view.left_s >= 1 else "  almost done"
    room = max(0, width - len(head) - len(tail))
    value = f": {view.value}" if view.value else ""
    whole = f"{view.title}{value}"
    middle = (
        f"{whole}, {view.spent}" if view.value and view.spent else whole + (f": {view.spent}" if view.spent else "")
    )
    if len(middle) > room:
        middle = whole
    if len(middle) > room:
        middle = _cut(view.title, max(_MIN_TITLE, room - len(value))) + value
    return f"{head}{_cut(middle, room).ljust(room)}{tail}"[:width]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: max(0, length - 1)].rstrip()}…"[:length]


class LiveProgress:
    """A `Listener` for people. Use it as a context manager."""

    def __init__(self, console: Console, clock: Clock, remaining: Remaining, *, may_stop: bool = False) -> None:
        """Draws nothing yet.

        Args:
            console: where.
            clock: for the time left.
            remaining: what is left of the study.
            may_stop: the study may end before its last block.
        """
        self._console = console
        self._clock = clock
        self._planned = 0
        self._done = 0
        self._remaining = remaining
        self._may_stop = may_stop
        self._running: list[PlannedTrial] = []
        self._value = ""
        self._loading = False
        self._live = Live(
            console=console,
            refresh_per_second=_TURNS_PER_S,
            transient=True,
            get_renderable=self._draw,
            auto_refresh=console.is_terminal,
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def hosts_examined(self, hosts: Sequence[HostFindings]) -> None:
        """See `Listener.hosts_examined`: a table if there is something to do, else a line."""
        troubled = [host for host in hosts if host.of(Health.BAD) or host.of(Health.WARNING)]
        if not troubled:
            self._say(f"{counted(len(hosts), 'host fits', 'hosts fit')}")
            return
        table = Table("", "host", "found", "hint")
        for host in hosts:
            findings = host.of(Health.BAD) or host.of(Health.WARNING)
            mark = _MARKS[findings[0].health if findings else Health.GOOD]
            found = "\n".join(line(f"{finding.what}: {finding.found}") for finding in findings or host.findings[:1])
            hints = "\n".join(dict.fromkeys(line(finding.hint) for finding in findings if finding.hint))
            table.add_row(mark, *map(Text, (line(host.host), found, hints)))
        self._console.print(table)

    def study_started(self, planned: int, finished_before: int) -> None:
        """See `Listener.study_started`."""
        self._planned, self._done = planned, finished_before
        if finished_before:
            are = "is" if finished_before == 1 else "are"
            self._console.print(f"resuming: {finished_before:,} of {counted(planned, 'trial')} {are} already finished")

    def trial_started(self, trial: PlannedTrial) -> None:
        """See `Listener.trial_started`."""
        self._running.append(trial)
        self._remaining.started(trial, self._clock.monotonic_s())
        self._value = ""

    def notice(self, text: str) -> None:
        """See `Listener.notice`."""
        self._say(text, "yellow")

    def value(self, text: str) -> None:
        """See `Listener.value`."""
        self._value = text

    def loading(self, trial_id: str, share: float | None) -> None:
        """See `Listener.loading`."""
        self._remaining.loading(trial_id, self._clock.monotonic_s(), share)
        self._loading = True
        self._value = "loading its data set" + ("" if share is None else f", {share:.0%}")

    def loaded(self, trial_id: str) -> None:
        """See `Listener.loaded`."""
        self._remaining.loaded(trial_id, self._clock.monotonic_s())
        self._loading, self._value = False, ""

    def trial_again(self, trial: PlannedTrial, reasons: list[str], wait_s: float) -> None:
        """See `Listener.trial_again`."""
        self._stop(trial)
        self._remaining.again(trial)
        when = f"again in {duration(round(wait_s))}" if wait_s else "again now"
        self._say(f"{_title(trial)}: {when}", "yellow")
        for reason in filter(None, reasons):
            self._say(f"    {reason}", "dim")

    def pausing(self, rejected: int, why: str, wait_s: float) -> None:
        """See `Listener.pausing`."""
        self._say(
            f"others disturbed {rejected} trials in a row: the next one waits up to {duration(wait_s)} for a quiet "
            "machine, and then starts anyway. Stop these programs:",
            "yellow",
        )
        self._say(f"    {why}", "dim")

    def trial_repeated(self, trial: PlannedTrial, why: str) -> None:
        """See `Listener.trial_repeated`."""
        self._planned += 1
        self._remaining.again(trial)
        self._say(f"{_title(trial)}: repeated; {why}", "yellow")

    def left_out(self, trials: Collection[str]) -> None:
        """See `Listener.left_out`."""
        self._remaining.left_out(trials)

    def trial_ended(self, trial: PlannedTrial, status: Status, verdict: VerdictKind | None, reasons: list[str]) -> None:
        """See `Listener.trial_ended`."""
        self._done += 1
        self._stop(trial)
        self._remaining.ended(trial, status.duration_s if status.state == "finished" else None)
        took = "" if status.duration_s is None else f" after {status.duration_s:.1f} s"
        said = str(verdict or status.state)
        colour = "green" if verdict is VerdictKind.VALID else "yellow" if verdict else "red"
        left_s = self._remaining.seconds(self._clock.monotonic_s())
        left = "" if self._console.is_terminal else f"; {left_in_words(left_s, may_stop=self._may_stop)}"
        line = Text(f"[{self._done}/{self._planned}] {_title(trial)}: ")
        line.append(said, style=colour).append(f"{took}{left}")
        self._console.print(line, highlight=False)
        for reason in reasons:
            self._say(f"    {reason}", "dim")

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(text, markup=False, highlight=False, style=style)

    def _stop(self, trial: PlannedTrial) -> None:
        self._running = [one for one in self._running if one.intent.id != trial.intent.id]
        self._loading, self._value = False, ""

    def _draw(self) -> Text:
        """The live line of this moment."""
        now_s = self._clock.monotonic_s()
        left_s = self._remaining.seconds(now_s)
        view = View(self._done, self._planned, *self._doing(now_s), left_s=left_s, may_stop=self._may_stop)
        return Text(live_line(view, self._console.width, int(now_s * _TURNS_PER_S)), no_wrap=True)

    def _doing(self, now_s: float) -> tuple[str, str, str]:
        """Title, value and how far, of the trial that started last."""
        if not self._running:
            return "", "", ""
        trial = self._running[-1]
        others = f" and {len(self._running) - 1} more" if len(self._running) > 1 else ""
        title = f"{trial.intent.configuration_name} · {trial.intent.benchmark.name}{others}"
        spent_s, expected_s = self._remaining.spent_s(trial, now_s), self._remaining.expected_s(trial)
        spent = f"{spent_s:.0f} s" + (f" of {expected_s:.0f} s" if spent_s <= expected_s else "")
        return title, self._value, "" if self._loading else spent


def _scale(intent: TrialIntent) -> str:
    """` · scaled to 5 %` where it is."""
    scale = float(intent.benchmark.parameters.get("scale", 1))
    return f" · scaled to {100 * scale:g} %" if scale < 1 else ""


def _title(trial: PlannedTrial) -> str:
    intent = trial.intent
    what = f"{intent.configuration_name} · {intent.benchmark.name}"
    return f"block {intent.block} · {what} · replicate {intent.replicate}{_scale(intent)}"
