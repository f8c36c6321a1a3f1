"""pgbench's default transaction, "TPC-B (sort of)", driven by our load generator on pgbench's tables.

It is not TPC-B, which asks for more. With fewer branches than clients these wait for each other at the branches.
"""

from types import MappingProxyType
from typing import Any

from pydantic import Field

from nephoscope.benchmarks import load_output, load_spec
from nephoscope.benchmarks.load_benchmark import LoadBenchmark
from nephoscope.benchmarks.load_metrics import generator_metrics, latency_metrics, rate
from nephoscope.benchmarks.load_parameters import PacedParameters
from nephoscope.records import Direction, Measurement, Metric

BRANCH_BYTES = 16_000_000
"""On disk with the indexes: a branch, its tellers, its accounts."""


class TpcbParameters(PacedParameters):
    """Parameters of `tpcb`."""

    scale: int = Field(
        default=100, ge=1, le=21_000, description="branches, as pgbench -s: each has 10 tellers and 100,000 accounts"
    )
    profile: load_spec.Trips = Field(
        default="chatty", description="chatty: a statement a round trip, as pgbench; pipelined: a transaction"
    )


TRANSACTIONS = Metric(
    name="transactions_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="transactions per second",
    clock="transactions that ended in the measurement interval / its length",
    headline=True,
    per_cpu=True,
)


class Tpcb(LoadBenchmark):
    """See the module's text."""

    name = "tpcb"
    version = 1
    title = "pgbench's transaction (TPC-B, sort of)"
    parameters = TpcbParameters
    kinds = MappingProxyType({"write": ("deposit",)})

    def data_set(self, parameters: Any) -> load_spec.TpcbWorkload:
        """See `LoadBenchmark.data_set`."""
        return load_spec.TpcbWorkload(scale=parameters.scale)

    def workload(self, parameters: Any, clients: Any) -> load_spec.TpcbWorkload:  # noqa: ARG002
        """See `LoadBenchmark.workload`."""
        return self.data_set(parameters).model_copy(update={"profile": parameters.profile})

    def pace(self, parameters: Any) -> load_spec.AnyPace:
        """See `LoadBenchmark.pace`."""
        pace: load_spec.AnyPace = parameters.spec_pace()
        return pace

    def fixture_bytes(self, parameters: Any) -> int:
        """See `LoadBenchmark.fixture_bytes`."""
        return int(parameters.scale) * BRANCH_BYTES

    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        """See `Benchmark.metrics`. At a rate that is given, configurations are ranked by response time."""
        paced = parameters.pace != "closed"
        latency = tuple(
            metric.model_copy(update={"headline": True}) if metric.name == "deposit.response_p99" else metric
            for metric in latency_metrics("deposit", paced=paced)
        )
        return (TRANSACTIONS.model_copy(update={"headline": not paced}), *latency, *generator_metrics(paced=paced))

    def rates(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:  # noqa: ARG002
        """Transactions per second."""
        return rate(TRANSACTIONS, output, 1, "deposit")

    def notes(self, parameters: Any) -> list[str]:
        """See `HasNotes.notes`: the pace, the size, and how it is sent."""
        sent = {
            "chatty": "7 round trips a transaction, as pgbench's.",
            "pipelined": "1 round trip a transaction, where pgbench has 7: not comparable with its numbers.",
        }
        branches = "1 branch" if parameters.scale == 1 else f"{parameters.scale} branches"
        return [parameters.pace_note("transactions"), f"{branches}; {sent[parameters.profile]}"]
