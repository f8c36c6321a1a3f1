"""A benchmark whose numbers are invented: it runs no program, and reports the metrics of the real one."""

import json
import math
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from typing_extensions import override

from nephoscope.app.rehearsal.machines import DELIVERED, SimulatedMachine
from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.database.adversity import (
    ACKNOWLEDGED,
    IN_DOUBT,
    LASTED,
    LOST,
    OPERATIONS,
    QUANTITIES,
    RESPONSE,
    USUAL_RATE,
    AdversityParameters,
)
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.base import Endpoint
from nephoscope.machines.fake import Answer
from nephoscope.machines.remote import Command
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import ERRORS, Direction, Measurement, Metric
from nephoscope.model.subjects import DatabaseLoad, Extent, Subject
from nephoscope.model.units import KIB, MIB
from nephoscope.plan.preparation import HasDataSet
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database

PROGRAM = "nephoscope-rehearsal"
_OUTPUT = "rehearsal"
_MEASUREMENTS = TypeAdapter(list[Measurement])


class SimulatedBenchmark(Benchmark):
    """Replaces `real`: same name, version, parameters and metrics, but no tools, no data and no database load."""

    def __init__(self, real: Benchmark, load: Callable[[Cluster, int], Awaitable[None]]) -> None:
        """`load` takes the time that a data set of so many bytes takes to be there."""
        self.real, self.load = real, load
        self.name, self.version, self.title = real.name, real.version, real.title
        self.subject, self.extent, self.parameters = real.subject, real.extent, real.parameters

    @override
    def version_of(self, parameters: Mapping[str, Any]) -> int:
        return self.real.version_of(parameters)

    @override
    def subject_of(self, parameters: Any) -> Subject:
        return self.real.subject_of(parameters)

    @override
    def extent_of(self, parameters: Any) -> Extent:
        return self.real.extent_of(parameters)

    @override
    def measured_s(self, parameters: Any) -> float | None:
        return self.real.measured_s(parameters)

    @override
    def database_load_of(self, parameters: Any) -> DatabaseLoad | None:
        return self.real.database_load_of(parameters)

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        return self.real.metrics(parameters)

    @override
    def needs(self, parameters: Any) -> Needs:
        """Machines, and a raw volume, which decides about clusters; tools are never missing here."""
        real = self.real.needs(parameters)
        return Needs(machines=real.machines, raw_device=real.raw_device)

    @override
    def expected_duration_s(self, parameters: Any) -> float:
        return self.real.expected_duration_s(parameters)

    @override
    async def prepare(self, site: Site, parameters: Any) -> Endpoint | None:
        """Makes no data, but takes as long as that would."""
        if isinstance(self.real, HasDataSet):
            await self.load(site.cluster, self.real.fixture_bytes(parameters))
        return None

    @override
    async def run(self, site: Site, parameters: Any) -> None:
        argv = [PROGRAM, self.real.name, str(site.seed), parameters.model_dump_json(by_alias=True)]
        command = Command(argv, timeout_s=2 * self.expected_duration_s(parameters) + 60)
        completed = await site.execute(site.cluster.database[0], _OUTPUT, command)
        completed.require()

    @override
    def parse(self, raw: RawOutput, parameters: Any) -> list[Measurement]:
        try:
            return _MEASUREMENTS.validate_json(raw.get(f"{_OUTPUT}.stdout", b""))
        except ValidationError as error:
            raise OutputUnreadable(f"{PROGRAM} wrote something else: {error.errors()[0]['msg']}") from error


def invent(argv: Sequence[str], machine: SimulatedMachine) -> Answer:
    """The program: a pure function of its arguments and of the machine."""
    benchmark = BENCHMARKS[argv[1]]
    parameters = benchmark.parameters.model_validate_json(argv[3])
    found = list(measurements(benchmark, parameters, machine, int(argv[2])))
    rows = [one.model_dump(exclude_none=True) for one in found]
    return Answer(json.dumps(rows).encode(), takes_s=benchmark.expected_duration_s(parameters))


