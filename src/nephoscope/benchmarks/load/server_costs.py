"""What an operation costs the server: counters over the measurement, per operation that ended meanwhile; pure.

Two sources, under names of their own, which are never compared: what the sampler reads of the server's processes and
of its machine (`server_…`), and what the server says itself (`counted_…`), all that is known of a user's own one.

The sampler reads in its own rhythm. So the first and the last reading within the measurement count, with the operations
that ended between them: the rate may change from second to second, what an operation costs hardly does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from nephoscope.benchmarks.base import Ended, stretches
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.units import MS_PER_SECOND

Counters = Mapping[str, float]
"""Name -> value since some moment; names that are not there are not known."""

_LEAST_S = 0.9
"""Between two readings; in less, ticks of 10 ms and moments of reading are too large a part."""
_UNSEEN_SHARE = 0.05
"""Of the server's CPU time: a larger part of processes that came and went between two readings, of which nobody knows
how often they got a CPU, would make the context switches too few."""


class Reading(NamedTuple):
    """Counters at one moment, by the load machine's wall clock."""

    at_unix_ms: float
    counters: Counters


@dataclass(frozen=True)
class Cost:
    """A counter as a metric."""

    counter: str
    metric: Metric


_ENDINGS = {"s": "_s", "J": "_j"}
"""Unit -> what its counters end with, where their names do not say it."""


def _costs(source: str, also: str, *rows: tuple[str, str, str, str]) -> tuple[Cost, ...]:
    """Of each row: what is counted, its unit, its title and its clock."""
    return tuple(
        Cost(
            name + _ENDINGS.get(unit, ""),
            Metric.lower(
                f"{source}_{name}_per_operation", unit, f"{title} per operation{also}", f"{clock} / operations ended"
            ),
        )
        for name, unit, title, clock in rows
    )


_PROCESSES = "the server's processes, those that ended included"
_DISKS = "whole disks of the server's machine"
_NETWORK = "interfaces of the server's machine but loopback; not where it also runs the load generator"
_RUNS = "how often threads of the server's processes got a CPU"
SAMPLED = _costs(
    "server",
    "",
    ("cpu", "s", "server CPU time", f"user + system time of {_PROCESSES}"),
    ("user_cpu", "s", "server CPU time in programs", f"user time of {_PROCESSES}"),
    ("system_cpu", "s", "server CPU time in the kernel", f"system time of {_PROCESSES}"),
    ("context_switches", "1", "context switches of the server", _RUNS),
    ("minor_faults", "1", "minor page faults of the server", f"faults without I/O of {_PROCESSES}"),
    ("major_faults", "1", "major page faults of the server", f"faults with I/O of {_PROCESSES}"),
    ("disk_reads", "1", "reads at the disk", f"reads completed by {_DISKS}"),
    ("disk_read_bytes", "B", "bytes read at the disk", f"read from {_DISKS}"),
    ("disk_writes", "1", "writes at the disk", f"writes completed by {_DISKS}"),
    ("disk_written_bytes", "B", "bytes written at the disk", f"written to {_DISKS}"),
    ("received_bytes", "B", "bytes that the server received", f"received on {_NETWORK}"),
    ("sent_bytes", "B", "bytes that the server sent", f"sent on {_NETWORK}"),
    ("energy", "J", "energy of the server's CPUs", "RAPL counters of all packages of its machine"),
)
"""What the sampler reads on machines of the server."""
COUNTED = _costs(
    "counted",
    ", by the server's own count",
    ("log_bytes", "B", "bytes of log", "growth of the log: PostgreSQL's WAL, InnoDB's log, Valkey's append-only file"),
    ("cpu", "s", "CPU time", "user + system time: INFO of Valkey"),
    (
        "read_bytes",
        "B",
        "bytes read from files",
        "reads asked of the kernel: pg_stat_io, from version 16; Innodb_data_read",
    ),
    (
        "written_bytes",
        "B",
        "bytes written to files",
        "writes asked of the kernel: pg_stat_io, from version 16; Innodb_data_written",
    ),
    ("received_bytes", "B", "bytes received", "from clients: INFO of Valkey, status of MariaDB"),
    ("sent_bytes", "B", "bytes sent", "to clients: INFO of Valkey, status of MariaDB"),
)
"""What servers say themselves."""
_BETWEEN = "between the looks at its counters, after the first second of the measurement and at its end"
HAPPENED = tuple(
    Cost(f"{what}s", Metric.lower(f"{what}s_in_measurement", "1", f"{what}s during the measurement", clock))
    for what, clock in (
        ("checkpoint", f"checkpoints that PostgreSQL began {_BETWEEN}"),
        ("vacuum", f"tables of the database that PostgreSQL finished to vacuum {_BETWEEN}"),
    )
)
"""What a server does now and then, and what may be the cause of a pause."""
SERVER_COSTS = tuple(cost.metric for cost in (*SAMPLED, *COUNTED, *HAPPENED))


