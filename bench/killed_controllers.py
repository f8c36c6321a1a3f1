"""What is left when controllers are killed in the middle of faults: `python -m bench.killed_controllers` (root).

A controller is a process of its own, which inflicts a fault on a server of an emulated host and is killed by SIGKILL at
a moment drawn from before its rules or limits are there to the end of the fault. Nobody undoes anything but the hosts.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bench.harness.measure import machine
from bench.harness.sources import ROOT
from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.faults.inflict import KINDS
from nephoscope.benchmarks.faults.kinds import GRACE_S, Fault, State, Victim
from nephoscope.databases.base import Server
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.records import FaultKind
from nephoscope.providers.base import Cluster, ClusterRequest, cluster_of
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration

HOSTS, LASTING_S, PATIENCE_S = 4, 1.0, 120.0
TO_UNDO: tuple[FaultKind, ...] = tuple(
    kind for kind in KINDS if kind not in {"kill", "restart", "rolling-restart", "zone-outage"}
)
"""Servers that were killed or restarted are down at most: whoever takes the machine next starts its own."""
OUT = ROOT / "bench" / "KILLED_CONTROLLERS.md"


class Sleeping(FakeDatabase):
    """A process on each database host, which sleeps in the folder of data."""

    def servers(self, cluster: Cluster) -> Sequence[Server]:
        """One on each."""
        return [Server(one, one.data_dir, ("sleep",), ends_on=signal.SIGTERM) for one in cluster.database]

    async def start_again(self, cluster: Cluster, server: Server) -> None:  # noqa: ARG002 - of `CanRestart`
        """See there."""
        argv = ["env", "-C", server.folder, "sleep", "86400"]
        await server.machine.remote.start(argv, log=Path(os.devnull))


@dataclass(frozen=True)
class Killed:
    """A controller that was killed."""

    kind: FaultKind
    in_force: bool
    """Its fault was there when it was looked for after the kill."""
    left: bool


def request_of(folder: Path) -> ClusterRequest:
    """Of the hosts."""
    node = {"emulated": {"name": "node", "vcpus": 1, "memory_gib": 0.25, "disk_gib": 0.25, "disk_mib_per_s": 100}}
    of = {
        "name": "killed", "provider": "emulated", "database_machine": {"count": HOSTS, **node}, "load_machine": node
    }  # fmt: skip
    return ClusterRequest(f"killed-{folder.name}", Configuration.model_validate(of), folder, trial="t")


def provider() -> EmulatedProvider:
    """Of hosts that outlive who made them."""
    return EmulatedProvider(load_program(), SystemClock())


def victims_of(cluster: Cluster) -> list[Victim]:
    """Every server."""
    database = Sleeping()
    return [Victim(one, "primary", database, cluster, "drawn") for one in database.servers(cluster)]


@dataclass(frozen=True)
class Place:
    """A host, as another process needs it."""

    name: str
    address: str
    data_dir: str

    def reached(self) -> MachineHandle:
        """By whom has not made it."""
        folder = Path(self.data_dir).parent
        key, host_key = folder.parent / "key", (folder / "host_key.pub").read_text(encoding="utf-8")
        address = SshAddress(self.address, user="root", key_file=key, host_key=host_key, user_config=False)
        session = f"controller-{os.getpid()}"
        remote = SshRemote(self.name, address, SystemClock(), cpus=(0,), folder=f"{folder}/ours", session=session)
        return MachineHandle(self.name, remote, self.address, (0,), self.data_dir)


def controller(kind: FaultKind, places: Sequence[Place], host: int, begun: Connection) -> None:
    """Says when it begins to inflict its fault, and waits for its end."""

    async def inflicting() -> None:
        victim = victims_of(cluster_of("killed", [place.reached() for place in places], HOSTS))[host]
        before = await KINDS[kind].look(victim)
        begun.send_bytes(b"now")
        await KINDS[kind].apply(victim, LASTING_S, before)
        await asyncio.sleep(PATIENCE_S)

    asyncio.run(inflicting())


async def killed(kind: FaultKind, host: int, victim: Victim, chance: random.Random) -> Killed:
    """Kills one controller, and waits for the host."""
    fault, before, at_s = KINDS[kind], await KINDS[kind].look(victim), chance.uniform(0, 1.5 * LASTING_S)
    places = [Place(one.name, one.address, one.data_dir) for one in victim.cluster.machines]
    receiving, begun = multiprocessing.Pipe(duplex=False)
    forked = multiprocessing.get_context("forkserver").Process(target=controller, args=(kind, places, host, begun))
    await asyncio.to_thread(forked.start)
    begun.close()
    await asyncio.to_thread(receiving.recv_bytes)
    await asyncio.sleep(at_s)
    forked.kill()
    await asyncio.to_thread(forked.join)
    in_force = not fault.is_over(before, await fault.look(victim))
    await asyncio.sleep(LASTING_S + GRACE_S)
    return Killed(kind, in_force, left=not await _is_healed(fault, victim, before))


async def _is_healed(fault: Fault, victim: Victim, before: State) -> bool:
    """In time."""
    until = asyncio.get_running_loop().time() + PATIENCE_S
    while not fault.is_over(before, await fault.look(victim)):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(0.5)
    return True


async def measured(folder: Path, count: int, seed: int) -> bool:
    """Writes the page after each round; whether anything was left."""
    request, chance, found = request_of(folder), random.Random(seed), list[Killed]()  # noqa: S311 - to be repeated
    left = False
    try:
        victims = victims_of(await provider().create(request))
        for victim in victims:
            await victim.database.start_again(victim.cluster, victim.server)
        at_first = [{kind: await KINDS[kind].look(victim) for kind in TO_UNDO} for victim in victims]
        while len(found) < count:
            kinds = [TO_UNDO[(len(found) + host) % len(TO_UNDO)] for host in range(HOSTS)]
            found += await asyncio.gather(
                *(killed(kind, host, victims[host], chance) for host, kind in enumerate(kinds))
            )
            at_last = [{kind: await KINDS[kind].look(victim) for kind in TO_UNDO} for victim in victims]
            left = at_first != at_last or any(one.left for one in found)
            OUT.write_text(page(found, hosts_differ=at_first != at_last), encoding="utf-8")
            sys.stdout.write(f"{len(found)} killed, {sum(one.left for one in found)} left\n")
            sys.stdout.flush()
    finally:
        await provider().delete(request.key)
    return left


def page(found: Sequence[Killed], *, hosts_differ: bool) -> str:
    """What is written."""
    of_kind, in_force = Counter(one.kind for one in found), Counter(one.kind for one in found if one.in_force)
    left = Counter(one.kind for one in found if one.left)
    rows = [f"| `{kind}` | {of_kind[kind]} | {in_force[kind]} | {left[kind]} |" for kind in TO_UNDO]
    rows.append(f"| all | {of_kind.total()} | {in_force.total()} | {left.total()} |")
    lines, differ = "\n".join(rows), "do not look" if hosts_differ else "look"
    return f"""# Controllers killed in the middle of faults

`python -m bench.killed_controllers` wrote this, on {machine()}.

A controller inflicts a fault of {LASTING_S:g} s on one of {HOSTS} emulated hosts and is killed by SIGKILL, at a moment
drawn from when it begins to inflict it to {1.5 * LASTING_S:g} s later. The hosts alone undo it, {GRACE_S} s after its
end: nothing else heals them. Left is what was still there {PATIENCE_S:g} s later: a stopped process, a rule, a limit. A
fault that was not in force after the kill had not begun, or was over.

| fault | controllers killed | fault in force after the kill | left |
|---|--:|--:|--:|
{lines}

At the end all hosts {differ} as before the first fault: states of processes, tables of rules, limits of disks.
"""


def main() -> int:
    """Returns 1 if anything was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload(["bench.killed_controllers"])
    with tempfile.TemporaryDirectory() as folder:
        return int(asyncio.run(measured(Path(folder), options.kills, options.seed)))


if __name__ == "__main__":
    sys.exit(main())
