"""Faults of networks and disks on emulated hosts (root): felt there, undone, and healed by the hosts themselves."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from nephoscope.benchmarks.faults.disk import SlowDisk
from nephoscope.benchmarks.faults.inflict import KINDS
from nephoscope.benchmarks.faults.kinds import Fault, Severity, Victim
from nephoscope.benchmarks.faults.network import PartialPartition
from nephoscope.databases.base import Server
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.records import FaultKind
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration

pytestmark = [pytest.mark.root, pytest.mark.slow]
ELSEWHERE: list[FaultKind] = [kind for kind, fault in KINDS.items() if not fault.here]
MIB_PER_S = 4.0
LASTING_S = 60.0


class Sleepers(FakeDatabase):
    """A server of one process on each database machine."""

    def servers(self, cluster: Cluster) -> Sequence[Server]:
        return [Server(one, one.data_dir, ("sleep",), ends_on=signal.SIGTERM) for one in cluster.database]

    async def start_again(self, cluster: Cluster, server: Server) -> None:
        argv = ["env", "-C", server.folder, "sleep", "3600"]
        await server.machine.remote.start(argv, log=Path(os.devnull))


def request_of(folder: Path) -> ClusterRequest:
    machine = {"emulated": {"name": "node", "vcpus": 1, "memory_gib": 0.25, "disk_gib": 0.25, "disk_mib_per_s": 200}}
    of = {"name": "c", "provider": "emulated", "database_machine": {"count": 3, **machine}, "load_machine": machine}
    return ClusterRequest(f"s-{folder.name}", Configuration.model_validate(of), folder, trial="t")


def provider() -> EmulatedProvider:
    return EmulatedProvider("nephoscope-load", SystemClock())


def with_victim(folder: Path, scenario: Callable[[Victim], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        request = request_of(folder)
        try:
            cluster = await provider().create(request)
            database = Sleepers()
            for server in database.servers(cluster):
                await database.start_again(cluster, server)
            await scenario(victim_on(cluster, database))
        finally:
            await provider().delete(request.key)

    asyncio.run(all_of_it())


def victim_on(cluster: Cluster, database: Sleepers) -> Victim:
    first, *_ = database.servers(cluster)
    return Victim(first, "primary", database, cluster, "a seed", Severity(loss_percent=50, disk_mib_per_s=MIB_PER_S))


async def says(machine: MachineHandle, script: str) -> str:
    done = await machine.remote.execute(Command(["sh", "-c", script], timeout_s=120, pinned=False))
    return done.require().stdout.decode().strip()


async def reached(one: MachineHandle, other: MachineHandle) -> int:
    """Of 20 packets that went there and back."""
    said = await says(one, f"ping -q -n -c 20 -i 0.05 -W 1 {other.address} || true")
    return int(said.partition("packets transmitted, ")[2].split()[0])


async def written(victim: Victim) -> bool:
    """Whether its disk takes 4 MiB within two seconds."""
    file = f"{victim.server.folder}/written"
    writing = f"timeout -s KILL 2 dd if=/dev/zero of={file} bs=1M count=4 oflag=direct conv=fsync"
    return await says(victim.server.machine, f"{writing} 2>/dev/null && echo done || true") == "done"


async def felt(kind: FaultKind, victim: Victim) -> bool:
    """Whether it is felt as its kind is; False: everything is as usual."""
    fault, (own, second, third) = KINDS[kind], victim.cluster.database
    if kind == "slow-disk":
        took_s = float(await says(own, f"""
            begin=$(date +%s.%N)
            dd if=/dev/zero of={victim.server.folder}/slow bs=1M count=16 oflag=direct conv=fsync 2>/dev/null
            echo "$(date +%s.%N) $begin" | awk '{{ print $1 - $2 }}'
        """))  # fmt: skip
        return took_s > 16 / MIB_PER_S - 2
    if kind == "stalled-disk":
        return not await written(victim)
    counts = [await reached(own, other) for other in (second, third, victim.cluster.load)]
    assert await reached(second, third) == 20, "others are cut off from each other"
    if kind == "loss":
        return all(0 < count < 20 for count in counts)
    if isinstance(fault, PartialPartition):
        return sorted(counts) == [0, 20, 20]
    return counts == [0, 0, 0]


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_fault_is_felt_on_its_machine_alone_confirmed_and_undone(kind: FaultKind, tmp_path: Path) -> None:
    async def scenario(victim: Victim) -> None:
        fault, before = KINDS[kind], await KINDS[kind].look(victim)
        assert not fault.happened(before, before)
        assert not await felt(kind, victim)
        await fault.apply(victim, LASTING_S, before)
        assert await felt(kind, victim)
        assert fault.happened(before, await fault.look(victim))
        assert not fault.is_over(before, await fault.look(victim))
        for _ in range(2):
            await fault.undo(victim, before)
            assert fault.is_over(before, await fault.look(victim))
        assert not await felt(kind, victim)

    with_victim(tmp_path, scenario)


_DIES = """
import asyncio, os, sys
from pathlib import Path
from tests.e2e.test_faults_on_emulated_hosts import KINDS, Sleepers, provider, request_of, victim_on

