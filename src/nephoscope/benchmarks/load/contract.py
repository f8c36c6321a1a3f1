"""The process boundary to `nephoscope-load`: a JSON spec on its stdin, JSON lines on its stdout.

The models here define the output, and `schema/load-output-1.json` is generated from them. Rust defines the spec and
`schema/load-spec-1.json`; `spec.py` mirrors it. `tests/contract` checks the real program against both. Times are
seconds on the generator's monotonic clock, since the start of the action, unless a name or a description says
otherwise.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from nephoscope.benchmarks.load.spec import LoadSpec
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import GeneratorGap
from nephoscope.model.units import MS_PER_SECOND

EXIT_FINISHED = 0
EXIT_BAD_SPEC = 2
EXIT_CANNOT_CONNECT = 3
EXIT_RATE_NOT_KEPT = 4
EXIT_CONSISTENCY_BROKEN = 5
EXIT_TARGET_LOST = 6
EXIT_TOO_MANY_FAILED = 7
EXIT_STOOD_STILL = 8
EXIT_INTERRUPTED = 130


class Started(Frozen):
    """First line: what is about to happen, with the spec in force (no secret in it)."""

    event: Literal["started"]
    schema_: Literal["nephoscope/load-output/1"] = Field(alias="schema")
    version: str = Field(description="of nephoscope-load")
    spec: LoadSpec
    at_unix_ms: int
    server_version: str | None
    shards: int = Field(default=1, ge=1, description="generators whose outputs were merged into this one")


class Histograms(Frozen):
    """HDR V2-deflate base64, nanoseconds, 3 significant digits, 0 to 1 h. Closed pace: scheduled = previous done."""

    queue: str = Field(description="send - scheduled")
    service: str = Field(description="done - send, of the whole operation with its retries")
    response: str = Field(description="done - scheduled")


class OperationInterval(Frozen):
    """What ended in one interval, of one operation with one outcome."""

    operation: str
    outcome: Literal["committed", "rolled_back_by_design", "failed"]
    count: int = Field(ge=1)
    histograms: Histograms
    out_of_range: int = Field(default=0, ge=0, description="values above 1 h, counted and not recorded")


class ErrorCount(Frozen):
    """Errors or retries of one interval, by SQLSTATE."""

    operation: str
    sqlstate: str = Field(
        description="or in its place `lost` (the connection), `data` (rows that cannot be) or `protocol`"
    )
    kind: Literal["retried", "failed"]
    count: int = Field(ge=1)


class ThreadUse(Frozen):
    """What one thread of the generator used in one interval."""

    cpu_s: float = Field(ge=0, description="user + system")
    run_queue_s: float | None = Field(ge=0, description="ready to run and not running; null: the kernel does not tell")
    runs: int | None = Field(default=None, ge=0, description="how often it got a CPU; null: the kernel does not tell")
    involuntary_switches: int | None = Field(ge=0)


class NetworkUse(Frozen):
    """What the machine's network counters grew by in one interval; not only by the generator."""

    sent_bytes: int = Field(ge=0)
    received_bytes: int = Field(ge=0)
    retransmitted_segments: int = Field(ge=0)
    dropped_packets: int = Field(ge=0)


class ClientUse(Frozen):
    """What the generator itself used in one interval, and whether it was late. Null: nobody could say."""

    cpu_s: float = Field(ge=0, description="user + system of all threads")
    in_flight: int = Field(ge=0, description="operations under way at the end of the interval")
    threads: list[ThreadUse] = Field(default=[], description="of each generator thread; empty: not known")
    steal_s: float | None = Field(default=None, ge=0, description="stolen from the machine's CPUs by its hypervisor")
    machine_cpus: int | None = Field(default=None, ge=1, description="online; of several machines the sum")
    throttled: int | None = Field(default=None, ge=0, description="periods in which the cgroup's quota was used up")
    pacing_error: str | None = Field(
        default=None,
        description="HDR as below: taken - intended, of operations that had to wait for neither connection nor worker: "
        "the generator's own lateness. Null: nothing was paced",
    )
    queued: int = Field(default=0, ge=0, description="due and not started at the end of the interval")
    queued_while_idle: int = Field(
        default=0, ge=0, description="operations taken over 1 ms after they were due although a connection was free"
    )
    connections_lost: int | None = Field(
        default=None,
        ge=0,
        description="connections that the server or the network ended, with an operation on them or without; each is "
        "made again. Null: not known",
    )
    network: NetworkUse | None = None


