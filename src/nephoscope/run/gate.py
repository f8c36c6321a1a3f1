"""Before a trial starts: tools, versions, facts of every machine, a quiet moment, agreeing clocks, space."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.benchmarks.base import Needs
from nephoscope.checks.repeatable import Circumstances, repair_of
from nephoscope.checks.thresholds import BUSY_BEFORE, CLOCK_OFFSET
from nephoscope.machines.foreign import loudest_process
from nephoscope.machines.remote import LOAD, Command, MachineHandle, Tool
from nephoscope.model.errors import MORE_SPACE, ClockOff, NoSpaceOnMachine, ToolMissing, ToolTimedOut
from nephoscope.model.records import (
    CO_LOCATED,
    EMULATED,
    NOT_OBSERVED,
    Disturbance,
    Facts,
    FactsRecord,
    StartedRecord,
    Verdict,
)
from nephoscope.providers.base import Cluster
from nephoscope.run.world import World
from nephoscope.store.attempt import Attempt
from nephoscope.study.address import THIS_MACHINE, server_hosts
from nephoscope.study.model import Configuration
from nephoscope.study.model import Database as DatabaseSettings

DISK_NOT_OBSERVED = "the database's disk was not observed"
"""Stated condition: the server is the user's own, on this machine."""

SETTLE_TRIES = 10
"""Times to observe a busy machine before the trial starts anyway; the checks then judge what was observed."""

LOOK_AGAIN_S = 1.0
"""Wait between looks after these tries, where a repeat waits for a quiet machine."""

VERSION_TIMEOUT_S = 20.0
UNKNOWN_VERSION = "unknown"
"""Of a tool whose version command fails, prints nothing, or does not end."""

_OFF = frozenset({"off", "false", "no", "0"})
_NOT_DURABLE = {
    **dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes", "innodb_doublewrite", "sync_binlog"), _OFF),
    "innodb_flush_log_at_trx_commit": frozenset({"0", "2"}),
}
_EMULATED = "emulated"


async def gate(
    configuration: Configuration,
    cluster: Cluster,
    needs: Needs,
    conditions: Sequence[str],
    attempt: Attempt,
    world: World,
    disturbance: Disturbance | None,
    *,
    quiet_within_s: float = 0.0,
) -> None:
    """Observes the machines and decides whether the benchmark can start on them; `conditions` are its database's.

    A machine that is busy is observed up to ten times, and for at least `quiet_within_s`, before the trial starts
    anyway.

    Raises:
        ToolMissing: a machine lacks a tool that it needs.
        NoSpaceOnMachine: a database machine has too little space for the data.
        ClockOff: load machines cannot start together.
    """
    started = await _started(configuration, cluster, needs, conditions, world)
    attempt.write_started(started.model_copy(update={"disturbance": disturbance}))
    before = await _settled(configuration, cluster, world, quiet_within_s)
    for record in before:
        attempt.write_facts(record)
    by_name = {record.machine: record for record in before}
    for machine in cluster.database:
        await _require_space(machine, by_name[machine.name], needs)
    _require_one_time([by_name[machine.name] for machine in cluster.load_machines])


async def observe(configuration: Configuration, cluster: Cluster, world: World) -> list[tuple[Facts, dict[str, str]]]:
    """Facts of every machine, in their order, with verbatim answers.

    Of all at once; of parts of one machine one after the other, as each would see the others' load.
    """
    if configuration.provider == _EMULATED:
        return [await world.observe(machine) for machine in cluster.machines]
    return list(await asyncio.gather(*(world.observe(machine) for machine in cluster.machines)))


async def _settled(configuration: Configuration, cluster: Cluster, world: World, within_s: float) -> list[FactsRecord]:
    """Facts of every machine once it is quiet, in their order.

    Parts of one machine are observed one after the other. What keeps one of them busy to the end keeps the next one
    busy, too, which is then observed once.
    """
    if configuration.provider != _EMULATED:
        return list(await asyncio.gather(*(_settle(machine, world, within_s) for machine in cluster.machines)))
    found: list[FactsRecord] = []
    busy = False
    for machine in cluster.machines:
        settled = _settle(machine, world, within_s=0.0, at_least=1) if busy else _settle(machine, world, within_s)
        found.append(await settled)
        busy = _busy_share(found[-1].before, machine) > BUSY_BEFORE.value
    return found


async def _settle(machine: MachineHandle, world: World, within_s: float, at_least: int = SETTLE_TRIES) -> FactsRecord:
    """Facts of a machine once it is quiet, or after some tries: the previous trial may still be writing."""
    until_s, tries = world.clock.monotonic_s() + within_s, 0
    while True:
        facts, verbatim = await world.observe(machine)
        busy, tries = _busy_share(facts, machine), tries + 1
        left_s = until_s - world.clock.monotonic_s()
        if busy <= BUSY_BEFORE.value or (tries >= at_least and left_s <= 0):
            return FactsRecord(machine=machine.name, before=facts, verbatim=verbatim)
        at_most = f", for up to {left_s:.0f} s more" if left_s >= 1 else ""
        culprit = await loudest_process(machine)
        why = f"{culprit} on {machine.name}" if culprit else f"{machine.name} is {busy:.0%} busy"
        world.listener.value(f"waiting for quiet: {why}{at_most}")
        if tries >= at_least:
            await world.clock.sleep(min(LOOK_AGAIN_S, left_s))


def _busy_share(facts: Facts, machine: MachineHandle) -> float:
    """The higher load of the machine and its measured CPUs, as the check will see it; no wait if it is not known."""
    names = [f"cpu{cpu}" for cpu in machine.cpus]
    measured = [facts.busy_share_by_cpu[name] for name in names if name in facts.busy_share_by_cpu]
    return max(facts.busy_share or 0.0, sum(measured) / len(measured) if measured else 0.0)