async def inflicted():
    kind, folder, seconds = sys.argv[1:]
    victim = victim_on(await provider().create(request_of(Path(folder))), Sleepers())
    before = await KINDS[kind].look(victim)
    await KINDS[kind].apply(victim, float(seconds), before)
    assert not KINDS[kind].is_over(before, await KINDS[kind].look(victim))
    os.kill(os.getpid(), 9)

asyncio.run(inflicted())
"""


async def dies_in(kind: FaultKind, folder: Path, seconds: float) -> None:
    """A controller of its own, which is killed in the middle of a fault."""
    argv = [sys.executable, "-c", _DIES, kind, str(folder), str(seconds)]
    died = await asyncio.to_thread(subprocess.run, argv, check=False)
    assert died.returncode == -signal.SIGKILL


async def until_over(fault: Fault, victim: Victim, before: dict[str, str]) -> None:
    async with asyncio.timeout(120):
        while not fault.is_over(before, await fault.look(victim)):  # noqa: ASYNC110 - a host sends no event
            await asyncio.sleep(0.2)


def test_hosts_heal_by_themselves_when_the_controller_is_killed_in_the_middle_of_a_fault(tmp_path: Path) -> None:
    async def scenario(victim: Victim) -> None:
        for kind in ELSEWHERE:
            before = dict(await KINDS[kind].look(victim))
            await dies_in(kind, tmp_path, 1)
            await until_over(KINDS[kind], victim, before)

    with_victim(tmp_path, scenario)


@pytest.mark.parametrize("kind", ["stalled-disk", "partition"])
def test_deleting_hosts_in_the_middle_of_a_fault_leaves_nothing(kind: FaultKind, tmp_path: Path) -> None:
    async def scenario(victim: Victim) -> None:
        await dies_in(kind, tmp_path, 3_600)
        if kind == "stalled-disk":
            file = f"{victim.server.folder}/waits"
            waiting = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=1", "oflag=direct"]
            await victim.server.machine.remote.start(waiting, log=tmp_path / "log")
            await asyncio.sleep(1)
        await provider().delete(victim.cluster.key)
        assert await provider().list(victim.cluster.key.partition("/")[0]) == []

    with_victim(tmp_path, scenario)


def test_a_slow_disk_keeps_the_limit_that_it_had(tmp_path: Path) -> None:
    async def scenario(victim: Victim) -> None:
        before = await SlowDisk().look(victim)
        assert (before["rbps"], before["wbps"]) == (str(200 * 2**20),) * 2
        await SlowDisk().apply(victim, LASTING_S, before)
        await SlowDisk().undo(victim, before)
        assert await SlowDisk().look(victim) == before

    with_victim(tmp_path, scenario)