class AttemptInterval(Frozen):
    """Single attempts of one operation, where one of them was retried in the interval; else attempt = service."""

    operation: str
    count: int = Field(ge=1)
    histogram: str = Field(description="HDR as below: from the first byte sent of the attempt to its last byte read")


class Interval(Frozen):
    """One line a second while running. An operation belongs to the interval in which it ended."""

    event: Literal["interval"]
    index: int = Field(ge=0)
    phase: Literal["ramp", "measure"]
    at_unix_ms: int = Field(
        ge=0, description="wall clock at `start_s`, from one reading when the load started: steps of it do not show"
    )
    start_s: float = Field(
        description="since the load started: all connections were open, and the first operations were due. "
        "Not since the start of the action"
    )
    end_s: float = Field(description="same origin; exclusive")
    operations: list[OperationInterval]
    ended_per_100_ms: list[Annotated[int, Field(ge=0)]] = Field(
        default=[],
        description="operations that ended and did not fail, in each 100 ms of the interval, of which the last may be "
        "shorter; empty: not recorded",
    )
    longest_gap_s: float | None = Field(
        default=None,
        ge=0,
        description="the longest time for which a client that had work was without success, of those that ended in the "
        "interval; null: none succeeded, or not recorded",
    )
    errors: list[ErrorCount]
    attempts: list[AttemptInterval] = []
    offered: int | None = Field(default=None, ge=0, description="arrivals due in the interval; null: closed pace")
    client: ClientUse

    @property
    def ended_unix_ms(self) -> float:
        """The wall clock at `end_s`."""
        return self.at_unix_ms + (self.end_s - self.start_s) * MS_PER_SECOND

    @property
    def ended_operations(self) -> int:
        """Those that committed, or were rolled back by design."""
        return sum(row.count for row in self.operations if row.outcome != "failed")


class AuditLine(Frozen):
    """A quantity the generator drew, and the range its specification allows."""

    name: str
    observed: float
    low: float
    high: float
    draws: int = Field(ge=0)
    passed: bool | None = Field(description="null: too few draws to judge")


class ConditionResult(Frozen):
    """One consistency condition (TPC-C 3.3.2.x; from 13 on, not in the specification)."""

    number: int
    text: str
    holds: bool
    violations: int = Field(ge=0)
    example: str | None


class CounterResult(Frozen):
    """The server's own count of something over the whole action, against the client's."""

    name: str
    before: int | None = Field(default=None, description="its value before; null for a server's statistics")
    after: int | None = Field(default=None, description="its value after the last operation")
    server: int = Field(description="how much it changed")
    client: int = Field(description="operations that committed for certain")
    in_doubt: int = Field(
        ge=0,
        description="what may have happened, too: operations whose commit was sent and never answered; of a server's "
        "statistics also attempts that were rolled back, and what its plans decide",
    )
    agrees: bool = Field(
        description="server is at least client, and at most client + in_doubt; of a shard that is not merged: the first"
    )


class TableLoad(Frozen):
    """What loading wrote into one table."""

    table: str
    rows: int = Field(ge=1)
    bytes: int = Field(ge=1)


class Fingerprint(Frozen):
    """A table as the server has it, against what its seed makes; equal right after a load.

    A hash is the sum over the rows of 64-bit hashes of their texts, modulo 2^64, in hexadecimal.
    """

    table: str
    rows: int = Field(ge=1)
    hash: str
    expected_rows: int = Field(ge=1)
    expected: str = Field(description="the hash of the rows that the seed makes")


class OperationTotal(Frozen):
    """Counts over the measurement interval alone (`measured`) and the whole action (`all`)."""

    operation: str
    outcome: Literal["committed", "rolled_back_by_design", "failed"]
    measured: int = Field(ge=0)
    all: int = Field(ge=0)


class RoundTrips(Frozen):
    """Round trips of one operation over the whole action, whatever its outcome."""

    operation: str
    round_trips: int = Field(ge=0)
    operations: int = Field(ge=0)


class Headline(Frozen):
    """TPC-C's number. tpmC and efficiency are null where they mean nothing: without waits, or with scaled ones."""

    new_orders_per_minute: float = Field(ge=0)
    round_trips_per_transaction: float | None = Field(ge=0)
    tpmc: float | None = Field(ge=0)
    efficiency_of_12_86_percent: float | None = Field(
        ge=0, description="the exact rate / (12.86 x active warehouses): the clause's mix"
    )
    efficiency_of_12_605_percent: float | None = Field(
        ge=0, description="the exact rate / (12.605 x active warehouses): the deck of 23 cards"
    )