SECONDS = 30
"""Values of a trial that is stored second by second."""
_SPREAD = 0.01
"""Between trials, as a standard deviation of logarithms."""
_SPREAD_OF_SECONDS = {"throughput": 0.05, "round_trip": 0.2}
_ORDERS_PER_VCPU = 440.0
_LARGE_VCPUS = 8
_TPMC_PER_WAREHOUSE = 12.7
_PERCENTILES = {"p50": 0.9, "p95": 2.2, "p99": 3.5}
_TRIPS = {"": 1.0, "min": 0.93, "p50": 0.99, "p90": 1.1, "p95": 1.15, "p99": 1.25, "max": 1.4, "deviation": 0.05}
_FAR_TRIPS = {"": 1.0, "min": 0.99, "p50": 1.0, "p90": 1.01, "p95": 1.01, "p99": 1.02, "max": 1.05, "deviation": 0.002}
_CACHES_BYTES = {"level_1_size": 32.0 * KIB, "level_2_size": 1.0 * MIB, "level_3_size": 32.0 * MIB}
_STATED = {"objects": "rows", "object_bytes": "min_block_bytes"}
"""Metrics of a search that its load's parameters state."""
_SECOND_ENDS = {"": 1.0, "_min_1s": 0.7, "_median_1s": 1.01, "_max_1s": 1.2}
_THROTTLED_ENDS = {"": 1.0, "_min_1s": 0.55, "_median_1s": 0.65, "_max_1s": 1.8}
_BURST_SECONDS, _BURST, _SUSTAINED = 10, 1.7, 0.65
"""Of a network that spends credits: the mean over `SECONDS` is 1."""


def measurements(benchmark: Benchmark, parameters: Any, machine: SimulatedMachine, seed: int) -> Iterator[Measurement]:
    """What one trial reports; equal arguments give equal numbers."""
    values = parameters.model_dump(mode="json")
    drawn = random.Random(f"nephoscope/rehearsal/{machine.asked.name}/{benchmark.name}/{values}/{seed}")  # noqa: S311
    if isinstance(parameters, AdversityParameters):
        yield from faults_measured(parameters, machine, drawn)
        return
    of_trial = math.exp(drawn.gauss(0, _SPREAD))
    for metric in benchmark.metrics(parameters):
        level = _level(benchmark, values, machine, metric)
        if level is None:
            continue
        if metric.name in _STATED:
            yield metric.measured(level)
            continue
        value = level * (of_trial if metric.direction is Direction.HIGHER else 1 / of_trial)
        yield metric.measured(value)
        spread = _SPREAD_OF_SECONDS.get(metric.name)
        for second in range(1, SECONDS + 1) if spread else ():
            each = value * math.exp(drawn.gauss(0, spread or 0))
            if metric.name == "throughput" and machine.has_network_credits:
                each *= _BURST if second <= _BURST_SECONDS else _SUSTAINED
            yield metric.measured(each, float(second))


def sent_bytes_per_s(benchmark: Benchmark, machine: SimulatedMachine) -> float:
    """What the load machine sends to the database machine."""
    if benchmark.name in {"ping", "request-response"}:
        return 1e6 / machine.speed
    if benchmark.subject is Subject.NETWORK:
        return 1e9 * machine.speed * (1 + machine.vcpus / 16)
    return 1e5 * machine.vcpus if benchmark.subject is Subject.DATABASE else 0.0


def _level(benchmark: Benchmark, values: Mapping[str, Any], machine: SimulatedMachine, metric: Metric) -> float | None:
    """None: this metric is left out, as there are many."""
    if benchmark.subject is Subject.NETWORK:
        return _network(machine, metric)
    if benchmark.subject is Subject.STORAGE:
        return _storage(machine, metric)
    if benchmark.subject is Subject.MEMORY:
        return _memory(machine, metric.name)
    response = _response(machine, metric.name, benchmark.name) if benchmark.subject is Subject.DATABASE else None
    if response is not None or not metric.headline:
        return response or _stated(values, metric.name)
    if benchmark.name == "tpcc":
        return _orders(machine, values)
    return _headline(benchmark, machine, metric)


def _headline(benchmark: Benchmark, machine: SimulatedMachine, metric: Metric) -> float:
    """A rate that grows with vCPUs, or a time that does not."""
    if benchmark.name == "coremark":
        each = 21_000.0 * machine.speed * (1.0 if machine.vcpus <= _LARGE_VCPUS else 0.96)
        return each * machine.vcpus if metric.name.startswith("multi") else 1.4 * each
    if metric.direction is Direction.LOWER:
        return 0.01 / machine.speed
    many = machine.asked.database_machine.count if benchmark.subject is Subject.DATABASE else 1
    return 180.0 * many * machine.vcpus * machine.speed


def _orders(machine: SimulatedMachine, values: Mapping[str, Any]) -> float:
    """New-Orders a minute: what is driven if it waits, else what the machines can do with so much memory."""
    count = machine.asked.database_machine.count
    per_vcpu = _ORDERS_PER_VCPU * machine.speed * (1.04 if machine.has_fast_volumes else 1.0)
    can = per_vcpu * count * machine.vcpus * (1.0 if machine.vcpus <= _LARGE_VCPUS else 0.86)
    if values.get("wait") == "spec":
        return min(_TPMC_PER_WAREHOUSE * (values.get("active_warehouses") or values.get("warehouses") or 1), can)
    step = values.get("active_warehouses_per_cpu") or 50
    tired = max(0.0, 3 - machine.gib_per_vcpu) * (step - 50) / 1500
    return can * (1 - tired)


