"""Inflicts faults beside a load, and notes when each began and ended by the load machine's clock.

Whatever stops this, a fault that was applied is undone before it ends. If nephoscope is killed, servers on this machine
end with it, and the machine itself resumes a paused server.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.faults.kinds import KINDS, STOPPED, Fault, Victim
from nephoscope.benchmarks.load.contract import Interval
from nephoscope.databases.base import CanRestart
from nephoscope.machines.remote import Command
from nephoscope.machines.shielded import to_its_end
from nephoscope.model.errors import DatabaseFailed, InputError, NephoscopeError, OutputUnreadable
from nephoscope.model.records import FaultKind, InflictedFault
from nephoscope.model.sentence import NO_SENTENCE, Sentence

FAULTS = "faults.json"
"""Name of the raw file: those that were inflicted, in order of time."""
_RECORDS = TypeAdapter(list[InflictedFault])
_CLOCK = Command(["date", "+%s%3N"], timeout_s=60, pinned=False)


@dataclass(frozen=True)
class Schedule:
    """When faults of one kind are due, in seconds since the load started."""

    kind: FaultKind
    due_s: Sequence[float]
    lasting_s: float


@dataclass
class LoadClock:
    """When the load started, by this process's clock, as its first interval tells."""

    now: Callable[[], float] = field(default_factory=lambda: asyncio.get_running_loop().time)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    origin_s: float = 0.0

    def take(self, interval: Interval) -> None:
        """An interval that has just ended."""
        if not self.begun.is_set():
            self.origin_s = self.now() - interval.end_s
            self.begun.set()

    async def until(self, at_s: float) -> None:
        """Waits for a moment of the load."""
        await self.begun.wait()
        await asyncio.sleep(self.origin_s + at_s - self.now())


def victim_of(site: Site) -> Victim:
    """The first server: a database's only one, its primary, or its first master.

    Raises:
        InputError: nephoscope has started none that it could start again.
    """
    if site.database is None or not isinstance(site.database, CanRestart) or not site.database.servers(site.cluster):
        raise InputError(
            "a fault needs a server that nephoscope starts itself and can start again",
            hint="use a configuration whose `system` is postgres or valkey, without `dsn`",
        )
    return Victim(site.database.servers(site.cluster)[0], site.database, site.cluster)


async def inflict(site: Site, schedule: Schedule, clock: LoadClock) -> None:
    """Inflicts every fault when it is due; leaves `FAULTS`.

    Raises:
        DatabaseFailed: a server did not come back.
        MachineLost: a machine went away.
    """
    victim, found = victim_of(site), list[InflictedFault]()
    for number, due_s in enumerate(schedule.due_s, 1):
        await clock.until(due_s)
        site.progress(f"fault {number} of {len(schedule.due_s)}: {schedule.kind} on {victim.server.machine.name}")
        found.append(await _inflicted(site, schedule, victim))
        (site.raw_dir / FAULTS).write_bytes(_RECORDS.dump_json(found) + b"\n")


def inflicted(raw: RawOutput) -> list[InflictedFault]:
    """As they were noted; none if there was none.

    Raises:
        OutputUnreadable: the notes are damaged.
    """
    try:
        return _RECORDS.validate_json(raw.get(FAULTS, b"[]"))
    except ValidationError as error:
        raise OutputUnreadable(f"{FAULTS} is damaged: {error.errors()[0]['msg']}") from error


async def _inflicted(site: Site, schedule: Schedule, victim: Victim) -> InflictedFault:
    fault, now = KINDS[schedule.kind], asyncio.get_running_loop().time
    before, begin_unix_ms, begin_s = await victim.processes(), await _unix_ms(site), now()
    confirmed, problem = False, NO_SENTENCE
    try:
        confirmed = await _confirmed(fault, victim, before, schedule.lasting_s)
        await asyncio.sleep(begin_s + schedule.lasting_s - now() if fault.lasts else 0)
    except DatabaseFailed:
        raise
    except NephoscopeError as error:  # the trial is unknown, and goes on
        problem = Sentence(error.message)
    finally:
        lifted_unix_ms = await to_its_end(_undone(site, fault, victim))
    end_unix_ms, after = await _unix_ms(site), await victim.processes()
    return InflictedFault(
        kind=schedule.kind,
        victim=victim.server.machine.name,
        begin_unix_ms=begin_unix_ms,
        lifted_unix_ms=lifted_unix_ms,
        end_unix_ms=end_unix_ms,
        confirmed=confirmed,
        undone=bool(after) and STOPPED not in after.values(),
        problem=problem,
    )


async def _confirmed(fault: Fault, victim: Victim, before: Mapping[int, str], lasting_s: float) -> bool:
    await fault.apply(victim, lasting_s)
    return fault.happened(before, await victim.processes())


async def _undone(site: Site, fault: Fault, victim: Victim) -> float:
    """When that began. A clock that cannot be read must not keep a server from being resumed."""
    try:
        return await _unix_ms(site)
    finally:
        await fault.undo(victim)


async def _unix_ms(site: Site) -> float:
    """By the clock of the load machine, whose output has the effects."""
    said = (await site.cluster.load.remote.execute(_CLOCK)).require().stdout
    return float(said)