class LedgerResult(Frozen):
    """Whether writes that the server acknowledged were there after the run: every row that was written was read."""

    rows: int = Field(ge=0, description="that were written")
    acknowledged: int = Field(ge=0, description="writes of a row")
    in_doubt: int = Field(ge=0, description="writes of a row that were sent, and neither acknowledged nor refused")
    in_doubt_kept: int = Field(ge=0, description="of these, how many were found")
    lost: int = Field(
        ge=0,
        description="acknowledged writes that are gone: what is there instead was acknowledged before they were sent, "
        "or is older than the run, or the row is missing",
    )
    lost_rows: int = Field(ge=0, description="rows with such a write")
    unsent: int = Field(
        ge=0, description="rows that hold a number of this run that nobody sent there, or that was refused"
    )
    example: str | None = Field(description="one row that is wrong")


class Outage(Frozen):
    """A time in which clients that had work were without success; those of several clients that overlap are one."""

    begin_s: float = Field(ge=0, description="the first client's, since the load started")
    end_s: float = Field(ge=0, description="the last client's")
    longest_s: float = Field(ge=0, description="of the client that was out longest")
    clients: int = Field(ge=1, description="that saw it")
    due: int = Field(ge=0, description="operations that were due in it, or failed in it")
    ended: bool = Field(description="every client that saw it had success again before the load ended")


class Outages(Frozen):
    """What clients saw of outages, over the whole action.

    A client's gap runs from its last success, or from when the work that waits was due if that is later, to its next
    success.
    """

    limit_s: float = Field(gt=0, description="a longer gap is an outage")
    clients: int = Field(ge=0, description="of the load")
    clients_hit: int = Field(ge=0, description="of these, how many saw an outage")
    longest_s: float = Field(ge=0, description="the longest gap of any client, outage or not")
    longest_wait_s: float = Field(
        ge=0, description="the longest time for which work waited, from when it was due to its success or to the end"
    )
    episodes: list[Outage] = Field(description="the first 1,000")


class Finished(Frozen):
    """Last line; its absence means that the program died."""

    event: Literal["finished"]
    exit_code: int
    message: str = Field(description="one sentence for people; empty when all went well")
    elapsed_s: float
    measured_s: float | None = Field(
        description="length of the measurement interval really driven; null for load, check"
    )
    operations: list[OperationTotal]
    errors: list[ErrorCount] = Field(description="over the whole action")
    offered: int | None = Field(
        default=None, ge=0, description="arrivals due in the measurement interval; null: closed pace"
    )
    not_sent: int | None = Field(default=None, ge=0, description="of these, never started; null: closed pace")
    round_trips: int = Field(ge=0, description="over the whole action, set-up excluded")
    round_trips_by_operation: list[RoundTrips] = []
    profile: str | None = Field(default=None, description="of the workload; null: it has none")
    isolation: str | None = Field(
        default=None, description="of the run's transactions, as the server shows it; null: not asked, or it has none"
    )
    prepared: Literal["named", "unnamed"] | None = Field(
        default=None, description="how the run's statements were prepared; null: nothing was run, or not in SQL"
    )
    pooled: bool | None = Field(
        default=None, description="whether a connection pooler answered for the server; null: not asked"
    )
    encryption: str | None = Field(
        default=None,
        description="of the run's sessions, none or protocol and cipher; null: nothing was run, or not in SQL",
    )
    headline: Headline | None = Field(default=None, description="of a run of tpcc")
    gaps: list[GeneratorGap] = Field(
        default=[], description="in which the generator itself did nothing although it wanted to; the first 1,000"
    )
    ledger: LedgerResult | None = Field(
        default=None, description="of a run that numbers its writes; null: it does not, or they could not be read"
    )
    outages: Outages | None = Field(default=None, description="null: nothing was driven to its end")
    audit: list[AuditLine]
    conditions: list[ConditionResult] = Field(description="empty when none were checked")
    counters: list[CounterResult]
    tables: list[TableLoad]
    fingerprints: list[Fingerprint] = Field(default=[], description="empty when none were asked for")
    constants: dict[str, int] = Field(description="for example c_load and c_run of NURand")
    client_cpu_s: float = Field(ge=0, description="user + system, of the measurement interval (run) or the action")
    peak_memory_bytes: int = Field(ge=0)


OutputLine = Annotated[Started | Interval | Finished, Field(discriminator="event")]
OUTPUT_LINE: TypeAdapter[Started | Interval | Finished] = TypeAdapter(OutputLine)