def _stated(values: Mapping[str, Any], name: str) -> float | None:
    stated = values["parameters"].get(_STATED[name]) if name in _STATED else None
    return None if stated is None else float(stated)


def _response(machine: SimulatedMachine, name: str, benchmark: str) -> float | None:
    operation, _, quantity = name.partition(".")
    kind, _, percentile = quantity.rpartition("_")
    if kind not in {"service", "response"} or percentile not in _PERCENTILES:
        return None
    base_s = 0.04 if operation in {"delivery", "stock_level"} else 0.015
    if benchmark == "highest-load":
        base_s = 0.001  # as rules demand
    return base_s * _PERCENTILES[percentile] / machine.speed


def _network(machine: SimulatedMachine, metric: Metric) -> float | None:
    name = metric.name
    if name.startswith("throughput"):
        end = name.removeprefix("throughput")
        ends = _THROTTLED_ENDS if machine.has_network_credits else _SECOND_ENDS
        level = 9.6e9 * machine.speed * (1 + max(0, machine.vcpus - 16) / 20)
        if machine.bandwidth is not None:
            level = machine.bandwidth.value * (0.57 if machine.has_network_credits else DELIVERED)
        return level * ends[end] * (0.5 if machine.is_far else 1.0) if end in ends else None
    _, trip, quantity = name.rpartition("round_trip")
    if not trip:
        return None
    factor = (_FAR_TRIPS if machine.is_far else _TRIPS).get(quantity.removeprefix("_"))
    return None if factor is None else (0.08 if machine.is_far else 7e-5) * factor / machine.speed


def _memory(machine: SimulatedMachine, name: str) -> float | None:
    """Caches of 32 KiB, 1 MiB and 32 MiB, each a step slower; memory behind them."""
    head, _, quantity = name.partition(".")
    kind, _, size = quantity.partition("_in_")
    if head == "cache":
        return _CACHES_BYTES.get(quantity)
    if head == "core-to-core":
        return _way_between(machine, quantity)
    beyond = (
        sum(int(size.partition("_")[0]) > cache for cache in _CACHES_BYTES.values()) if size else len(_CACHES_BYTES)
    )
    if kind == "latency" and head == "small-pages":
        return (1.2e-9, 4e-9, 1.5e-8, 9e-8)[beyond] / machine.speed
    if kind == "bandwidth" and head in {"read-single", "read-multi"}:
        each = (9e10, 6e10, 2.5e10, 1.1e10)[beyond] * machine.speed
        return each * (machine.vcpus ** (0.8 if beyond == len(_CACHES_BYTES) else 1.0) if head == "read-multi" else 1.0)
    return None


def _way_between(machine: SimulatedMachine, quantity: str) -> float | None:
    """Two CPUs share a core, four share a cache."""
    near_s, middle_s, far_s = (one / machine.speed for one in (1e-8, 3e-8, 1.1e-7))
    kind, *cpus = quantity.split("_")
    if kind != "pair":
        return {"shortest": near_s, "median": far_s, "longest": far_s}[kind]
    here, there = (int(cpu) - 1 for cpu in cpus)
    if there >= machine.vcpus:
        return None
    return near_s if here // 2 == there // 2 else middle_s if here // 4 == there // 4 else far_s


def _storage(machine: SimulatedMachine, metric: Metric) -> float | None:
    """Jobs of fio, and sysbench's curves over threads ('read-16.iops')."""
    head, _, quantity = metric.name.partition(".")
    kind, _, threads = head.rpartition("-")
    if threads.isdigit() and kind in {"read", "write"}:
        slow = 0.4 if machine.asked.database_machine.volumes else 1.0
        rate = 900.0 * slow * machine.speed * float(min(int(threads), 12) ** 0.8)
        rate *= machine.reads_per_write if kind == "read" else 1.0
        waited_s = int(threads) / rate
        return {"iops": rate, "bandwidth": rate * 32_768, "latency_mean": waited_s, "latency_p95": 2.2 * waited_s}.get(
            quantity
        )
    rate = 16_000.0 if machine.has_fast_volumes else 8_000.0
    rate *= machine.reads_per_write if head.startswith("rd") else 1.0
    rate = min(rate, machine.volume_iops) * (0.8 if "fsync" in head else 1.0)
    known = {"iops": rate, "bandwidth": rate * 8_192, "latency_mean": 16 / rate, "latency_p99": 40 / rate}
    return known.get(quantity) if quantity else (rate if metric.headline else None)