def measurements(
    costs: Sequence[Cost], ended: Sequence[Ended], machines: Sequence[Sequence[Reading]]
) -> Iterator[Measurement]:
    """The costs of an operation that are known of every machine: their sum.

    Args:
        costs: to look for.
        ended: operations, in order of time.
        machines: readings of each machine (or of the servers together), in order of time.
    """
    each = [_per_operation(ended, readings) for readings in machines]
    for cost in costs:
        values = [found.get(cost.counter) for found in each]
        if values and None not in values:
            value = fsum(one for one in values if one is not None)
            yield cost.metric.measured(value)


def happened(ended: Sequence[Ended], readings: Sequence[Reading]) -> Iterator[Measurement]:
    """What the server did meanwhile, as far as it counts that.

    Args:
        ended: operations, in order of time.
        readings: of the server's own counters, in order of time.
    """
    grown, _ = _grown(ended, readings)
    yield from (one.metric.measured(grown[one.counter]) for one in HAPPENED if grown.get(one.counter, -1) >= 0)


def _per_operation(ended: Sequence[Ended], readings: Sequence[Reading]) -> Counters:
    """Growth of each counter / operations."""
    sums, operations = _grown(ended, readings)
    if sums.get("unseen_cpu_s", 0.0) > _UNSEEN_SHARE * sums.get("cpu_s", 0.0):
        sums.pop("context_switches", None)
    return {name: total / operations for name, total in sums.items() if total >= 0}  # a server that restarted


def _grown(ended: Sequence[Ended], readings: Sequence[Reading]) -> tuple[dict[str, float], float]:
    """Growth of each counter, and the operations meanwhile, of all parts of the measurement with two readings."""
    grown: list[Counters] = []
    operations = 0.0
    for part in stretches(ended):
        within = [one for one in readings if part[0].from_unix_ms <= one.at_unix_ms <= part[-1].to_unix_ms]
        if within and within[-1].at_unix_ms - within[0].at_unix_ms >= _LEAST_S * MS_PER_SECOND:
            first, last = within[0], within[-1]
            operations += _ended_until(part, last.at_unix_ms) - _ended_until(part, first.at_unix_ms)
            shared = first.counters.keys() & last.counters.keys()
            grown.append({name: last.counters[name] - first.counters[name] for name in shared})
    if operations <= 0:
        return {}, 0.0
    names = set.intersection(*(set(one) for one in grown))
    return {name: fsum(one[name] for one in grown) for name in names}, operations


def _ended_until(part: Sequence[Ended], at_unix_ms: float) -> float:
    """Operations that ended before a moment, as if they ended evenly within each interval."""
    return fsum(
        one.operations
        * min(1.0, max(0.0, (at_unix_ms - one.from_unix_ms) / max(1.0, one.to_unix_ms - one.from_unix_ms)))
        for one in part
    )
