"""Telemetry -> what each machine did while it was measured; pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import fsum
from statistics import median

from nephoscope.benchmarks.base import Ended
from nephoscope.benchmarks.load import counting, server_costs
from nephoscope.benchmarks.load.server_costs import Reading
from nephoscope.checks.steal import at_baseline, stolen_share
from nephoscope.machines.telemetry import Lines, server_counters
from nephoscope.model.records import EMULATED, CommandRecord, Measurement, ResourceUse, Series, TelemetrySample
from nephoscope.model.units import MS_PER_SECOND
from nephoscope.store.attempt import Attempt

_MS = 1000.0


def resource_use(
    telemetry: Mapping[str, Sequence[TelemetrySample]],
    measured_cpus: Mapping[str, Sequence[str]],
    burstable: Collection[str] = (),
    commands: Sequence[CommandRecord] = (),
) -> list[ResourceUse]:
    """Resource use of each sampled machine, by name, as a whole and during each command that left output.

    Args:
        telemetry: samples by machine.
        measured_cpus: by machine, names of the CPUs in the affinity mask of whatever is measured; if they are not
        known, all CPUs of the machine.
        burstable: names of the machines whose type earns CPU credits.
        commands: that were executed, on any machine.
    """

    def use(machine: str, samples: Sequence[TelemetrySample]) -> ResourceUse:
        return _use(machine, samples, measured_cpus.get(machine, ()), burstable=machine in burstable)

    found = []
    for machine, samples in sorted(telemetry.items()):
        if samples:
            parts = {name: use(machine, some) for name, some in _by_phase(samples, commands).items()}
            found.append(use(machine, samples).model_copy(update={"phases": parts if len(parts) > 1 else {}}))
    return found


def _by_phase(
    samples: Sequence[TelemetrySample], commands: Sequence[CommandRecord]
) -> dict[str, list[TelemetrySample]]:
    """The samples that lie within each command that left output, as far as the clocks of both machines agree."""
    found: dict[str, list[TelemetrySample]] = defaultdict(list)
    for command in commands:
        begin_ms, end_ms = command.started_unix_ms, command.started_unix_ms + _MS * command.duration_s
        inside = [
            one
            for one in samples
            if one.at_unix_ms is not None
            and begin_ms <= one.at_unix_ms - _MS * one.duration_s
            and one.at_unix_ms <= end_ms
        ]
        if command.output is not None and inside:
            found[command.output] += inside
    return dict(found)


def cpu_time(telemetry: Mapping[str, Sequence[TelemetrySample]], commands: Sequence[CommandRecord]) -> list[Series]:
    """CPU time that a machine spent on what is measured, second by second of each command that left output.

    This is the work of programs that only compute and do not say how far they are. CPU time of others is left out as
    far as the sampler knows it.
    """
    found = []
    for machine, samples in sorted(telemetry.items()):
        own = [command for command in commands if command.machine == machine]
        for within in _by_phase(samples, own).values():
            first = within[0]
            begins_unix_ms = None if first.at_unix_ms is None else first.at_unix_ms - _MS * first.duration_s
            found.append(
                Series(
                    metric="CPU time",
                    unit="ms/s",
                    step_s=median(one.duration_s for one in within),
                    values=[_own_cpus(one) * _MS for one in within],
                    at_unix_ms=begins_unix_ms,
                )
            )
    return found


def _own_cpus(sample: TelemetrySample) -> float:
    """CPUs that the trial kept busy, to a tenth, as processes and machines are counted by two clocks."""
    others = (sample.foreign_cpus or 0.0) + (sample.kernel_cpus or 0.0)
    return max(0.0, round(sample.cpu_busy_share * len(sample.cpus_busy_share) - others, 1))


def _use(machine: str, samples: Sequence[TelemetrySample], cpus: Sequence[str], *, burstable: bool) -> ResourceUse:
    return ResourceUse(
        machine=machine,
        sampled_s=fsum(one.duration_s for one in samples),
        cpu_busy_share=median(_cpu_busy_share(one, cpus) for one in samples),
        cpu_quota_used_up_share=_median(samples, lambda one: one.cpu_quota_used_up_share),
        disk_busy_share=_median(samples, lambda one: one.disk_busy_share),
        disk_read_bytes_per_s=_median(samples, lambda one: one.disk_read_bytes_per_s),
        disk_write_bytes_per_s=_median(samples, lambda one: one.disk_write_bytes_per_s),
        network_receive_bytes_per_s=_median(samples, lambda one: one.network_receive_bytes_per_s),
        network_send_bytes_per_s=_median(samples, lambda one: one.network_send_bytes_per_s),
        stolen_share=stolen_share(samples, cpus),
        at_baseline=burstable and at_baseline(samples, cpus),
    )


def _cpu_busy_share(sample: TelemetrySample, cpus: Sequence[str]) -> float:
    """Includes stolen time: a CPU that waits for the hypervisor also has work."""
    shares = [
        sample.cpus_busy_share[cpu] + sample.cpus_steal_share.get(cpu, 0.0)
        for cpu in cpus
        if cpu in sample.cpus_busy_share
    ]
    share = fsum(shares) / len(shares) if shares else sample.cpu_busy_share + sample.cpu_steal_share
    return min(1.0, share)


def _median(samples: Sequence[TelemetrySample], value_of: Callable[[TelemetrySample], float | None]) -> float | None:
    """None: no second has the value."""
    known = [value for value in map(value_of, samples) if value is not None]
    return median(known) if known else None


_OF_MACHINE = ("received_bytes", "sent_bytes", "energy_j")
"""Counters that say nothing of the server where its machine also runs the load generator."""
_OF_HOST = ("disk_reads", "disk_read_bytes", "disk_writes", "disk_written_bytes", "energy_j")
"""Counters that emulated machines share."""


def server_costs_of(
    attempt: Attempt, ended: Sequence[Ended], telemetry: Mapping[str, Lines], raw: Mapping[str, bytes]
) -> Iterator[Measurement]:
    """The costs that are known: none of a trial that was stored before they were counted.

    Args:
        attempt: whose machines and clocks.
        ended: the operations that were measured.
        telemetry: what the samplers wrote, by machine; where it cannot be read, the checks say so.
        raw: all output.
    """
    started = attempt.started()
    if not ended or started is None:
        return
    load = next(iter(started.load_machines), "")
    offsets_s = {record.machine: record.before.clock_offset_s or 0.0 for record in attempt.facts()}
    machines: list[Sequence[Reading]] = []
    for name in [name for name in started.measured_cpus if name not in started.load_machines] or [load]:
        shared = {*(_OF_MACHINE if name == load else ()), *(_OF_HOST if EMULATED in started.conditions else ())}
        ahead_ms = (offsets_s.get(name, 0.0) - offsets_s.get(load, 0.0)) * MS_PER_SECOND
        machines.append(_readings(telemetry.get(name, ()), ahead_ms, shared))
    yield from server_costs.measurements(server_costs.SAMPLED, ended, machines)
    counted = counting.readings(raw)
    yield from server_costs.measurements(server_costs.COUNTED, ended, [counted])
    yield from server_costs.happened(ended, counted)


def _readings(lines: Lines, ahead_ms: float, left_out: Collection[str]) -> list[Reading]:
    """By the load machine's clock, of which this one is ahead; empty: no server was seen."""
    return [
        Reading(at_unix_ms - ahead_ms, {name: value for name, value in counters.items() if name not in left_out})
        for at_unix_ms, counters in server_counters(lines)
    ]
