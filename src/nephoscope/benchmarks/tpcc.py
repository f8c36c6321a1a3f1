"""TPC-C 5.11 without wait times: as many New-Orders as the database can do, on a data set that fits the machine.

Without keying and think times this is not a tpmC and has no efficiency; the 2022 Cloud Report ran it this way
(`--wait=0`). Generation rules, transactions and consistency conditions: docs/concepts/tpcc.md.
"""

from typing import Any

from pydantic import Field

from nephoscope.benchmarks import load_output
from nephoscope.benchmarks.load_benchmark import (
    CLIENT_CPU,
    CLIENT_CPU_PER_OPERATION,
    LoadBenchmark,
    RunParameters,
    latency_metrics,
    rate,
)
from nephoscope.benchmarks.load_contract import TpccWorkload
from nephoscope.records import Direction, Measurement, Metric
from nephoscope.units import MIB, SECONDS_PER_MINUTE

OPERATIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
WAREHOUSE_BYTES = 130 * MIB
"""On disk with indexes, growth during a trial of some minutes included."""


class TpccParameters(RunParameters):
    """Parameters of `tpcc`."""

    warehouses: int = Field(default=10, ge=1, le=100_000, description="loaded and active")
    ramp_s: float = Field(default=30, ge=0, description="driven before the measurement interval, not measured")
    duration_s: float = Field(default=300, ge=1, description="the measurement interval")


NEW_ORDERS = Metric(
    name="new_orders_per_minute",
    unit="1/min",
    direction=Direction.HIGHER,
    title="New-Orders per minute, no wait times",
    clock="New-Orders that ended in the measurement interval (1 % rolled back by design count, clause 5.5.1) / minutes",
    headline=True,
    per_cpu=True,
)
TRANSACTIONS = Metric(
    name="transactions_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="transactions of all five kinds per second",
    clock="transactions that ended in the measurement interval / its length",
    per_cpu=True,
)
ROUND_TRIPS = Metric(
    name="round_trips_per_transaction",
    unit="1",
    direction=Direction.LOWER,
    title="round trips per transaction",
    clock="counted by the load generator over ramp and measurement interval",
)


class Tpcc(LoadBenchmark):
    """See the module's text."""

    name = "tpcc"
    version = 1
    title = "TPC-C without wait times"
    parameters = TpccParameters

    def workload(self, parameters: Any) -> TpccWorkload:
        """See `LoadBenchmark.workload`."""
        return TpccWorkload(warehouses=parameters.warehouses)

    def fixture_bytes(self, parameters: Any) -> int:
        """See `LoadBenchmark.fixture_bytes`."""
        return int(parameters.warehouses) * WAREHOUSE_BYTES

    def metrics(self, parameters: Any) -> tuple[Metric, ...]:  # noqa: ARG002 - the same for all parameters
        """See `Benchmark.metrics`."""
        latency = tuple(metric for operation in OPERATIONS for metric in latency_metrics(operation))
        return (NEW_ORDERS, TRANSACTIONS, *latency, ROUND_TRIPS, CLIENT_CPU, CLIENT_CPU_PER_OPERATION)

    def rates(self, output: load_output.LoadOutput) -> list[Measurement]:
        """New-Orders per minute, transactions per second, round trips per transaction."""
        found = rate(NEW_ORDERS, output, SECONDS_PER_MINUTE, "new_order") + rate(TRANSACTIONS, output, 1, None)
        ended = sum(row.all for row in output.finished.operations)
        if ended:
            value = output.finished.round_trips / ended
            found.append(Measurement(metric=ROUND_TRIPS.name, unit=ROUND_TRIPS.unit, value=value, role="load"))
        return found
