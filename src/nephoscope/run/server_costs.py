"""Raw output -> what an operation cost the server, with the clocks of all machines brought together."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from nephoscope.benchmarks.base import Ended
from nephoscope.benchmarks.load import counting, server_costs
from nephoscope.benchmarks.load.server_costs import Reading
from nephoscope.machines.telemetry import Lines, server_counters
from nephoscope.model.records import EMULATED, Measurement
from nephoscope.model.units import MS_PER_SECOND
from nephoscope.store.attempt import Attempt

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
    yield from server_costs.measurements(server_costs.COUNTED, ended, [counting.readings(raw)])


def _readings(lines: Lines, ahead_ms: float, left_out: Collection[str]) -> list[Reading]:
    """By the load machine's clock, of which this one is ahead; empty: no server was seen."""
    return [
        Reading(at_unix_ms - ahead_ms, {name: value for name, value in counters.items() if name not in left_out})
        for at_unix_ms, counters in server_counters(lines)
    ]
