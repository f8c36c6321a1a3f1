"""What a fault is, and those of a server's processes: each applies itself, says whether it happened, and is undone.

A server's processes are those of its programs and of its user that work in its folder, so that nothing else on the
machine is hurt. The same script finds them on every machine, by whatever way it is reached.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override

from nephoscope.databases.base import CanRestart, HasFailover, Server
from nephoscope.machines.remote import Command
from nephoscope.model.records import ServerRole
from nephoscope.providers.base import Cluster

STOPPED = "T"
"""State of a process that a signal has stopped."""
END_TIMEOUT_S = 600
"""For a server to write what it holds in memory."""
GRACE_S = 5
"""So long after it should have been undone, a machine resumes a server by itself."""

ON_ITS_OWN = """
on_its_own() { # after $1 seconds, once the shell $2 is gone: runs the script $3 with itself and what follows
    setsid sh -c '
        sleep "$1"
        tries=600
        while [ $tries -gt 0 ] && kill -0 "$2"; do tries=$((tries - 1)); sleep 0.1; done
        shift 2
        exec sh -c "$1" fault "$@"
    ' fault "$@" </dev/null >/dev/null 2>&1 &
}
"""
"""A shell function. Whoever started a fault may be gone by its end, and while its shell lives, it may go on."""

_SCRIPT = """
script=$1 action=$2 folder=$3 programs=$4 argument=$5
works_there() { [ -O "$1" ] && { [ "$1/cwd" -ef "$folder" ] || [ "$1/cwd" -ef "$folder/data" ]; }; }
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
    on_its_own "$argument" $$ "$script" resume "$folder" "$programs" -
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

_BY_ROOT = """
[ "$(id -u)" = 0 ] || exec sudo -n env "SSH_CONNECTION=$SSH_CONNECTION" sh -c "$@"
exec sh -c "$@"
"""

State = Mapping[str, str]
"""What machines show of what a fault changes, by name; each kind has its own."""


@dataclass(frozen=True)
class Severity:
    """How bad a fault is that has degrees."""

    loss_percent: float = 10.0
    disk_mib_per_s: float = 20.0


USUAL_SEVERITY = Severity()


@dataclass(frozen=True)
class Victim:
    """A server to be hurt."""

    server: Server
    role: ServerRole
    database: CanRestart
    cluster: Cluster
    chance: str = ""
    """Seed of what else a fault draws."""
    severity: Severity = USUAL_SEVERITY

    @property
    def everyone(self) -> Sequence["Victim"]:
        """Every server of the database, as a victim."""
        return [replace(self, server=one) for one in self.database.servers(self.cluster)]

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
        return await self._said(["sh", "-c", ON_ITS_OWN + _SCRIPT, "fault", *of])

    async def as_root(self, script: str, *arguments: str) -> str:
        """What a shell script prints that root runs on the server's machine; its first argument is the script.

        Raises:
            ToolFailed, ToolTimedOut, MachineLost: it did not run to its end.
        """
        of = [ON_ITS_OWN + script, "fault", script, *arguments]
        return await self._said(["sh", "-c", _BY_ROOT, "root", *of])

    async def _said(self, argv: Sequence[str]) -> str:
        command = Command(argv, timeout_s=END_TIMEOUT_S + 60, pinned=False)
        completed = await self.server.machine.remote.execute(command)
        return completed.require().stdout.decode()

    async def processes(self) -> State:
        """Its processes with their states, as the kernel writes them."""
        return dict(line.split() for line in (await self.act("look")).splitlines())


class Fault(ABC):
    """A kind of fault; stateless."""

    lasts: ClassVar[bool] = True
    """It goes on until it is undone."""
    here: ClassVar[bool] = True
    """It may hit servers that run on this very machine."""

    @property
    def says(self) -> str:
        """What happens, in a sentence."""
        return str(self.__doc__).splitlines()[0]

    @abstractmethod
    async def look(self, victim: Victim) -> State:
        """What it changes, as it is.

        Raises:
            InputError: it cannot hit this victim.
            NephoscopeError: that cannot be seen there, so that nobody could tell whether it happened.
        """

    @abstractmethod
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        """Inflicts it. Where the machine can undo it by itself, it does so soon after `duration_s`."""

    @abstractmethod
    def happened(self, before: State, after: State) -> bool:
        """Whether two looks show it; pure."""

    @abstractmethod
    async def undo(self, victim: Victim, before: State) -> None:
        """Has the server serve again; may be repeated."""

    @abstractmethod
    def is_over(self, before: State, after: State) -> bool:
        """Whether two looks show that it was undone; pure."""


class OfProcesses(Fault):
    """One that a server's processes show."""

    @override
    async def look(self, victim: Victim) -> State:
        return await victim.processes()

    @override
    def is_over(self, before: State, after: State) -> bool:
        return bool(after) and STOPPED not in after.values()


class Pause(OfProcesses):
    """Its processes are stopped by a signal and go on later: a stalled machine, a long collection of garbage."""

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        await victim.act("pause", f"{duration_s + GRACE_S:g}")

    @override
    def happened(self, before: State, after: State) -> bool:
        return bool(before) and before.keys() <= after.keys() and set(after.values()) == {STOPPED}

    @override
    async def undo(self, victim: Victim, before: State) -> None:
        await victim.act("resume")


class Kill(OfProcesses):
    """Its processes are killed at once, and it is started again later: it recovers as after a crash."""

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        await victim.act("kill")

    @override
    def happened(self, before: State, after: State) -> bool:
        return bool(before) and not after

    @override
    async def undo(self, victim: Victim, before: State) -> None:
        if not await victim.processes():
            await victim.database.start_again(victim.cluster, victim.server)


class Restart(Kill):
    """It is ended in order and started again at once: a change of settings, an upgrade."""

    lasts = False

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        await victim.act("end", victim.server.ends_on.name.removeprefix("SIG"))
        await self.undo(victim, before)

    @override
    def happened(self, before: State, after: State) -> bool:
        return bool(before) and bool(after) and not before.keys() & after.keys()
