"""Is this machine fit to measure? Facts in, findings out; pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from nephoscope.machines.remote import Tool
from nephoscope.model.errors import EnvironmentProblem
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Facts
from nephoscope.model.units import GIB
from nephoscope.model.words import counted

MIN_FREE_BYTES = 2 * GIB
MAX_BUSY_SHARE = 0.05
MAX_STEAL_SHARE = 0.02
GOOD_CLOCK_SOURCES = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})


class Health(StrEnum):
    """Severity of one finding."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class Finding(Frozen):
    """One thing that was checked."""

    what: str
    health: Health
    found: str
    hint: str = ""


class HostFindings(Frozen):
    """What was checked on one host."""

    host: str
    findings: tuple[Finding, ...]

    def of(self, health: Health) -> list[Finding]:
        """Findings of that severity."""
        return [finding for finding in self.findings if finding.health is health]


def require_hosts_fit(hosts: Sequence[HostFindings]) -> None:
    """Nothing, when no finding about any host is bad.

    Raises:
        EnvironmentProblem: nothing can be measured on some of them.
    """
    unfit = [host for host in hosts if host.of(Health.BAD)]
    if not unfit:
        return
    whys = "; ".join(f"{host.host}: {bad.what}: {bad.found}" for host in unfit for bad in host.of(Health.BAD))
    hints = {bad.hint: None for host in unfit for bad in host.of(Health.BAD) if bad.hint}
    only = "; ".join(hints) if len(hints) == 1 else "follow the hints above"
    raise EnvironmentProblem(
        f"{len(unfit)} of {counted(len(hosts), 'host')} {'does' if len(unfit) == 1 else 'do'} not fit this study, so "
        f"nothing was measured: {whys}",
        hint=f"{only}{', or measure the others alone with --only' if len(unfit) < len(hosts) else ''}",
    )


def examine(
    facts: Facts, tools: Mapping[Tool, bool], *, min_free_bytes: int = MIN_FREE_BYTES, rented: bool | None = None
) -> list[Finding]:
    """Findings about the machine and its tools.

    Args:
        facts: of the machine.
        tools: each required tool -> whether it is installed.
        min_free_bytes: of disk space.
        rented: what the study says of this machine; None: nothing, or there is no study.
    """
    return [
        _governor(facts),
        _share("foreign load", facts.busy_share, MAX_BUSY_SHARE, "stop other programs, then check again"),
        _share("steal", facts.steal_share, MAX_STEAL_SHARE, "other virtual machines take CPU time: use another host"),
        *_owner(facts, rented=rented),
        _clock_source(facts),
        _disk(facts, min_free_bytes),
        _cgroup(facts),
        *(_tool(tool, installed=installed) for tool, installed in tools.items()),
    ]


def examine_controller(
    facts: Facts, tools: Mapping[Tool, bool], *, min_free_bytes: int = MIN_FREE_BYTES
) -> list[Finding]:
    """Findings about a machine on which nothing is measured, with what `run` needs there; see `examine`."""
    return [_disk(facts, min_free_bytes), *(_tool(tool, installed=installed) for tool, installed in tools.items())]


def _governor(facts: Facts) -> Finding:
    what = "frequency governor"
    if facts.frequency_governor is None:
        return Finding(what=what, health=Health.GOOD, found="none visible (usual in a virtual machine)")
    if facts.frequency_governor == "performance":
        return Finding(what=what, health=Health.GOOD, found="performance")
    hint = "run `cpupower frequency-set -g performance`, so that the clock does not depend on the preceding load"
    return Finding(what=what, health=Health.WARNING, found=facts.frequency_governor, hint=hint)


def _share(what: str, share: float | None, most: float, hint: str) -> Finding:
    if share is None:
        return Finding(what=what, health=Health.WARNING, found="not known", hint="/proc/stat could not be read")
    health = Health.GOOD if share <= most else Health.WARNING
    found = f"{share:.1%} of the machine's CPU time (should be at most {most:.0%})"
    return Finding(what=what, health=health, found=found, hint="" if health is Health.GOOD else hint)


def _owner(facts: Facts, *, rented: bool | None) -> list[Finding]:
    """Nothing on a machine whose firmware names no cloud."""
    cloud = cloud_named_by(facts)
    if cloud is None:
        return []
    if rented is not None:
        found = f"{cloud}; the study says rented = {str(rented).lower()}"
        return [Finding(what="owner", health=Health.GOOD, found=found)]
    hint = (
        "if you rent this machine, write rented = true in its configuration: then CPU time that the hypervisor "
        "withholds is recorded as a part of what you buy, and rejects no trial"
    )
    return [Finding(what="owner", health=Health.WARNING, found=f"the firmware names {cloud}", hint=hint)]


