"""sysbench's `oltp_insert`, `oltp_read_write` and `oltp_read_only`, run by our load generator on sysbench's tables.

Released versions of sysbench choose rows with the distribution `special`, later ones with `uniform`: here it is a
parameter, and the notes of every report state it.
"""

from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.paced import PacedLoadBenchmark, PacedParameters, ended_per_s
from nephoscope.model.words import counted

ROW_BYTES = 320
"""On disk with both indexes."""


class OltpInsertParameters(PacedParameters):
    """Parameters of `oltp-insert`."""

    tables: int = Field(default=10, ge=1, le=1_000)
    rows: int = Field(default=100_000, ge=1, le=2_000_000_000, description="rows per table when it is loaded")
    distribution: load_spec.SysbenchDistribution = Field(
        default="uniform", description="distribution of column k in new rows, like sysbench's --rand-type"
    )


class _TransactionParameters(PacedParameters):
    """What both kinds of transactions have."""

    tables: int = Field(default=10, ge=1, le=1_000)
    rows: int = Field(default=100_000, ge=1, le=2_000_000_000, description="of each table")
    distribution: load_spec.SysbenchDistribution = Field(
        default="uniform", description="how a statement chooses its row, like sysbench's --rand-type"
    )
    profile: load_spec.Trips = Field(
        default="chatty",
        description="chatty: one round trip per statement, like sysbench; pipelined: one per transaction",
    )


class OltpReadWriteParameters(_TransactionParameters):
    """Parameters of `oltp-read-write`."""


class OltpReadOnlyParameters(_TransactionParameters):
    """Parameters of `oltp-read-only`."""


class _Oltp(PacedLoadBenchmark):
    """What all share."""

    operation: ClassVar[str]
    drawn_later = ("distribution", "profile")
    loaded_with = {"distribution": "uniform"}

    @override
    def drawn(self, parameters: Any) -> tuple[str, ...]:
        return (self.operation,)

    @override
    def fixture_bytes(self, parameters: Any) -> int:
        return int(parameters.tables) * int(parameters.rows) * ROW_BYTES

    def _tables_note(self, parameters: Any) -> str:
        tables, rows = counted(parameters.tables, "table"), counted(parameters.rows, "row")
        return f"{tables} of {rows} each, chosen by sysbench's distribution {parameters.distribution}."


class OltpInsert(_Oltp):
    """See the module's text."""

    name = "oltp-insert"
    version = 1
    title = "Inserts (sysbench oltp_insert)"
    parameters = OltpInsertParameters
    drives = load_spec.OltpInsertWorkload
    kinds = {"write": ("insert",)}
    operation = "insert"
    main_rate = ended_per_s("inserts")

    @override
    def notes(self, parameters: Any) -> list[str]:
        return [parameters.pace_note("inserts"), self._tables_note(parameters)]


class _Transactions(_Oltp):
    """What both kinds of transactions share."""

    main_rate = ended_per_s("transactions")
    sysbench_trips: ClassVar[int]

    @override
    def notes(self, parameters: Any) -> list[str]:
        trips = self.sysbench_trips
        sent = {
            "chatty": f"{trips} round trips per transaction, like sysbench.",
            "pipelined": f"1 round trip per transaction, while sysbench has {trips}: not comparable with its numbers.",
        }
        return [parameters.pace_note("transactions"), self._tables_note(parameters), sent[parameters.profile]]


class OltpReadWrite(_Transactions):
    """See the module's text."""

    name = "oltp-read-write"
    version = 1
    title = "Reads and writes (sysbench oltp_read_write)"
    parameters = OltpReadWriteParameters
    kinds = {"write": ("read_write",)}
    operation = "read_write"
    drives = load_spec.OltpReadWriteWorkload
    sysbench_trips = 20


class OltpReadOnly(_Transactions):
    """See the module's text."""

    name = "oltp-read-only"
    version = 1
    title = "Reads in transactions (sysbench oltp_read_only)"
    parameters = OltpReadOnlyParameters
    kinds = {"read": ("read_only",)}
    operation = "read_only"
    drives = load_spec.OltpReadOnlyWorkload
    sysbench_trips = 16
