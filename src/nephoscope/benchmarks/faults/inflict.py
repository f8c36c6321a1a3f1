"""Every kind of fault, and inflicting them beside a load: when each began and ended by the load machine's clock.

Whatever stops this, a fault that was applied is undone before it ends. If nephoscope is killed, servers on this machine
end with it, and the machine itself resumes a paused server.
"""

import asyncio
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import TypeAdapter, ValidationError

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.faults.disk import SlowDisk, StalledDisk
from nephoscope.benchmarks.faults.kinds import (
    GRACE_S,
    USUAL_SEVERITY,
    Fault,
    Kill,
    Pause,
    Restart,
    Severity,
    State,
    Victim,
)
from nephoscope.benchmarks.faults.network import Loss, OneWayPartition, PartialPartition, Partition
from nephoscope.benchmarks.faults.outages import USUAL
from nephoscope.benchmarks.faults.several import RollingRestart, ZoneOutage
from nephoscope.benchmarks.load.contract import Interval
from nephoscope.databases.base import CanRestart, HasFailover
from nephoscope.machines.remote import Command
from nephoscope.machines.shielded import to_its_end
from nephoscope.model.errors import DatabaseFailed, InputError, NephoscopeError, OutputUnreadable
from nephoscope.model.records import FaultKind, InflictedFault, ServerRole, VictimRule
from nephoscope.model.sentence import NO_SENTENCE, Sentence

KINDS: Mapping[FaultKind, Fault] = MappingProxyType(
    {
        "kill": Kill(),
        "pause": Pause(),
        "restart": Restart(),
        "rolling-restart": RollingRestart(),
        "zone-outage": ZoneOutage(),
        "slow-disk": SlowDisk(),
        "stalled-disk": StalledDisk(),
        "partition": Partition(),
        "partial-partition": PartialPartition(),
        "one-way-partition": OneWayPartition(),
        "loss": Loss(),
    }
)


FAULTS = "faults.json"
"""Name of the raw file: those that were inflicted, in order of time."""
_RECORDS = TypeAdapter(list[InflictedFault])
LOOK_EVERY_S = 0.2
"""Between two questions whether copies are complete."""
_CLOCK = Command(["date", "+%s%3N"], timeout_s=60, pinned=False)


@dataclass(frozen=True)
class Schedule:
    """Faults of one kind, one after another. Times are in seconds since the load started."""

    kind: FaultKind
    count: int
    first_s: float
    lasting_s: float
    rest_s: float
    """After each, before the next baseline; at most that, with `until_healthy`."""
    baseline_s: float
    until_healthy: bool = False
    """A rest ends once copies are complete and clients have their rate."""
    victim: VictimRule = "primary"
    severity: Severity = USUAL_SEVERITY

    @property
    def cycle_s(self) -> float:
        """A baseline, a fault, a rest."""
        return self.baseline_s + self.lasting_s + self.rest_s

    @property
    def end_s(self) -> float:
        """When the last rest ends, at the latest."""
        return self.first_s - self.baseline_s + self.count * self.cycle_s


@dataclass
class LoadClock:
    """When the load started, by this process's clock, as its first interval tells; and whether it keeps its pace."""

    now: Callable[[], float] = field(default_factory=lambda: asyncio.get_running_loop().time)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    origin_s: float = 0.0
    kept_since_s: float | None = None
    """Begin of the latest interval in which as much ended as was due."""

    def take(self, interval: Interval) -> None:
        """An interval that has just ended."""
        if not self.begun.is_set():
            self.origin_s = self.now() - interval.end_s
            self.begun.set()
        ended, due = sum(interval.ended_per_100_ms), interval.offered or 0
        if USUAL * due <= ended <= due / USUAL:
            self.kept_since_s = interval.start_s

    @property
    def at_s(self) -> float:
        """Seconds since the load started."""
        return self.now() - self.origin_s

    async def until(self, at_s: float) -> None:
        """Waits for a moment of the load."""
        await self.begun.wait()
        await asyncio.sleep(at_s - self.at_s)


async def victim_of(site: Site, schedule: Schedule, number: int = 1) -> Victim:
    """The server that a fault hits: one of those with the role, drawn by the trial's seed and the fault's number.

    Raises:
        InputError: nephoscope has started none with that role which it could start again.
        ToolFailed, ToolTimedOut: a server does not tell its role.
    """
    database = site.database
    if database is None or not isinstance(database, CanRestart) or not (servers := database.servers(site.cluster)):
        raise InputError(
            "a fault needs a server that nephoscope starts itself and can start again",
            hint="use a configuration whose `system` is postgres or valkey, without `dsn`",
        )
    roles: Sequence[ServerRole] = ("primary",)
    if isinstance(database, HasFailover):
        roles = await database.roles(site.cluster)
    found = [(server, role) for server, role in zip(servers, roles, strict=False) if schedule.victim in {role, "any"}]
    if not found:
        raise InputError(
            f"the fault should hit a {schedule.victim}, but no server that nephoscope started is one",
            hint="set `replicas` in `database`, or another `victim` in the benchmark's parameters",
        )
    chance = f"nephoscope/victim/{site.seed}/{number}"
    drawn = random.Random(chance).choice(found)  # noqa: S311 - to be repeated
    return Victim(*drawn, database, site.cluster, chance, schedule.severity)


