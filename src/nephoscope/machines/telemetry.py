"""JSON lines of `nephoscope-load telemetry` (raw counters, one line per interval) -> rates. Pure.

The counters are the kernel's: /proc/stat in clock ticks, /proc/diskstats in sectors of 512 bytes, /proc/net/dev in
bytes. Disks: only whole disks, because a partition, a loop device or a device-mapper volume would count the same bytes
twice. Network: every interface except loopback; on a machine with bridges the same bytes may count twice.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from pydantic import ConfigDict, Field, ValidationError

from nephoscope.machines.foreign import Count, Foreign, Moment, Used, foreign_of
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import TelemetrySample
from nephoscope.model.units import MICROSECONDS_PER_SECOND, MS_PER_SECOND, SECTOR_BYTES

_WHOLE_DISK = re.compile(r"(?:[shv]d|xvd)[a-z]+|nvme\d+n\d+|mmcblk\d+|nbd\d+|pmem\d+")


class _Counters(Frozen):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class _Cpu(_Counters):
    cpu: str
    user: Count
    nice: Count
    system: Count
    idle: Count
    iowait: Count
    irq: Count
    softirq: Count
    steal: Count


class _Disk(_Counters):
    name: str
    reads: Count = 0
    writes: Count = 0
    read_sectors: Count
    written_sectors: Count
    io_ms: Count | None = None


class _Interface(_Counters):
    name: str
    rx_bytes: Count
    tx_bytes: Count


class _Quota(_Counters):
    periods: Count
    throttled_periods: Count


class _Served(_Counters):
    user_us: Count
    system_us: Count
    minor_faults: Count
    major_faults: Count
    context_switches: Count | None
    unseen_us: Count


class _Energy(_Counters):
    package: str
    energy_uj: Count
    range_uj: Count

    def since(self, before_uj: int) -> int:
        """Microjoules since an earlier reading; the counter begins anew at its range, if it says one."""
        more_uj = self.energy_uj - before_uj
        return more_uj if more_uj >= 0 else max(0, more_uj + self.range_uj)


class _Line(_Counters):
    elapsed_s: float = Field(ge=0)
    at_unix_ms: Count | None = None
    cpu: list[_Cpu]
    disks: list[_Disk]
    network: list[_Interface]
    cpu_quota: _Quota | None = None
    frozen: bool | None = None
    disk_limits: list[str] = []
    stood_still_s: float | None = Field(default=None, ge=0)
    own_cpu_us: Count | None = None
    jiffies_per_s: int = Field(default=100, gt=0, lt=1 << 64)
    trial: Used | None = None
    server: _Served | None = None
    energy: list[_Energy] = []


Lines = Sequence[_Line]
"""What a sampler wrote, read."""


def parse_telemetry(text: str) -> list[TelemetrySample]:
    """`samples_of` what a sampler wrote; see `read_lines`."""
    return samples_of(read_lines(text))


def samples_of(read: Lines) -> list[TelemetrySample]:
    """Differences of consecutive lines, as rates over each interval.

    Returns:
        One sample per interval; empty if the sampler wrote fewer than two lines. If no clock tick passed since the
        previous line (the sampler catches up after a stall), the line joins the next interval.

    Raises:
        OutputUnreadable: time runs backwards, a line has no CPU time of the machine, or a rate is none.
    """
    for earlier, later in pairwise(read):
        if later.elapsed_s < earlier.elapsed_s:
            raise OutputUnreadable(f"telemetry: time went from {earlier.elapsed_s} s to {later.elapsed_s} s")
    samples: list[TelemetrySample] = []
    kept = list(read[:1])
    for after in read[1:]:
        try:
            sample = _between(kept[-1], after)
        except ValidationError as error:
            what = error.errors(include_url=False)[0]["msg"]
            raise OutputUnreadable(f"telemetry: what cannot be at {after.elapsed_s} s: {what}") from error
        if sample is not None:
            samples.append(sample)
            kept.append(after)
    foreign = foreign_of([_moment(line) for line in kept])
    return [_with_foreign(sample, others) for sample, others in zip(samples, foreign, strict=True)]


def server_counters(read: Lines) -> list[tuple[int, dict[str, float]]]:
    """What the measured server and its machine had used, by moment (Unix time in milliseconds) and name.

    Moments at which the server was not read are left out, and so are counters that this machine does not have.
    """
    found: list[tuple[int, dict[str, float]]] = []
    energy_j, before = 0.0, dict[str, int]()
    for line in read:
        now = {one.package: one.energy_uj for one in line.energy}
        more_uj = [one.since(before.get(one.package, one.energy_uj)) for one in line.energy]
        energy_j, before = energy_j + sum(more_uj) / MICROSECONDS_PER_SECOND, now
        if line.server is not None and line.at_unix_ms is not None:
            energy = {"energy_j": energy_j} if now else {}
            found.append((line.at_unix_ms, {**_of_processes(line.server), **_of_machine(line), **energy}))
    return found


def _of_processes(server: _Served) -> dict[str, float]:
    user_s, system_s = server.user_us / MICROSECONDS_PER_SECOND, server.system_us / MICROSECONDS_PER_SECOND
    switches = {} if server.context_switches is None else {"context_switches": server.context_switches}
    faults = {"minor_faults": server.minor_faults, "major_faults": server.major_faults}
    cpu = {"cpu_s": user_s + system_s, "user_cpu_s": user_s, "system_cpu_s": system_s}
    return {**cpu, **faults, **switches, "unseen_cpu_s": server.unseen_us / MICROSECONDS_PER_SECOND}


def _of_machine(line: _Line) -> dict[str, float]:
    disks = [disk for disk in line.disks if _WHOLE_DISK.fullmatch(disk.name)]
    network = [interface for interface in line.network if interface.name != "lo"]
    found: dict[str, float] = {}
    if disks:
        found["disk_read_bytes"] = SECTOR_BYTES * sum(disk.read_sectors for disk in disks)
        found["disk_written_bytes"] = SECTOR_BYTES * sum(disk.written_sectors for disk in disks)
        found["disk_reads"] = sum(disk.reads for disk in disks)
        found["disk_writes"] = sum(disk.writes for disk in disks)
    if network:
        found["received_bytes"] = sum(interface.rx_bytes for interface in network)
        found["sent_bytes"] = sum(interface.tx_bytes for interface in network)
    return found


def read_lines(text: str) -> Lines:
    """Reads a sampler's whole stdout. Its last line may be cut off, because a signal stops the sampler.

    Raises:
        OutputUnreadable: a line before the last one is damaged.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    read: list[_Line] = []
    for number, line in enumerate(lines, start=1):
        try:
            read.append(_Line.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines):
                break
            problem = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in problem["loc"])
            raise OutputUnreadable(f"telemetry line {number}: {where}: {problem['msg']}") from error
    return read


