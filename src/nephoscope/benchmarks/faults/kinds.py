"""The kinds of fault: each applies itself to a server, says from its processes whether it happened, and is undone.

A server's processes are those of its programs that work in its folder, so that nothing else on the machine is hurt.
The same script finds them on every machine, by whatever way it is reached.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from typing_extensions import override

from nephoscope.databases.base import CanRestart, HasFailover, Server
from nephoscope.machines.remote import Command
from nephoscope.model.records import FaultKind, ServerRole
from nephoscope.providers.base import Cluster

STOPPED = "T"
"""State of a process that a signal has stopped."""
END_TIMEOUT_S = 600
"""For a server to write what it holds in memory."""
GRACE_S = 5
"""So long after it should have been undone, a machine resumes a server by itself."""

_SCRIPT = """
script=$1 action=$2 folder=$3 programs=$4 argument=$5
works_there() { [ "$1/cwd" -ef "$folder" ] || [ "$1/cwd" -ef "$folder/data" ]; }
processes() { # id and state of each
    for each in /proc/[0-9]*; do
        works_there "$each" && read -r program <"$each/comm" || continue
        case " $programs " in *" $program "*) ;; *) continue ;; esac
        while read -r key value _; do
            [ "$key" = State: ] && echo "${each#/proc/} $value" && break
        done <"$each/status"
    done 2>/dev/null
}
signal() { processes | while read -r id _; do kill -s "$1" "$id" 2>/dev/null; done; }
first() { # the one that started the others
    processes | while read -r id _; do
        while read -r key value _; do
            [ "$key" = PPid: ] && break
        done <"/proc/$id/status"
        works_there "/proc/$value" || echo "$id"
    done 2>/dev/null
}
case $action in
look) processes ;;
pause)
    # Whoever started this may be gone by then; while this shell lives, it may still stop processes.
    setsid sh -c '
        sleep "$5"
        tries=600
        while [ $tries -gt 0 ] && kill -0 "$6"; do tries=$((tries - 1)); sleep 0.1; done
        exec sh -c "$1" fault "$1" resume "$3" "$4" -
    ' fault "$@" $$ </dev/null >/dev/null 2>&1 &
    # A process may be started while the others are stopped.
    for _ in 1 2 3; do signal STOP; done
    ;;
resume) signal CONT ;;
kill)
    tries=100
    while [ $tries -gt 0 ] && [ -n "$(processes)" ]; do signal KILL; tries=$((tries - 1)); sleep 0.01; done
    ;;
end)
    # shellcheck disable=SC2046
    kill -s "$argument" $(first)
    tries=$((END_TIMEOUT_S * 20))
    while [ $tries -gt 0 ] && [ -n "$(processes)" ]; do tries=$((tries - 1)); sleep 0.05; done
    ;;
esac
exit 0
""".replace("END_TIMEOUT_S", str(END_TIMEOUT_S))


@dataclass(frozen=True)
class Victim:
    """A server to be hurt."""

    server: Server
    role: ServerRole
    database: CanRestart
    cluster: Cluster

    async def is_complete(self) -> bool:
        """Whether all servers are up and all copies complete; of a database without failover, whether the victim is."""
        if isinstance(self.database, HasFailover):
            return await self.database.is_complete(self.cluster)
        return bool(await self.processes())

    async def act(self, action: str, argument: str = "-") -> str:
        """What the script prints.

        Raises:
            ToolFailed, ToolTimedOut, MachineLost: it did not run to its end.
        """
        of = [_SCRIPT, action, self.server.folder, " ".join(self.server.programs), argument]
        command = Command(["sh", "-c", _SCRIPT, "fault", *of], timeout_s=END_TIMEOUT_S + 60, pinned=False)
        completed = await self.server.machine.remote.execute(command)
        return completed.require().stdout.decode()

    async def processes(self) -> Mapping[int, str]:
        """Its processes with their states, as the kernel writes them."""
        lines = (line.split() for line in (await self.act("look")).splitlines())
        return {int(process): state for process, state in lines}


class Fault(ABC):
    """A kind of fault; stateless."""

    lasts: ClassVar[bool] = True
    """It goes on until it is undone."""

    @abstractmethod
    async def apply(self, victim: Victim, duration_s: float) -> None:
        """Inflicts it. Where the machine can undo it by itself, it does so soon after `duration_s`."""

    @abstractmethod
    def happened(self, before: Mapping[int, str], after: Mapping[int, str]) -> bool:
        """Whether a server's processes show it; pure."""

    @abstractmethod
    async def undo(self, victim: Victim) -> None:
        """Has the server serve again; may be repeated."""


class Pause(Fault):
    """Its processes are stopped by a signal and go on later: a stalled machine, a long collection of garbage."""

    @override
    async def apply(self, victim: Victim, duration_s: float) -> None:
        await victim.act("pause", f"{duration_s + GRACE_S:g}")

    @override
    def happened(self, before: Mapping[int, str], after: Mapping[int, str]) -> bool:
        return bool(before) and before.keys() <= after.keys() and set(after.values()) == {STOPPED}

    @override
    async def undo(self, victim: Victim) -> None:
        await victim.act("resume")


class Kill(Fault):
    """Its processes are killed at once, and it is started again later: it recovers as after a crash."""

    @override
    async def apply(self, victim: Victim, duration_s: float) -> None:
        await victim.act("kill")

    @override
    def happened(self, before: Mapping[int, str], after: Mapping[int, str]) -> bool:
        return bool(before) and not after

    @override
    async def undo(self, victim: Victim) -> None:
        if not await victim.processes():
            await victim.database.start_again(victim.cluster, victim.server)


class Restart(Fault):
    """It is ended in order and started again at once: a change of settings, an upgrade."""

    lasts = False

    @override
    async def apply(self, victim: Victim, duration_s: float) -> None:
        await victim.act("end", victim.server.ends_on.name.removeprefix("SIG"))
        await self.undo(victim)

    @override
    def happened(self, before: Mapping[int, str], after: Mapping[int, str]) -> bool:
        return bool(before) and bool(after) and not before.keys() & after.keys()

    @override
    async def undo(self, victim: Victim) -> None:
        await KINDS["kill"].undo(victim)


KINDS: Mapping[FaultKind, Fault] = MappingProxyType({"kill": Kill(), "pause": Pause(), "restart": Restart()})