async def inflict(site: Site, schedule: Schedule, clock: LoadClock) -> None:
    """Inflicts every fault when it is due; leaves `FAULTS`. None is inflicted while a copy is incomplete.

    Raises:
        DatabaseFailed: a server did not come back.
        MachineLost: a machine went away.
    """
    found, due_s = list[InflictedFault](), schedule.first_s
    for number in range(1, schedule.count + 1):
        await clock.until(due_s)
        victim = await victim_of(site, schedule, number)
        of = f"fault {number} of {schedule.count}"
        site.progress(f"{of}: {schedule.kind} on {victim.server.machine.name}, a {victim.role}")
        before, begin_unix_ms = await KINDS[schedule.kind].look(victim), await _unix_ms(site)
        try:
            fault = await _inflicted(site, schedule, victim, before, begin_unix_ms)
        except DatabaseFailed as error:  # it happened, and costs clients what it costs
            now_unix_ms, problem = await _unix_ms(site), Sentence(error.message)
            _note(site, [*found, _fault(schedule, victim, begin_unix_ms, now_unix_ms, now_unix_ms, problem=problem)])
            raise
        fault = await _rested(site, schedule, victim, fault, clock, due_s + schedule.lasting_s + schedule.rest_s)
        found.append(fault)
        _note(site, found)
        due_s = clock.at_s + max(schedule.baseline_s, GRACE_S + 1)  # a machine may still undo the last one by itself
        if fault.complete_unix_ms is None or due_s + schedule.lasting_s > schedule.end_s:
            return


def _note(site: Site, found: Sequence[InflictedFault]) -> None:
    (site.raw_dir / FAULTS).write_bytes(_RECORDS.dump_json(list(found)) + b"\n")


def inflicted(raw: RawOutput) -> list[InflictedFault]:
    """As they were noted; none if there was none.

    Raises:
        OutputUnreadable: the notes are damaged.
    """
    try:
        return _RECORDS.validate_json(raw.get(FAULTS, b"[]"))
    except ValidationError as error:
        raise OutputUnreadable(f"{FAULTS} is damaged: {error.errors()[0]['msg']}") from error


async def _inflicted(
    site: Site, schedule: Schedule, victim: Victim, before: State, begin_unix_ms: float
) -> InflictedFault:
    fault, now = KINDS[schedule.kind], asyncio.get_running_loop().time
    begin_s = now()
    confirmed, problem = False, NO_SENTENCE
    try:
        await fault.apply(victim, schedule.lasting_s, before)
        confirmed = await _happened(fault, victim, before, begin_s + schedule.lasting_s / 2)
        await asyncio.sleep(begin_s + schedule.lasting_s - now() if fault.lasts else 0)
    except DatabaseFailed:
        raise
    except NephoscopeError as error:  # the trial is unknown, and goes on
        problem = Sentence(error.message)
    finally:
        lifted_unix_ms = await to_its_end(_undone(site, fault, victim, before))
    end_unix_ms, after = await _unix_ms(site), await fault.look(victim)
    undone = fault.is_over(before, after)
    return _fault(schedule, victim, begin_unix_ms, lifted_unix_ms, end_unix_ms, confirmed, undone, problem)


def _fault(
    schedule: Schedule,
    victim: Victim,
    begin_unix_ms: float,
    lifted_unix_ms: float,
    end_unix_ms: float,
    confirmed: bool = False,
    undone: bool = False,
    problem: Sentence = NO_SENTENCE,
) -> InflictedFault:
    return InflictedFault(
        kind=schedule.kind,
        victim=victim.server.machine.name,
        rule=schedule.victim,
        role=victim.role,
        begin_unix_ms=begin_unix_ms,
        lifted_unix_ms=lifted_unix_ms,
        end_unix_ms=end_unix_ms,
        confirmed=confirmed,
        undone=undone,
        problem=problem,
    )


async def _rested(
    site: Site, schedule: Schedule, victim: Victim, fault: InflictedFault, clock: LoadClock, ends_s: float
) -> InflictedFault:
    """The fault with when copies were complete, once the rest after it is over.

    Where they are not at its end, it is longer, as long as there is time for another fault.
    """
    complete_unix_ms, complete_s = None, math.inf
    latest_s = max(ends_s, schedule.end_s - schedule.baseline_s - schedule.lasting_s)
    while True:
        if complete_unix_ms is None and await victim.is_complete():
            complete_unix_ms, complete_s = await _unix_ms(site), clock.at_s
        healthy = clock.kept_since_s is not None and clock.kept_since_s >= complete_s
        if clock.at_s >= (latest_s if complete_unix_ms is None else ends_s) or (healthy and schedule.until_healthy):
            break
        await asyncio.sleep(min(LOOK_EVERY_S, max(0.0, ends_s - clock.at_s)) or LOOK_EVERY_S)
    rested_unix_ms = await _unix_ms(site)
    return fault.model_copy(update={"complete_unix_ms": complete_unix_ms, "rested_unix_ms": rested_unix_ms})


async def _happened(fault: Fault, victim: Victim, before: State, until_s: float) -> bool:
    """Whether its machine shows it, at once or until then: that packets were dropped shows once some were sent."""
    while not fault.happened(before, await fault.look(victim)):
        if asyncio.get_running_loop().time() > until_s:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True


async def _undone(site: Site, fault: Fault, victim: Victim, before: State) -> float:
    """When that began. A clock that cannot be read must not keep a server from being resumed."""
    try:
        return await _unix_ms(site)
    finally:
        await fault.undo(victim, before)


async def _unix_ms(site: Site) -> float:
    """By the clock of the load machine, whose output has the effects."""
    said = (await site.cluster.load.remote.execute(_CLOCK)).require().stdout
    return float(said)
