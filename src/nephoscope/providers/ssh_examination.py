"""Whether a host over SSH is fit for a study, asked before anything is measured there."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nephoscope.machines.doctor import Finding, Health, examine
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.remote import MachineHandle, Tool, build_for
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import (
    AccessDenied,
    HostKeyRefused,
    MachineUnreachable,
    NephoscopeError,
    OutputUnreadable,
    ToolMissing,
)
from nephoscope.model.records import Facts
from nephoscope.model.words import counted

OBSERVE_S = 1.0

MINE = """
mine() {
    [ -O "$1" ] && [ "$(stat -c %u -- "$1")" = "$(id -u)" ] || return 1
    case $(stat -L -c %A -- "$1") in
        ????????w?) return 1 ;;
        ?????w????) [ "$(stat -L -c %G -- "$1")" = "$(id -un)" ] ;;
    esac
}
"""
"""Whether a folder is the user's own, to which nobody else may write; a group of the user's name is the user.
Another user's link to one is not: whoever made it chooses what lies there, and with that what is executed, killed and
deleted."""
_HOLDER = (
    MINE
    + """
[ ! -d "$1" ] || mine "$1" || { echo of others; exit; }
[ ! -d "$1/lease" ] || cat "$1/lease/owner" 2>/dev/null || echo somebody
"""
)
SHARED = "belongs to somebody else, or others may write to it"
_REMOVE = 'rm -rf -- "$1/ours/jobs/$2".*'


@dataclass(frozen=True)
class HostNeeds:
    """What a study needs of one host."""

    tools: tuple[Tool, ...] = ()
    disk_bytes: int = 0
    cpus: int = 0
    """At least; 0: all that there are."""
    clock_off_s: float | None = None
    """How far its clock may be from this machine's; None: it matters to no trial."""
    alone: bool = True
    """Whether no other machine must reach it."""
    rented: bool | None = None
    """What the study says of it; None: nothing."""

    def and_also(self, other: "HostNeeds") -> "HostNeeds":
        """What both need."""
        clocks_s = [most_s for most_s in (self.clock_off_s, other.clock_off_s) if most_s is not None]
        return HostNeeds(
            tuple(dict.fromkeys((*self.tools, *other.tools))),
            max(self.disk_bytes, other.disk_bytes),
            max(self.cpus, other.cpus),
            min(clocks_s, default=None),
            self.alone and other.alone,
            self.rented if self.rented == other.rented else None,
        )


async def examined(
    remote: SshRemote, folder: str, session: str, carried: Sequence[str], needs: HostNeeds
) -> list[Finding]:
    """Findings about a host; only the first, where it shows that nothing else can be asked.

    Args:
        remote: the host, with `ours` in `folder` as its folder.
        folder: nephoscope's folder there.
        session: of `remote`; its jobs are removed in the end.
        carried: programs of this machine that every trial needs there.
        needs: what the study needs of it.
    """
    try:
        look = await remote.look()
        holder = (await remote.ask(_HOLDER, folder)).strip()[:300]
        if holder == "of others":
            hint = "set `ssh.folder` in the study to one that is the user's alone or does not exist"
            return [_finding("folder", Health.BAD, f"{folder} {SHARED}", hint)]
        if holder:
            return [_finding("lease", Health.WARNING, f"held by {holder}: not examined while it may measure there")]
        for program in carried:
            await remote.carry(build_for(Path(program), look.machine))
        machine = MachineHandle(remote.name, remote, "", (), folder)
        facts, _ = await gather_facts(machine, observe_s=OBSERVE_S)
        ours = {Path(program).name for program in carried}
        tools = {tool: await _installed(remote, tool) for tool in needs.tools if tool.name not in ours}
        findings = examine(facts, tools, min_free_bytes=needs.disk_bytes, rented=needs.rented)
    except NephoscopeError as error:
        return [_finding(_subject_of(error), Health.BAD, error.message, error.hint)]
    finally:
        with suppress(NephoscopeError):
            await remote.ask(_REMOVE, folder, session)
        await remote.close()
    return [
        _finding("machine", Health.GOOD, f"{counted(look.cpus, 'CPU')}, {look.machine}"),
        *_cpus(look.cpus, needs.cpus),
        _clock(facts, needs.clock_off_s),
        *findings,
    ]


async def _installed(remote: SshRemote, tool: Tool) -> bool:
    """Whether jobs there find a program."""
    path = 'PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"; command -v -- "$1" >/dev/null 2>&1 && echo yes'
    return (await remote.ask(path, tool.name)).strip() == "yes"


def _cpus(there: int, wanted: int) -> list[Finding]:
    if wanted <= there:
        return []
    found = f"{counted(there, 'CPU')}, but {wanted} are requested"
    return [_finding("CPUs", Health.BAD, found, "lower `cpus` in the study")]


def _clock(facts: Facts, most_s: float | None) -> Finding:
    offset_s, bound_s = facts.clock_offset_s, facts.clock_offset_bound_s
    if offset_s is None or bound_s is None:
        return _finding("clock", Health.WARNING, "its offset could not be read")
    found = f"{offset_s:+.3f} s (±{bound_s:.3f} s) from this machine's"
    if most_s is None or abs(offset_s) - bound_s <= most_s:
        return _finding("clock", Health.GOOD, found)
    hint = "synchronise both clocks, such as with chrony: the check clock-offset would reject every trial"
    return _finding("clock", Health.BAD, found, hint)


def _subject_of(error: NephoscopeError) -> str:
    """What was asked when a host showed that nothing else can be."""
    subjects = {
        MachineUnreachable: "reach",
        HostKeyRefused: "host key",
        AccessDenied: "login",
        OutputUnreadable: "login shell",
        ToolMissing: "tools",
    }
    return next((subject for kind, subject in subjects.items() if isinstance(error, kind)), "programs")


def _finding(what: str, health: Health, found: str, hint: str = "") -> Finding:
    return Finding(what=what, health=health, found=found, hint=hint)
