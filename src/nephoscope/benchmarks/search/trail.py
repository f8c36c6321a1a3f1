"""Runs a search on a site and stores every level, so that the search can be repeated from raw output."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import Field, ValidationError

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.benchmarks.load.spec import LoadSpec
from nephoscope.benchmarks.search.levels import Ask, Ended, Point, Purpose
from nephoscope.benchmarks.search.machine import State, advance
from nephoscope.benchmarks.search.sustained import look
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.seeds import derive_seed

CONDITIONS = "search.json"
"""Name of the raw file that says where the search took place."""

_LONGEST_DOUBLINGS = 5
"""Of the pause after a point that says nothing."""

Measure = Callable[[Ask, str], Awaitable[Point]]
"""Measures a level, with its raw output under this name."""


class Conditions(Frozen):
    """Where a search took place, as far as its judgements rest on it."""

    schema_: Literal["nephoscope/search/1"] = Field(default="nephoscope/search/1", alias="schema")
    co_located: bool = Field(description="client and server may use the same CPUs")


def note_conditions(site: Site) -> Conditions:
    """Of this site; written to `CONDITIONS`."""
    conditions = Conditions(co_located=site.cluster.shares_cpus)
    text = conditions.model_dump_json(by_alias=True)
    (site.raw_dir / CONDITIONS).write_text(text + "\n", encoding="utf-8")
    return conditions


def conditions_of(raw: RawOutput) -> Conditions:
    """As they were noted.

    Raises:
        OutputUnreadable: they were not, or are damaged.
    """
    try:
        return Conditions.model_validate_json(raw.get(CONDITIONS, b""))
    except ValidationError as error:
        raise OutputUnreadable(f"{CONDITIONS} is missing or damaged: {error.errors()[0]['msg']}") from error


async def searched(site: Site, state: State, measure: Measure, *, settle_s: float, unit: str) -> State:
    """Carries a search to its end. `unit` follows a level: '/s', ' warehouses'."""
    while isinstance(state.next, Ask):
        ask = state.next
        known = _so_far(state, unit)
        site.progress(f"point {len(state.points) + 1}: {ask.level:,.0f}{unit}, {ask.purpose}{known}")
        await asyncio.sleep(settle_s * 2 ** min(_void_in_a_row(state), _LONGEST_DOUBLINGS))
        name, looks = _name(len(state.points)), ask.purpose is Purpose.CONFIRM
        if looks:
            await look(site, name, "before", time.monotonic())
        point = await measure(ask, name)
        if looks:
            await look(site, name, "after", time.monotonic())
        state = advance(state, point)
    site.progress(f"{state.next.outcome}: {state.next.reason}")
    return state


class _Point(Protocol):
    """A point with what was seen of it, as each search has its own."""

    @property
    def ask(self) -> Ask: ...
    @property
    def output(self) -> LoadOutput: ...
    @property
    def held(self) -> bool: ...
    @property
    def point(self) -> Point: ...


Observed = TypeVar("Observed", bound=_Point)


@dataclass(frozen=True)
class Search(Generic[Observed]):
    """A search as recorded in its raw output."""

    state: State
    measured: tuple[Observed, ...]
    """Every point."""
    unit: str

    @property
    def points(self) -> tuple[Observed, ...]:
        """Those that say something: see `Point.void`."""
        return tuple(one for one in self.measured if not one.point.void)

    @property
    def void(self) -> int:
        """Number of the others."""
        return len(self.measured) - len(self.points)

    @property
    def ended(self) -> Ended:
        """Its result.

        Raises:
            OutputUnreadable: it was not finished.
        """
        if isinstance(self.state.next, Ask):
            level = f"{self.state.next.level:g}{self.unit}"
            raise OutputUnreadable(f"the search did not finish: its next level would have been {level}")
        return self.state.next

    @property
    def decisive(self) -> list[Observed]:
        """The points that the result rests on: confirmations of the level found; where none was, what held at all."""
        level = self.ended.level
        confirmed = [one for one in self.points if (one.ask.purpose, one.ask.level) == (Purpose.CONFIRM, level)]
        return confirmed or [one for one in self.points if one.held] or list(self.measured[-1:])

    @property
    def others(self) -> list[LoadOutput]:
        """The outputs of the points that only led there, without those that say nothing."""
        decisive = self.decisive
        return [one.output for one in self.points if one not in decisive]

    @property
    def joined(self) -> LoadOutput:
        """The outputs of the decisive points, as one."""
        return load_output.joined([one.output for one in self.decisive])


def made_again(
    raw: RawOutput,
    state: State,
    level_of: Callable[[LoadOutput], float | None],
    judge: Callable[[Ask, LoadOutput], Observed],
    unit: str,
) -> Search[Observed]:
    """Repeats a search from its raw output; pure.

    Args:
        raw: of the trial.
        state: as it began.
        level_of: where an output was measured; None: at no level.
        judge: who says whether a level holds.
        unit: follows a level.

    Raises:
        OutputUnreadable: points are missing, damaged, or are not those that this version would have asked for.
    """
    points: list[Observed] = []
    while f"{_name(len(points))}.stdout" in raw:
        output = output_of(raw, _name(len(points)))
        points.append(judge(_asked_for(state, level_of(output), unit), output))
        state = advance(state, points[-1].point)
    return Search(state, tuple(points), unit)


def output_of(raw: RawOutput, name: str) -> LoadOutput:
    """What the load generator left under a name.

    Raises:
        OutputUnreadable: nothing, or something damaged.
    """
    return load_output.read(raw.get(f"{name}.stdout", b""))


def _asked_for(state: State, measured: float | None, unit: str) -> Ask:
    """What the search wants next, where this level was measured.

    Raises:
        OutputUnreadable: it wants nothing, or another level.
    """
    if isinstance(state.next, Ended) or measured != state.next.level:
        wanted = f"ended with {state.next.outcome}" if isinstance(state.next, Ended) else f"{state.next.level:g}{unit}"
        raise OutputUnreadable(
            f"point {len(state.points) + 1} was measured at {measured}{unit}, but this version's search expected: "
            f"{wanted}",
            hint="another version of the search measured these points: run the trial again",
        )
    return state.next


def spec_for(ask: Ask, name: str, spec: LoadSpec, threads: int) -> LoadSpec:
    """The spec of the point with this name.

    Each point has its own seed: if it repeated the operations of the one before, it would find their rows in memory and
    insert the same rows again. The larger client has twice the threads; only confirmations check the data afterwards.
    """
    client = {"threads": min(2 * threads, spec.connections)} if ask.purpose is Purpose.LARGER_CLIENT else {}
    check = {} if ask.purpose is Purpose.CONFIRM else {"check": "none"}
    return spec.model_copy(update={"seed": derive_seed(spec.seed, name), **client, **check})


def threads_of(output: LoadOutput) -> int:
    """Of the load generator, as it chose."""
    return max((len(interval.client.threads) for interval in output.measured), default=1) or 1


def _void_in_a_row(state: State) -> int:
    """Points at the end that said nothing: each doubles the pause, so that a neighbour's burst can pass."""
    return next((back for back, point in enumerate(reversed(state.points)) if not point.void), len(state.points))


def _name(index: int) -> str:
    return f"point-{index + 1:03d}"


def _so_far(state: State, unit: str) -> str:
    ends: Sequence[tuple[str, float | None]] = (("holds", state.low), ("fails", state.high))
    known = [f"{level:,.0f}{unit} {word}" for word, level in ends if level is not None]
    return f" ({', '.join(known)})" if known else ""
