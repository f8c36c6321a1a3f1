"""The limits of an emulated machine as writes below /sys/fs/cgroup, version 1 and 2; pure.

Version 1 limits the disk for direct I/O and for what a process itself syncs; what the kernel writes back later is not
slowed there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nephoscope.model.units import GIB, MIB
from nephoscope.study.provisioning import MachineType

ROOT = PurePosixPath("/sys/fs/cgroup")
GROUP = "nephoscope"
PERIOD_US = 100_000
CONTROLLERS_V1 = ("cpuacct", "cpu", "cpuset", "memory", "blkio")
"""`cpuacct` limits nothing: by it the sampler tells the hosts' CPU time from that of others. It is first, so that what
delays packets between hosts counts as theirs. Some distributions mount it together with `cpu`, as one folder."""


@dataclass(frozen=True)
class Write:
    """One value for one file."""

    file: str
    value: str


def folders(version: int, cluster: str, host: str) -> list[str]:
    """The control groups of a host, one for each hierarchy."""
    inside = PurePosixPath(GROUP, cluster, host)
    roots = [ROOT / controller for controller in CONTROLLERS_V1] if version == 1 else [ROOT]
    return [str(root / inside) for root in roots]


def of_all_clusters(version: int) -> str:
    """The control group that counts the CPU time of every emulated host."""
    return str((ROOT / CONTROLLERS_V1[0] if version == 1 else ROOT) / GROUP)


def parents(version: int, cluster: str) -> list[tuple[str, str]]:
    """The folders above them that are ours, by hierarchy: that of all clusters, and that of this one."""
    roots = [ROOT / controller for controller in CONTROLLERS_V1] if version == 1 else [ROOT]
    return [(str(root / GROUP), str(root / GROUP / cluster)) for root in roots]


def limits(version: int, cluster: str, host: str, machine: MachineType, cpus: Sequence[int]) -> list[Write]:
    """Everything but the disk's, which needs its device."""
    by_controller = dict(zip(CONTROLLERS_V1, folders(1, cluster, host), strict=True))
    (unified,) = folders(2, cluster, host)
    listed = ",".join(map(str, cpus))
    memory_bytes = str(int(machine.memory_gib * GIB))
    quota_us = None if machine.cpu_quota is None else str(math.ceil(machine.cpu_quota * PERIOD_US))
    if version == 1:
        found = [
            Write(f"{by_controller['cpuset']}/cpuset.mems", "0"),
            Write(f"{by_controller['cpuset']}/cpuset.cpus", listed),
            Write(f"{by_controller['memory']}/memory.limit_in_bytes", memory_bytes),
        ]
        if quota_us is not None:
            found.append(Write(f"{by_controller['cpu']}/cpu.cfs_period_us", str(PERIOD_US)))
            found.append(Write(f"{by_controller['cpu']}/cpu.cfs_quota_us", quota_us))
        return found
    found = [Write(f"{unified}/cpuset.cpus", listed), Write(f"{unified}/memory.max", memory_bytes)]
    if quota_us is not None:
        found.append(Write(f"{unified}/cpu.max", f"{quota_us} {PERIOD_US}"))
    return found


def disk_limits(version: int, cluster: str, host: str, machine: MachineType, device: str) -> list[Write]:
    """Those of the data disk; `device` is "major:minor"."""
    iops = None if machine.disk_iops is None else str(machine.disk_iops)
    rate = None if machine.disk_mib_per_s is None else str(int(machine.disk_mib_per_s * MIB))
    if version == 1:
        blkio = folders(1, cluster, host)[CONTROLLERS_V1.index("blkio")]
        wanted = {"iops": iops, "bps": rate}
        return [
            Write(f"{blkio}/blkio.throttle.{way}_{what}_device", f"{device} {value}")
            for what, value in wanted.items()
            for way in ("read", "write")
            if value is not None
        ]
    words = [
        f"{key}={value}" for key, value in (("riops", iops), ("wiops", iops), ("rbps", rate), ("wbps", rate)) if value
    ]
    return [Write(f"{folders(2, cluster, host)[0]}/io.max", f"{device} {' '.join(words)}")] if words else []


def without_disk_limits(version: int, cluster: str) -> str:
    """Shell lines that let every disk of a cluster go on: a process that waits for one cannot be killed."""
    group = folders(version, cluster, "*")[CONTROLLERS_V1.index("blkio") if version == 1 else 0]
    files, nothing = (f"{group}/io.max", "rbps=max wbps=max") if version == 2 else (
        f"{group}/blkio.throttle.*_bps_device", "0"
    )  # fmt: skip
    return f"""for file in {files}; do
    sed 's/ .*//' "$file" | while read -r device; do echo "$device {nothing}" >"$file"; done
done 2>/dev/null"""


def shaping(machine: MachineType, device: str) -> list[str] | None:
    """Arguments of `tc` for one way of a host's network; None: not limited."""
    if machine.network_gbps is None:
        return None
    bits_per_s = int(machine.network_gbps * 1e9)
    # A bucket of 2 ms lets TCP fill the rate; smaller ones lose a tenth of it.
    burst_bytes = max(16_384, bits_per_s // 8 // 500)
    return ["qdisc", "add", "dev", device, "root", "tbf", "rate", f"{bits_per_s}bit", "burst", f"{burst_bytes}b",
            "latency", "50ms"]  # fmt: skip