def _moment(line: _Line) -> Moment:
    """`user` contains the time of guests already (proc(5)), so it is counted once."""
    machine = next((cpu for cpu in line.cpu if cpu.cpu == "cpu"), None)
    if machine is None:
        return Moment(line.elapsed_s, 0.0, 0.0, 0.0, None)
    second = line.jiffies_per_s
    return Moment(
        at_s=line.elapsed_s,
        user_s=(machine.user + machine.nice) / second,
        system_s=machine.system / second,
        interrupts_s=(machine.irq + machine.softirq) / second,
        used=line.trial,
    )


def _with_foreign(sample: TelemetrySample, others: Foreign) -> TelemetrySample:
    return sample.model_copy(
        update={
            "foreign_cpus": others.cpus,
            "kernel_cpus": others.kernel_cpus,
            "foreign_named_s": others.named_s,
            "foreign_processes": list(others.processes),
        }
    )


def _between(before: _Line, after: _Line) -> TelemetrySample | None:
    """Rates over one interval; None if no time, or no clock tick of the machine, passed in it."""
    duration_s = after.elapsed_s - before.elapsed_s
    earlier = {cpu.cpu: cpu for cpu in before.cpu}
    shares = {cpu.cpu: _shares(earlier[cpu.cpu], cpu) for cpu in after.cpu if cpu.cpu in earlier}
    if "cpu" not in shares:
        raise OutputUnreadable(f"telemetry: no CPU time of the whole machine at {after.elapsed_s} s")
    machine = shares.pop("cpu")
    if machine is None or duration_s == 0:
        return None
    read, written = _disk_bytes(before, after)
    received, sent = _network_bytes(before, after)
    own_us = None if after.own_cpu_us is None or before.own_cpu_us is None else after.own_cpu_us - before.own_cpu_us
    return TelemetrySample(
        at_s=after.elapsed_s,
        duration_s=duration_s,
        cpu_busy_share=machine["busy"],
        cpu_user_share=machine["user"],
        cpu_system_share=machine["system"],
        cpu_iowait_share=machine["iowait"],
        cpu_steal_share=machine["steal"],
        cpus_busy_share={name: share["busy"] for name, share in shares.items() if share is not None},
        cpus_steal_share={name: share["steal"] for name, share in shares.items() if share is not None},
        cpus_interrupt_share={name: share["interrupts"] for name, share in shares.items() if share is not None},
        cpu_quota_used_up_share=_quota_used_up_share(before.cpu_quota, after.cpu_quota),
        stopped_processes=after.trial.stopped if after.trial else None,
        frozen=after.frozen,
        disk_limits=after.disk_limits,
        stood_still_s=after.stood_still_s,
        disk_read_bytes_per_s=None if read is None else read / duration_s,
        disk_write_bytes_per_s=None if written is None else written / duration_s,
        disk_busy_share=_disk_busy_share(before, after, duration_s),
        network_receive_bytes_per_s=None if received is None else received / duration_s,
        network_send_bytes_per_s=None if sent is None else sent / duration_s,
        sampler_cpu_share=None if own_us is None else max(0, own_us) / MICROSECONDS_PER_SECOND / duration_s,
        clock_step_s=_clock_step_s(before, after),
        at_unix_ms=after.at_unix_ms,
    )


