"""Observes a machine with five read-only commands; the last one watches its CPU time for a short while.

`head -v` reads many files in one command; a missing file costs nothing. One command reads /proc/stat twice and waits in
between on the machine: a command over SSH costs 20 ms of a CPU, which four hosts emulated on one machine would each see
as foreign load.
"""

import asyncio
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nephoscope.machines import facts_text as text
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import MachineLost, OutputUnreadable, ToolMissing, TrialFailure
from nephoscope.model.quantities import MOST_S
from nephoscope.model.records import Facts
from nephoscope.parsers.lscpu import Lscpu, parse_lscpu

GOOD_BOUND_S = 0.05
"""A bound this tight needs no further reading: it is a fifth of the check's limit."""
TRIES = 5
_CLOCK_TIMEOUT_S = 10.0
_ARGV = ("date", "+%s.%N")


@dataclass(frozen=True)
class ClockOffset:
    """The machine's clock minus the controller's."""

    offset_s: float
    bound_s: float
    """Its maximum error: half the duration of the reading."""


async def clock_offset(machine: MachineHandle, now_s: Callable[[], float] = time.time) -> ClockOffset | None:
    """Reads the clock until an answer comes quickly enough, at most `TRIES` times; None: it cannot be read.

    The machine's reading lies between the moments before and after the call. Steps of the controller's clock in
    between, which are rare and short, would show as an offset.

    Raises:
        MachineLost: the machine disappeared.
    """
    best: ClockOffset | None = None
    for _ in range(TRIES):
        asked_s = now_s()
        try:
            done = await machine.remote.execute(Command(_ARGV, timeout_s=_CLOCK_TIMEOUT_S, pinned=False))
        except MachineLost:
            raise
        except (ToolMissing, TrialFailure):
            return best
        answered_s = now_s()
        found = _between(done.stdout, asked_s, answered_s)
        if found is None:
            return best
        if best is None or found.bound_s < best.bound_s:
            best = found
        if best.bound_s <= GOOD_BOUND_S:
            break
    return best


def _between(said: bytes, asked_s: float, answered_s: float) -> ClockOffset | None:
    try:
        read_s = float(said.decode(errors="replace").strip())
    except ValueError:
        return None
    if not abs(read_s) <= MOST_S:  # NaN is no time either
        return None
    return ClockOffset(read_s - (asked_s + answered_s) / 2, (answered_s - asked_s) / 2)


_TIMEOUT_S = 10.0
_ENVIRONMENT = {"LC_ALL": "C"}
"""lscpu translates its field names."""
_LSCPU = ("lscpu", "-J", "-B")
_HEAD = ("head", "-v", "-c", "65536", "--")
AGAIN = "==> again <=="
"""The line between the two readings."""
_STAT = shlex.join((*_HEAD, "/proc/stat", "/proc/uptime"))
_WATCH = f'{_STAT}; sleep "$1"; shift; echo; echo "{AGAIN}"; {_STAT} "$@"'
"""Arguments of a shell: seconds, and files that are read with the second reading."""
_FILES = (
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/self/cgroup",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/net/ipv4/tcp_congestion_control",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/etc/os-release",
)


@dataclass(frozen=True)
class Looks:
    """Verbatim answers of one machine; an empty text is a command that could not answer."""

    at_unix_ms: int
    lscpu: str
    findmnt: str
    files_first: str
    files_second: str


async def gather_facts(
    machine: MachineHandle, observe_s: float = 0.5, *, cgroups: str = text.CGROUPS
) -> tuple[Facts, dict[str, str]]:
    """Observes a machine, in about `observe_s` + 0.1 s.

    Args:
        machine: which one.
        observe_s: seconds between the two readings of its CPU time; /proc/stat counts in steps of 10 ms per CPU.
        cgroups: where its control groups are mounted.

    Returns:
        The facts, and each command with its verbatim output. Facts that the machine does not report are None.

    Raises:
        MachineLost: the machine disappeared.
    """
    verbatim: dict[str, str] = {}

    async def look(argv: tuple[str, ...], *, pinned: bool = False) -> str:
        try:
            done = await machine.remote.execute(
                Command(argv, timeout_s=_TIMEOUT_S, environment=_ENVIRONMENT, pinned=pinned)
            )
        except MachineLost:
            raise
        except (ToolMissing, TrialFailure) as error:
            verbatim[shlex.join(argv)] = f"({error})"
            return ""
        said = done.stdout.decode(errors="replace")
        verbatim[shlex.join(argv)] = said
        return said

    findmnt_argv = ("findmnt", "-J", "-b", "-o", "SOURCE,FSTYPE,OPTIONS,SIZE,AVAIL,MAJ:MIN", "-T", machine.data_dir)
    # Before the watch, so that it does not see them; these files show the affinity of whatever is measured.
    lscpu, findmnt = await asyncio.gather(look(_LSCPU), look(findmnt_argv))
    clock = await clock_offset(machine)
    at_unix_ms = time.time_ns() // 1_000_000
    files = await look((*_HEAD, *_FILES), pinned=True)
    more = _more_files(files, findmnt, cgroups)
    first, _, second = (await look(("sh", "-c", _WATCH, "watch", f"{observe_s:g}", *more))).partition(f"\n{AGAIN}\n")
    facts = facts_of(Looks(at_unix_ms, lscpu, findmnt, files_first=f"{files}\n{first}", files_second=second))
    if clock is not None:
        facts = facts.model_copy(
            update={"clock_offset_s": round(clock.offset_s, 6), "clock_offset_bound_s": round(clock.bound_s, 6)}
        )
    return facts, verbatim


