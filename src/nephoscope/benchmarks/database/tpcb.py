"""pgbench's default transaction, "TPC-B (sort of)", run by our load generator on pgbench's tables.

It is not TPC-B, which requires more. With fewer branches than clients, the clients wait for each other.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.paced import PacedLoadBenchmark, PacedParameters, ended_per_s

BRANCH_BYTES = 16_000_000
"""On disk with the indexes: a branch, its tellers, its accounts."""


class TpcbParameters(PacedParameters):
    """Parameters of `tpcb`."""

    scale: int = Field(
        default=100,
        ge=1,
        le=21_000,
        description="number of branches, like pgbench -s: each has 10 tellers and 100,000 accounts",
    )
    profile: load_spec.Trips = Field(
        default="chatty",
        description="chatty: one round trip per statement, like pgbench; pipelined: one per transaction",
    )


class Tpcb(PacedLoadBenchmark):
    """See the module's text."""

    name = "tpcb"
    version = 1
    title = "pgbench's transaction (TPC-B, sort of)"
    parameters = TpcbParameters
    drives = load_spec.TpcbWorkload
    drawn_later = ("profile",)
    kinds = {"write": ("deposit",)}
    main_rate = ended_per_s("transactions")

    @override
    def version_of(self, parameters: Mapping[str, Any]) -> int:
        """Newer when pipelined: there each update is counted in the server, which takes a little more of its time."""
        return self.version + (parameters.get("profile") == "pipelined")

    @override
    def drawn(self, parameters: Any) -> tuple[str, ...]:
        return ("deposit",)

    @override
    def fixture_bytes(self, parameters: Any) -> int:
        return int(parameters.scale) * BRANCH_BYTES

    @override
    def notes(self, parameters: Any) -> list[str]:
        sent = {
            "chatty": "7 round trips per transaction, like pgbench.",
            "pipelined": "1 round trip per transaction, while pgbench has 7: not comparable with its numbers.",
        }
        branches = "1 branch" if parameters.scale == 1 else f"{parameters.scale} branches"
        return [parameters.pace_note("transactions"), f"{branches}; {sent[parameters.profile]}"]
