"""TPC-C 5.11: New-Orders per minute without wait times, or tpmC with them, in one of four interaction profiles.

Generation rules, transactions, profiles and consistency conditions: docs/concepts/tpcc.md; wait times, editions and
what efficiency means: docs/concepts/wait-times.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.tpcc_editions import (
    EDITIONS,
    Clients,
    ClusterSize,
    EditionName,
    active_warehouses,
    clients,
    deviations,
    with_preset,
)
from nephoscope.benchmarks.database.tpcc_rules import (
    MAX_TPMC_PER_WAREHOUSE,
    MAX_TPMC_PER_WAREHOUSE_OF_DECK,
    SPEC,
    requirements,
)
from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.benchmark import LoadBenchmark
from nephoscope.benchmarks.load.data_size import SizedByMemory, size_metrics
from nephoscope.benchmarks.load.metrics import generator_metrics, latency_metrics, rate
from nephoscope.benchmarks.load.paced import RunParameters
from nephoscope.benchmarks.presets import EDITION
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import conflict
from nephoscope.model.records import Measurement, Metric, Requirement
from nephoscope.model.units import MIB, SECONDS_PER_MINUTE

OPERATIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
DEFERRED_OPERATION = "delivery_deferred"
"""The work of a Delivery that a terminal only queued: its transaction is the `delivery` that queued it."""
WAREHOUSE_BYTES = 130 * MIB
"""On disk with indexes, growth during a trial of some minutes included, as measured."""
PUBLISHED_WAREHOUSE = "80 MB before replication by CockroachDB's overview: 11.2 TB of 140,000"


class TpccParameters(RunParameters, SizedByMemory):
    """Parameters of `tpcc`. An edition provides defaults; explicit values win and are reported as deviations."""

    counted: ClassVar[str] = "warehouses"

    edition: EditionName | None = EDITION
    warehouses: int = Field(default=10, ge=1, le=1_000_000, description="loaded")
    active_warehouses: int | None = Field(default=None, ge=1, description="how many of them are used; default: all")
    active_warehouses_per_cpu: int | None = Field(
        default=None, ge=1, description="active warehouses as a multiple of the CPUs of one database machine"
    )
    profile: load_spec.Profile = Field(
        default="batched",
        description="how transactions are divided into round trips; different profiles are never compared",
    )
    wait: load_spec.Wait = Field(default="none", description="spec: keying and think times of clause 5.2.5")
    wait_factor: float = Field(
        default=1.0, gt=0, description="scales both wait times; only with wait = spec, and then the result is not tpmC"
    )
    delivery: load_spec.Delivery = Field(
        default="inline",
        description="deferred: the terminal queues it and continues; the work is timed separately (2.7)",
    )
    ramp_s: float = Field(
        default=30,
        ge=0,
        description="time under load before the measurement interval, not measured; at least 45 with wait times",
    )
    duration_s: float = Field(default=300, ge=1, description="the measurement interval")

    @model_validator(mode="before")
    @classmethod
    def _of_its_edition(cls, given: Any) -> Any:
        return with_preset(given) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _fit_together(self) -> "TpccParameters":
        if self.wait_factor != 1 and self.wait == "none":
            raise conflict('`wait_factor` scales wait times, but there are none: add wait = "spec" or remove it')
        if self.active_warehouses is not None and self.active_warehouses > self.warehouses:
            raise conflict(f"`active_warehouses` {self.active_warehouses} is more than `warehouses` {self.warehouses}")
        if self.profile == "proc" and self.dialect != "postgres":
            raise conflict('`profile` "proc" calls functions of PostgreSQL or MySQL and needs the dialect "postgres"')
        if self.retry == "savepoint" and self.dialect != "cockroachdb":
            raise conflict('`retry` "savepoint" is CockroachDB\'s protocol and needs the dialect "cockroachdb"')
        return self

    @property
    def is_tpmc(self) -> bool:
        """True where New-Orders per minute may be called tpmC, and efficiency means something."""
        return self.wait == "spec" and self.wait_factor == 1


_NEW_ORDERS_CLOCK = (
    "New-Orders that ended in the measurement interval (1 % rolled back by design count, clause 5.5.1) / minutes"
)
_METRICS = declared_metrics("tpcc")
TRANSACTIONS = _METRICS["transactions_per_s"]
DEFERRED_IN_TIME = _METRICS["deferred_within_80_s"]
ROUND_TRIPS = _METRICS["round_trips_per_transaction"]


def headline(parameters: TpccParameters) -> Metric:
    """`tpmc` with the waits of the specification; else New-Orders per minute, with what was done to the waits."""
    waits = "no wait times" if parameters.wait == "none" else f"wait times x {parameters.wait_factor:g}"
    return Metric.higher(
        "tpmc" if parameters.is_tpmc else "new_orders_per_minute",
        "1/min",
        "TPC-C tpmC" if parameters.is_tpmc else f"TPC-C New-Orders per minute, {waits}",
        f"{_NEW_ORDERS_CLOCK}; profile {parameters.profile}; see also its round trips per transaction",
        headline=True,
        per_cpu=not parameters.is_tpmc,
        counted="tpmC" if parameters.is_tpmc else "TPC-C New-Orders/min",
    )


def _efficiency(name: str, per_warehouse: float, why: str) -> Metric:
    return Metric.higher(
        name,
        "%",
        f"efficiency, of {per_warehouse:g} tpmC per warehouse",
        f"100 x tpmC / ({per_warehouse:g} x active warehouses): {why}",
    )


EFFICIENCIES = (
    (
        MAX_TPMC_PER_WAREHOUSE,
        _efficiency("efficiency_of_12_86", MAX_TPMC_PER_WAREHOUSE, "the least mix of clause 5.2.3"),
    ),
    (
        MAX_TPMC_PER_WAREHOUSE_OF_DECK,
        _efficiency("efficiency_of_12_605", MAX_TPMC_PER_WAREHOUSE_OF_DECK, "the deck of 23 cards"),
    ),
)


def _asked_for(parameters: TpccParameters) -> Clients:
    return Clients(
        active_warehouses=parameters.active_warehouses,
        active_warehouses_per_cpu=parameters.active_warehouses_per_cpu,
        workers=parameters.workers,
        connections=parameters.connections,
    )


class Tpcc(LoadBenchmark):
    """See the module's text."""

    name = "tpcc"
    version = 2
    resumable = True
    title = "TPC-C"
    parameters = TpccParameters

    drives = load_spec.TpccWorkload
    drawn_later = ("active_warehouses", "profile", "wait", "wait_factor", "delivery")

    @override
    def workload(self, parameters: Any, clients: Clients) -> load_spec.AnyWorkload:
        driven = super().workload(parameters, clients)
        return driven.model_copy(update={"active_warehouses": clients.active_warehouses})

    @override
    def clients(self, site: Site, parameters: Any) -> Clients:
        """Follows the edition's rules."""
        machines = site.cluster.database
        return clients(
            parameters.edition,
            _asked_for(parameters),
            warehouses=parameters.warehouses,
            size=ClusterSize(node_cpus=len(machines[0].cpus), nodes=len(machines)),
            configured_connections=site.connections,
        )

    @override
    def as_run(self, parameters: Any, node_cpus: int) -> Any:
        """150 active warehouses per CPU are 1,200 on a machine with 8 CPUs."""
        active = active_warehouses(_asked_for(parameters), parameters.warehouses, node_cpus)
        return parameters.model_copy(update={"active_warehouses": active, "active_warehouses_per_cpu": None})

    @override
    def fixture_bytes(self, parameters: Any) -> int:
        return int(parameters.warehouses) * WAREHOUSE_BYTES

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        paced = parameters.wait == "spec"
        defers = parameters.delivery == "deferred"
        operations = (*OPERATIONS, DEFERRED_OPERATION) if defers else OPERATIONS
        latency = tuple(metric for operation in operations for metric in latency_metrics(operation, paced=paced))
        efficiency = tuple(metric for _, metric in EFFICIENCIES) if parameters.is_tpmc else ()
        return (
            headline(parameters),
            *efficiency,
            TRANSACTIONS,
            *latency,
            *((DEFERRED_IN_TIME,) if defers else ()),
            ROUND_TRIPS,
            *generator_metrics(paced=paced),
            *size_metrics(parameters),
        )

    @override
    def rates(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:
        """New-Orders per minute (or tpmC with its efficiencies), transactions per second, round trips per transaction.

        Of deferred Deliveries also how many were done in time. The wait times are those of the output, whatever the
        parameters say: what was observed, not what was meant.
        """
        first = rate(headline(parameters), output, SECONDS_PER_MINUTE, "new_order")
        found = first + rate(TRANSACTIONS, output, 1, *OPERATIONS)
        if parameters.is_tpmc:
            most = [(_active(output) * per_warehouse, metric) for per_warehouse, metric in EFFICIENCIES]
            found += [metric.measured(100 * first[0].value / tpmc, role="load") for tpmc, metric in most]
        ended = sum(row.all for row in output.finished.operations if row.operation != DEFERRED_OPERATION)
        if ended:
            value = output.finished.round_trips / ended
            found.append(ROUND_TRIPS.measured(value, role="load"))
        # Of several load machines, each has a line, `.shard_I` behind its name.
        lines = [line for line in output.finished.audit if line.name.split(".")[0] == DEFERRED_IN_TIME.name]
        queued = sum(line.draws for line in lines)
        if queued:
            value = 100 * sum(line.observed * line.draws for line in lines) / queued
            found.append(DEFERRED_IN_TIME.measured(value, role="load"))
        return found

    @override
    def requirements(self, output: load_output.LoadOutput, parameters: Any) -> list[Requirement]:
        """The pass rule of the edition, or that of the specification; none when the number is not tpmC."""
        if not parameters.is_tpmc:
            return []
        edition = EDITIONS.get(parameters.edition or "")
        rule = (edition.pass_rule if edition else None) or SPEC
        (tpmc, *_) = rate(headline(parameters), output, SECONDS_PER_MINUTE, "new_order")
        return requirements(
            rule, tpmc=tpmc.value, active_warehouses=_active(output), responses=load_output.responses(output)
        )

    @override
    def notes(self, parameters: Any) -> list[str]:
        waits = {"none": "no wait times", "spec": f"wait times of the specification x {parameters.wait_factor:g}"}
        found = [f"Profile {parameters.profile}; {waits[parameters.wait]}; Delivery {parameters.delivery}."]
        edition = EDITIONS.get(parameters.edition or "")
        if edition:
            different = deviations(parameters.model_dump())
            if different:
                found.append(f"{edition.name}, with {', '.join(different)}: not comparable with published numbers.")
            else:
                found.append(f"{edition.name}, as published: {edition.source}.")
        if not parameters.is_tpmc:
            why = "without wait times" if parameters.wait == "none" else "with scaled wait times"
            found.append(f"No tpmC and no efficiency: {why} the number of warehouses does not limit the rate.")
        return found


def _active(output: load_output.LoadOutput) -> int:
    """Active warehouses, as driven.

    Raises:
        OutputUnreadable: it is an output of another workload.
    """
    workload = output.started.spec.workload
    if not isinstance(workload, load_spec.TpccWorkload):
        raise OutputUnreadable(f"this output is from {workload.kind}, not from tpcc")
    return workload.active_warehouses or workload.warehouses
