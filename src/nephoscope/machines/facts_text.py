"""Text that describes a Linux machine -> values. Pure; whatever is absent or unreadable is None, never 0.

Formats: `findmnt -J -b`, proc(5), and the kernel's Documentation/admin-guide (cgroup-v1,
cgroup-v2, numastat). `head -v` writes `==> name <==` before each file: that is how many files come in one answer.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Disk
from nephoscope.model.units import KIB
from nephoscope.parsers.lscpu import Lscpu, cpus_of

_MARKER = re.compile(r"^==> (/[^\n]*) <==\n", re.MULTILINE)
_WHOLE = "[0-9]{1,18}(?![0-9])"
"""A number of a machine's has no more digits: text that has comes from no kernel, and would take time and memory."""
_DECIMAL = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?![0-9])")
_DEEPEST = 64
"""Of control groups in control groups."""
_UNLIMITED_BYTES = 2**60
"""cgroup v1 expresses 'no limit' as the largest multiple of a page below 2^63."""


def split_files(text: str) -> dict[str, str]:
    """Path -> content of every file in the output of `head -v`; files that could not be read are missing."""
    parts = _MARKER.split(text)
    return {path: content.strip() for path, content in zip(parts[1::2], parts[2::2], strict=True)}


def whole_number(text: str | None) -> int | None:
    """The leading whole number of `text`, as in '1048576 (2 instances)'; None if there is none."""
    found = re.match(rf"\s*({_WHOLE})", text or "")
    return int(found[1]) if found else None


def word(text: str | None) -> str | None:
    """`text` without surrounding blanks; None if nothing is left, or if the tool wrote '-' for nothing."""
    stripped = (text or "").strip()
    return stripped if stripped not in {"", "-"} else None


def cpu_list(text: str | None) -> tuple[int, ...] | None:
    """CPU ids of a kernel list such as '0-2,8'; None if it is not one."""
    try:
        return cpus_of((text or "").strip()) or None
    except OutputUnreadable:
        return None


def virtualization(lscpu: Lscpu) -> str | None:
    """Hypervisor vendor; 'none' if the flags of an x86 CPU show no hypervisor; None if nothing is known.

    Arm has no such flag, and `lscpu` names no vendor on the Arm machines of AWS, GCP and Azure.
    """
    x86 = lscpu.architecture.startswith(("x86", "i"))
    bare = x86 and lscpu.flags and "hypervisor" not in lscpu.flags
    return lscpu.hypervisor_vendor or ("none" if bare else None)


def keyed_lines(text: str | None) -> dict[str, str]:
    """Key -> value of lines 'key: value' or 'key=value' (/proc/meminfo, /proc/self/status, /etc/os-release)."""
    pairs = (re.match(r"([^:=]+)[:=](.*)", line) for line in (text or "").splitlines())
    return {pair[1].rstrip(): pair[2].strip().strip('"') for pair in pairs if pair}


def kib_field(fields: Mapping[str, str], key: str) -> int | None:
    """A field of /proc/meminfo in bytes; the file contains KiB and calls them kB."""
    kib = whole_number(fields.get(key))
    return None if kib is None else kib * KIB


def open_files_limit(limits: str | None) -> int | None:
    """The soft limit of open files in /proc/self/limits."""
    found = re.search(r"^Max open files(.*)", limits or "", re.MULTILINE)
    return whole_number(found[1]) if found else None


def load_1m(loadavg: str | None) -> float | None:
    """First number of /proc/loadavg."""
    found = _DECIMAL.match(loadavg or "")
    return float(found[0]) if found else None


def uptime_s(text: str | None) -> float | None:
    """First number of /proc/uptime, in seconds."""
    return load_1m(text)


@dataclass(frozen=True)
class CpuTimes:
    """A `cpu` line of /proc/stat in clock ticks. User time includes guest time, which is not counted twice."""

    busy: int
    steal: int
    total: int


def cpu_times(stat: str | None) -> CpuTimes | None:
    """The first line of /proc/stat; None if it is missing or too short."""
    return _cpu_line((stat or "").partition("\n")[0], "cpu")


def cpu_times_by_cpu(stat: str | None) -> dict[str, CpuTimes]:
    """The lines of single CPUs in /proc/stat, by their name ('cpu0'); an offline CPU has none."""
    found = {line.split(" ", 1)[0]: line for line in (stat or "").splitlines() if re.match(r"cpu\d+ ", line)}
    times = {name: _cpu_line(line, name) for name, line in found.items()}
    return {name: one for name, one in times.items() if one is not None}


def _cpu_line(line: str, name: str) -> CpuTimes | None:
    words = line.split()
    ticks = [number for word in words[1:9] if (number := whole_number(word)) is not None]
    if words[:1] != [name] or len(ticks) < 8:
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    busy = user + nice + system + irq + softirq
    return CpuTimes(busy=busy, steal=steal, total=busy + idle + iowait + steal)