def _clock_step_s(before: _Line, after: _Line) -> float | None:
    """What the wall clock gained on the monotonic one. Both follow the same frequency, so it is 0 unless it was set."""
    if before.at_unix_ms is None or after.at_unix_ms is None:
        return None
    return (after.at_unix_ms - before.at_unix_ms) / MS_PER_SECOND - (after.elapsed_s - before.elapsed_s)


def _quota_used_up_share(before: _Quota | None, after: _Quota | None) -> float | None:
    """None: there never was a quota. A group that did not run used none of it."""
    if before is None or after is None or after.periods == 0:
        return None
    throttled = max(0, after.throttled_periods - before.throttled_periods)
    return min(1.0, throttled / max(1, after.periods - before.periods))


def _shares(before: _Cpu, after: _Cpu) -> dict[str, float] | None:
    """Shares of the elapsed time; None if no time passed (an offline CPU).

    The kernel's idle and iowait counters may run backwards by a tick (proc(5)): such a difference counts as zero.
    """
    fields = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    ticks = {name: max(0, getattr(after, name) - getattr(before, name)) for name in fields}
    total = sum(ticks.values())
    if total == 0:
        return None
    busy = total - ticks["idle"] - ticks["iowait"] - ticks["steal"]
    return {
        "busy": busy / total,
        "user": (ticks["user"] + ticks["nice"]) / total,
        "system": (ticks["system"] + ticks["irq"] + ticks["softirq"]) / total,
        "interrupts": (ticks["irq"] + ticks["softirq"]) / total,
        "iowait": ticks["iowait"] / total,
        "steal": ticks["steal"] / total,
    }


def _whole_disks(before: _Line, after: _Line) -> list[tuple[_Disk, _Disk]]:
    """Every item present in both readings, with its old and new value."""
    earlier = {disk.name: disk for disk in before.disks}
    return [
        (earlier[disk.name], disk) for disk in after.disks if disk.name in earlier and _WHOLE_DISK.fullmatch(disk.name)
    ]


def _disk_busy_share(before: _Line, after: _Line, duration_s: float) -> float | None:
    """The kernel's counter runs while a request is in flight, and a little ahead of the clock."""
    pairs = _whole_disks(before, after)
    busy_ms = [new.io_ms - old.io_ms for old, new in pairs if new.io_ms is not None and old.io_ms is not None]
    return min(1.0, max(0, *busy_ms, 0) / 1000 / duration_s) if busy_ms else None


def _disk_bytes(before: _Line, after: _Line) -> tuple[int | None, int | None]:
    pairs = _whole_disks(before, after)
    if not pairs:
        return None, None
    read = sum(max(0, new.read_sectors - old.read_sectors) for old, new in pairs)
    written = sum(max(0, new.written_sectors - old.written_sectors) for old, new in pairs)
    return read * SECTOR_BYTES, written * SECTOR_BYTES


def _network_bytes(before: _Line, after: _Line) -> tuple[int | None, int | None]:
    earlier = {interface.name: interface for interface in before.network}
    pairs = [(earlier[one.name], one) for one in after.network if one.name in earlier and one.name != "lo"]
    if not pairs:
        return None, None
    received = sum(max(0, new.rx_bytes - old.rx_bytes) for old, new in pairs)
    return received, sum(max(0, new.tx_bytes - old.tx_bytes) for old, new in pairs)