def _clock_source(facts: Facts) -> Finding:
    if facts.clock_source in GOOD_CLOCK_SOURCES:
        return Finding(what="clock source", health=Health.GOOD, found=str(facts.clock_source))
    hint = "reading this clock may cost a system call, which slows the client: prefer tsc or kvm-clock"
    found = facts.clock_source or "not known"
    return Finding(what="clock source", health=Health.WARNING, found=found, hint=hint)


def _disk(facts: Facts, least: int) -> Finding:
    free = facts.disk.free_bytes
    if free is None:
        return Finding(what="free disk", health=Health.WARNING, found="not known", hint="findmnt found no filesystem")
    place = f"{facts.disk.filesystem or 'unknown file system'} on {facts.disk.device or 'an unknown device'}"
    found = f"{free / GIB:.1f} GiB on {place}"
    if free < least:
        hint = f"at least {least / GIB:.1f} GiB must be free: free some space, or use a folder on another disk"
        return Finding(what="free disk", health=Health.BAD, found=found, hint=hint)
    if facts.disk.filesystem == "tmpfs":
        return Finding(what="free disk", health=Health.WARNING, found=found, hint="tmpfs is memory, not a disk")
    return Finding(what="free disk", health=Health.GOOD, found=found)


def _cgroup(facts: Facts) -> Finding:
    limit = facts.cgroup_cpu_limit
    if limit is None and not facts.cgroups_seen:
        hint = "the check cgroup-limit would make every trial 'unknown': make /sys/fs/cgroup readable"
        return Finding(what="CPU quota", health=Health.WARNING, found="cgroups cannot be read", hint=hint)
    if limit is None:
        return Finding(what="CPU quota", health=Health.GOOD, found="none found")
    hint = "a quota throttles in bursts, so measurements close to it are not steady: remove it"
    return Finding(what="CPU quota", health=Health.WARNING, found=f"{counted(limit, 'CPU')} (cgroup)", hint=hint)


def _tool(tool: Tool, *, installed: bool) -> Finding:
    if installed:
        return Finding(what=tool.name, health=Health.GOOD, found="installed")
    return Finding(what=tool.name, health=Health.BAD, found="not installed", hint=tool.install_hint)


def diagnosis(findings: Sequence[Finding], *, here: bool) -> str:
    """One line about all of them where nothing is bad; `here`: this machine is measured."""
    warned = [finding.what for finding in findings if finding.health is Health.WARNING]
    said = "fit to measure" if here else "ready to run"
    return f"{said}, with warnings: {', '.join(warned)}" if warned else said


def require_fit(findings: Sequence[Finding], *, here: bool) -> None:
    """Nothing, when no finding is bad; `here` as for `diagnosis`.

    Raises:
        EnvironmentProblem: what was asked cannot run.
    """
    bad = [finding.what for finding in findings if finding.health is Health.BAD]
    if bad:
        what = "this machine is not fit to measure yet" if here else "the study cannot run yet"
        raise EnvironmentProblem(
            f"{what}: {', '.join(bad)}",
            hint="follow the hints above, then run doctor again",
        )


_CLOUDS = {
    ("Amazon EC2", ""): "Amazon EC2",
    ("Xen", "HVM domU"): "Amazon EC2",
    ("Google", "Google Compute Engine"): "Google Compute Engine",
    ("Microsoft Corporation", "Virtual Machine"): "Microsoft Azure",
    ("Alibaba Cloud", ""): "Alibaba Cloud",
    ("DigitalOcean", ""): "DigitalOcean",
    ("Hetzner", ""): "Hetzner",
    ("Tencent Cloud", ""): "Tencent Cloud",
}
"""(vendor, product) as DMI has them -> the cloud; an empty product stands for any. Two of them may also be a machine of
one's own: Xen, and Microsoft's Hyper-V."""


def cloud_named_by(facts: Facts) -> str | None:
    """The cloud whose hypervisor the machine's firmware names; None: none, or there is no DMI."""
    vendor, product = facts.system_vendor or "", facts.product or ""
    return _CLOUDS.get((vendor, product)) or _CLOUDS.get((vendor, ""))