SHOWN_S = 45.0
"""Before and after a fault: of other seconds nothing is drawn, as a study has many thousands."""
_BACK_S = 1.5
"""For a server to start and recover, and for clients to find it."""
_RATE_PER_S = 1_000.0
_RESPONSE_S = 0.004
_OUTAGE_SPREAD = 0.1
_LOST = 12
"""Acknowledged writes of the moment before a fault, where no other copy has them."""


def faults_measured(
    parameters: AdversityParameters, machine: SimulatedMachine, drawn: random.Random
) -> Iterator[Measurement]:
    """What one trial reports."""
    database, schedule = machine.asked.database, parameters.schedule
    rate_per_s = parameters.rate_per_s or _RATE_PER_S * machine.vcpus * machine.speed
    ended: dict[str, list[float]] = {one.metric.name: [] for one in QUANTITIES}
    for number in range(schedule.count):
        begin_s = schedule.first_s + number * schedule.cycle_s
        outage_s = _outage_s(parameters, database) * math.exp(drawn.gauss(0, _OUTAGE_SPREAD))
        values = _values(parameters, outage_s, database)
        for quantity in QUANTITIES:
            ended[quantity.metric.name].append(values[quantity.metric.name])
            yield quantity.of_outage.measured(values[quantity.metric.name], begin_s)
        yield LASTED.measured(parameters.fault_s, begin_s)
        until_s = min(begin_s + outage_s + SHOWN_S, begin_s + parameters.fault_s + parameters.recovery_s)
        for second in range(round(begin_s - min(parameters.baseline_s, SHOWN_S)), round(until_s)):
            is_away = begin_s <= second < begin_s + outage_s
            each = 0.0 if is_away else rate_per_s * math.exp(drawn.gauss(0, 0.02))
            yield OPERATIONS.measured(each, second + 1.0)
            if not is_away:
                late_s = outage_s if second < begin_s + outage_s + 1 and second > begin_s else 0.0
                yield RESPONSE.measured(late_s + _RESPONSE_S * math.exp(drawn.gauss(0, 0.1)), second + 1.0)
    for quantity in QUANTITIES:
        of_trial = sorted(ended[quantity.metric.name])
        yield quantity.metric.measured(of_trial[len(of_trial) // 2])
    yield USUAL_RATE.measured(rate_per_s)
    yield ACKNOWLEDGED.measured(float(round(rate_per_s * (schedule.end_s - schedule.first_s) / 2)))
    yield IN_DOUBT.measured(float(schedule.count))
    yield LOST.measured(float(_LOST * schedule.count if _loses(parameters, database) else 0))


def _outage_s(parameters: AdversityParameters, database: Database) -> float:
    """Until another server has taken over, or the same one is back."""
    if database.failover == "patroni" and parameters.fault_s > (of := database.patroni.ttl if database.patroni else 30):
        return 0.85 * of + _BACK_S
    if database.failover is not None:
        timeout_ms = float(database.settings.get("cluster-node-timeout", "5000"))
        return min(timeout_ms / 1_000 + _BACK_S, parameters.fault_s + _BACK_S)
    return parameters.fault_s + (0.0 if parameters.fault == "pause" else _BACK_S)


def _loses(parameters: AdversityParameters, database: Database) -> bool:
    if parameters.fault != "kill":
        return False
    is_synchronous = database.patroni is not None and database.patroni.synchronous_mode
    return (database.failover is not None and not is_synchronous) or database.settings.get(
        "synchronous_commit"
    ) == "off"


def _values(parameters: AdversityParameters, outage_s: float, database: Database) -> Mapping[str, Any]:
    """Quantity -> its value."""
    during = max(0.0, 1 - outage_s / max(parameters.fault_s, 1e-9))
    errors = {one.metric.name: 0.0 for one in QUANTITIES if one.metric.name.startswith(ERRORS)}
    return {
        **errors,
        f"{ERRORS}lost": float(database.connections),
        "longest_outage": outage_s,
        "clients_hit_share": 1.0,
        "time_at_zero": outage_s,
        "time_slow": float(round(outage_s)),
        "time_to_usual_rate": outage_s + 0.5,
        "time_to_complete_copies": max(outage_s, parameters.fault_s) + 2.0,
        "throughput_during_share": during,
        "throughput_after_share": 1.1,
        "response_p99_ratio": outage_s / _RESPONSE_S,
    }