def _more_files(files: str, findmnt: str, cgroups: str) -> list[str]:
    folders = text.cgroup_folders(text.split_files(files).get("/proc/self/cgroup"), cgroups)
    limits = [f"{folder}/{name}" for folder in folders for name in text.CGROUP_FILES]
    return [*limits, *text.queue_files(text.filesystem_of(findmnt))]


def facts_of(looks: Looks) -> Facts:
    """Verbatim answers -> facts; pure.

    Memory is the lower of the machine's and its cgroup's limit; cache sizes are the sum over all instances.
    """
    first, second = text.split_files(looks.files_first), text.split_files(looks.files_second)
    meminfo, status = text.keyed_lines(first.get("/proc/meminfo")), text.keyed_lines(first.get("/proc/self/status"))
    allowed = text.cpu_list(status.get("Cpus_allowed_list"))
    busy, steal = text.shares_between(*(text.cpu_times(files.get("/proc/stat")) for files in (first, second)))
    memory = [text.kib_field(meminfo, "MemTotal"), text.cgroup_memory_limit_bytes(second)]
    return Facts(
        at_unix_ms=looks.at_unix_ms,
        hostname=text.word(first.get("/proc/sys/kernel/hostname")),
        boot_id=text.word(first.get("/proc/sys/kernel/random/boot_id")),
        cpus_allowed=len(allowed) if allowed else None,
        memory_bytes=min((size for size in memory if size is not None), default=None),
        memory_available_bytes=text.kib_field(meminfo, "MemAvailable"),
        kernel=text.word(first.get("/proc/sys/kernel/osrelease")),
        os=text.word(text.keyed_lines(first.get("/etc/os-release")).get("PRETTY_NAME")),
        system_vendor=text.word(first.get("/sys/class/dmi/id/sys_vendor")),
        product=text.word(first.get("/sys/class/dmi/id/product_name")),
        clock_source=text.word(first.get("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        frequency_governor=text.word(first.get("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        congestion_control=text.word(first.get("/proc/sys/net/ipv4/tcp_congestion_control")),
        swap_bytes=text.kib_field(meminfo, "SwapTotal"),
        open_files_limit=text.open_files_limit(first.get("/proc/self/limits")),
        load_1m=text.load_1m(first.get("/proc/loadavg")),
        steal_share=steal,
        busy_share=busy,
        busy_share_by_cpu=text.busy_share_by_cpu(first.get("/proc/stat"), second.get("/proc/stat")),
        observed_for_s=_seconds_between(first, second),
        cgroup_cpu_limit=text.cgroup_cpu_limit(second),
        cgroups_seen=text.cgroups_seen(first.get("/proc/self/cgroup"), second) if second else None,
        disk=text.disk_of(text.filesystem_of(looks.findmnt), second),
        **_cpu_facts_in(looks.lscpu),
    )


def _cpu_facts_in(lscpu: str) -> dict[str, Any]:
    """Nothing where its output cannot be read: an unknown fact does not end a trial."""
    try:
        return cpu_facts(parse_lscpu(lscpu))
    except OutputUnreadable:
        return {}


def cpu_facts(lscpu: Lscpu) -> dict[str, Any]:
    """Facts by name; a cache is the sum of its instances, and unknown where only the size of one is printed."""
    caches = {level: cache.size_bytes for level, cache in lscpu.caches.items() if not cache.of_one}
    return {
        "cpu_model": lscpu.model_name,
        "core_kinds": {kind.model_name: kind.cores for kind in lscpu.kinds},
        "cpu_vendor": lscpu.vendor,
        "cpu_family": text.whole_number(lscpu.family),
        "cpu_model_number": text.whole_number(lscpu.model),
        "cpu_stepping": text.whole_number(lscpu.stepping),
        "architecture": lscpu.architecture,
        "cpus_online": len(lscpu.online) or None,
        "sockets": lscpu.sockets,
        "cores_per_socket": lscpu.cores_per_socket,
        "threads_per_core": lscpu.threads_per_core,
        "numa_nodes": lscpu.numa_nodes,
        "l2_bytes": caches.get("L2"),
        "l3_bytes": caches.get("L3"),
        "virtualization": text.virtualization(lscpu),
    }


def _seconds_between(first: Mapping[str, str], second: Mapping[str, str]) -> float | None:
    looks = text.uptime_s(first.get("/proc/uptime")), text.uptime_s(second.get("/proc/uptime"))
    if looks[0] is None or looks[1] is None or looks[1] <= looks[0]:
        return None
    return round(looks[1] - looks[0], 2)