async def _started(
    configuration: Configuration, cluster: Cluster, needs: Needs, conditions: Sequence[str], world: World
) -> StartedRecord:
    """What is actually started; a missing tool is found here, before anything is prepared."""
    database = {} if cluster.managed else {"database": cluster.database[0].name}
    more = {f"load {number}": machine.name for number, machine in enumerate(cluster.more_load, start=2)}
    return StartedRecord(
        at_unix_ms=world.clock.unix_ms(),
        nephoscope_version=world.version,
        machines={**database, "load": cluster.load.name, **more},
        measured_cpus={handle.name: [f"cpu{cpu}" for cpu in handle.cpus] for handle in cluster.machines},
        tool_versions={"nephoscope": world.version, **await _versions(cluster, needs, world)},
        conditions=[*([EMULATED] if configuration.provider == _EMULATED else []), *conditions],
    )


async def _versions(cluster: Cluster, needs: Needs, world: World) -> dict[str, str]:
    """Versions of each tool on the machines that need it, with machines whose version differs from the first."""
    versions: dict[str, str] = {}
    for tool in needs.tools:
        first, *others = needs.users(cluster)
        said = await asyncio.gather(*(_version(tool, machine, world) for machine in (first, *others)))
        versions[tool.name] = said[0]
        pairs = zip(others, said[1:], strict=True)
        versions |= {f"{tool.name} on {machine.name}": other for machine, other in pairs if other != said[0]}
    return versions


async def _version(tool: Tool, machine: MachineHandle, world: World) -> str:
    """The first line that its version command prints; what a command says that fails is an error and no version."""
    program = world.load_program if tool == LOAD else tool.name
    asking = Command([program, *tool.version_argv], timeout_s=VERSION_TIMEOUT_S, pinned=False)
    try:
        said = await machine.remote.execute(asking)
    except ToolMissing as error:
        raise ToolMissing(error.message, hint=error.hint or tool.install_hint) from error
    except ToolTimedOut:
        return UNKNOWN_VERSION
    lines = (said.stdout or said.stderr).decode(errors="replace").strip().splitlines()
    return lines[0] if lines and said.exit_code == tool.version_exit_code else UNKNOWN_VERSION


def stated_conditions(database: DatabaseSettings, cluster: Cluster) -> list[str]:
    """What a reader must know about a database trial before reading its numbers."""
    reached = database.dsn is not None and THIS_MACHINE not in server_hosts(database.dsn)
    elsewhere = cluster.managed or reached
    found = [NOT_OBSERVED if elsewhere else CO_LOCATED] if elsewhere or cluster.co_located else []
    found += [DISK_NOT_OBSERVED] if database.dsn is not None and not elsewhere else []
    given = ((name, database.settings.get(name, "").lower(), values) for name, values in _NOT_DURABLE.items())
    off = [f"{name} {value}" for name, value, values in given if value in values]
    return found + ([f"not durable: {', '.join(off)}"] if off else [])


async def _require_space(machine: MachineHandle, record: FactsRecord, needs: Needs) -> None:
    """Rejects a data set that cannot fit; data that an earlier trial left in the data folder is used again.

    Of separate disks only the first is checked: they are alike and share the data.
    """
    free, needed = record.before.disk.free_bytes, needs.disk_bytes // (1 + len(machine.more_data_dirs))
    if free is None or free >= needed:
        return
    used = await machine.remote.execute(Command(["du", "-sb", machine.data_dir], timeout_s=60, pinned=False))
    ours = int(used.stdout.split()[0]) if used.exit_code == 0 and used.stdout.split() else 0
    if free + ours < needed:
        raise NoSpaceOnMachine(
            f"{record.machine} has {free:,} bytes free, but the benchmark needs {needed:,}",
            hint=MORE_SPACE,
        )


def _require_one_time(records: list[FactsRecord]) -> None:
    """Load machines that share a load start at the same time by their clocks."""
    for record in records if len(records) > 1 else ():
        offset_s, bound_s = record.before.clock_offset_s, record.before.clock_offset_bound_s or 0.0
        if offset_s is None or abs(offset_s) + bound_s > CLOCK_OFFSET.value:
            said = (
                "is not known" if offset_s is None else f"is {offset_s:+.3f} s (± {bound_s:.3f} s) off the controller's"
            )
            raise ClockOff(
                f"the clock of {record.machine} {said}, but load machines that start together may be at most "
                f"{CLOCK_OFFSET.value:g} s off",
                hint="set its clock: chronyc makestep, or timedatectl set-ntp true",
            )


PAUSE_AFTER = 3
"""Trials in a row that others disturbed: one or two may be chance."""
PAUSE_S = 120.0
"""How long the next one waits at most, by default."""


@dataclass(frozen=True)
class Streak:
    """The latest trials that one check rejected for work of others on the machine."""

    check: str = ""
    trials: int = 0
    why: str = ""
    """Reason of the last rejection, which names programs."""

    def after(self, verdicts: Sequence[Verdict], where: Circumstances) -> "Streak":
        """With one more trial that ended; one that was not disturbed ends the streak."""
        repair = repair_of(verdicts, where)
        if repair is None or not repair.wait_for_quiet:
            return Streak()
        check = repair.checks[0]
        why = next(str(row.reason) for row in verdicts if row.check == check)
        return Streak(check, self.trials + 1 if check == self.check else 1, why)

    @property
    def is_long(self) -> bool:
        """Another trial now would very likely be rejected, too."""
        return self.trials >= PAUSE_AFTER