def shares_between(first: CpuTimes | None, second: CpuTimes | None) -> tuple[float | None, float | None]:
    """(busy, steal) shares of all CPU time between two readings; None if no time passed or a reading is missing."""
    if first is None or second is None or second.total <= first.total:
        return None, None
    total = second.total - first.total
    return (
        min(1.0, max(0, second.busy - first.busy) / total),
        min(1.0, max(0, second.steal - first.steal) / total),
    )


def busy_share_by_cpu(first: str | None, second: str | None) -> dict[str, float]:
    """Busy share of each CPU between two readings of /proc/stat, without CPUs that had no time or appear only once."""
    earlier, later = cpu_times_by_cpu(first), cpu_times_by_cpu(second)
    shares = {name: shares_between(earlier.get(name), times)[0] for name, times in later.items()}
    return {name: share for name, share in shares.items() if share is not None}


CGROUPS = "/sys/fs/cgroup"
"""Where the kernel's control groups are mounted."""


def cgroup_folders(self_cgroup: str | None, root: str = CGROUPS) -> list[str]:
    """Folders whose limits apply to a process, from its own up to the root, of cgroup v1 (cpu, memory) and v2.

    Args:
        self_cgroup: /proc/self/cgroup. In a container its path may not exist below the root, so roots are always
        included.
        root: where they are mounted.
    """
    mounts = {"cpu": f"{root}/cpu", "memory": f"{root}/memory", "": root}
    paths = dict.fromkeys(mounts, "/")
    for line in (self_cgroup or "").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                if controller in paths and ".." not in parts[2]:
                    paths[controller] = parts[2]
    folders: list[str] = []
    for controller, mount in mounts.items():
        steps = [step for step in paths[controller].split("/") if step][:_DEEPEST]
        folders.extend("/".join([mount, *steps[:depth]]) for depth in range(len(steps), -1, -1))
    return folders


CGROUP_FILES = (
    "cpu.max",
    "memory.max",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "memory.limit_in_bytes",
    "cgroup.controllers",
)
"""Limits, and the file in every folder of cgroup v2: it distinguishes 'no limit' from 'nothing visible here'."""


def cgroups_seen(self_cgroup: str | None, files: Mapping[str, str]) -> bool:
    """Would a CPU limit have been found? Also True if the kernel says that it has no cgroups at all.

    Args:
        self_cgroup: /proc/self/cgroup; None if it is missing, empty if no hierarchy is mounted.
        files: those of `CGROUP_FILES` in `cgroup_folders` that could be read.
    """
    telling = ("/cpu.max", "/cpu.cfs_quota_us", "/cgroup.controllers")
    return self_cgroup == "" or any(path.endswith(telling) for path in files)


def cgroup_cpu_limit(files: Mapping[str, str]) -> float | None:
    """The lowest CPU limit in force, in CPUs; None: no limit found."""
    limits: list[float] = []
    for path, content in files.items():
        folder, _, name = path.rpartition("/")
        quota, period = None, None
        if name == "cpu.max":
            quota, period = (whole_number(part) for part in [*content.split(), "", ""][:2])
        elif name == "cpu.cfs_quota_us":
            quota, period = whole_number(content), whole_number(files.get(f"{folder}/cpu.cfs_period_us"))
        if quota and period:
            limits.append(quota / period)
    return min(limits, default=None)


def cgroup_memory_limit_bytes(files: Mapping[str, str]) -> int | None:
    """The lowest memory limit in force, in bytes; None: no limit found."""
    named = (
        whole_number(text) for path, text in files.items() if path.endswith(("memory.max", "memory.limit_in_bytes"))
    )
    return min((limit for limit in named if limit is not None and limit < _UNLIMITED_BYTES), default=None)


def filesystem_of(findmnt: str) -> dict[str, Any]:
    """The one filesystem of `findmnt -J -b -T folder`; empty if it is not its JSON."""
    try:
        found = json.loads(findmnt)["filesystems"][0]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def queue_files(filesystem: Mapping[str, Any]) -> list[str]:
    """Where the kernel describes the device below a filesystem: its own queue, or its disk's (a partition has none)."""
    number = str(filesystem.get("maj:min") or "").strip()
    if not re.fullmatch(r"[0-9]{1,9}:[0-9]{1,9}", number):
        return []
    base = f"/sys/dev/block/{number}"
    return [f"{folder}/queue/{name}" for folder in (base, f"{base}/..") for name in ("rotational", "scheduler")]


def disk_of(filesystem: Mapping[str, Any], files: Mapping[str, str]) -> Disk:
    """The disk below a data folder, from `findmnt` and the kernel's files."""
    queue = {path.rpartition("/")[2]: files[path] for path in reversed(queue_files(filesystem)) if path in files}
    active = re.search(r"\[([^\[\]]+)\]", queue.get("scheduler", ""))
    return Disk(
        device=word(filesystem.get("source")),
        filesystem=word(filesystem.get("fstype")),
        mount_options=word(filesystem.get("options")),
        size_bytes=whole_number(str(filesystem.get("size") or "")),
        free_bytes=whole_number(str(filesystem.get("avail") or "")),
        rotational={"0": False, "1": True}.get(queue.get("rotational", "")),
        scheduler=active[1] if active else word(queue.get("scheduler")),
    )
