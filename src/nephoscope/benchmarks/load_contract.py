"""The process boundary to `nephoscope-load`: a JSON spec on its stdin, JSON lines on its stdout.

These models own the contract; `schema/load-spec-1.json` and `schema/load-output-1.json` are generated from them, and
`tests/contract` holds the real program against them. Times are seconds on the generator's monotonic clock, since the
start of the action, unless a name or a description says otherwise.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from nephoscope.frozen import Frozen

SPEC_SCHEMA = "nephoscope/load-spec/1"
OUTPUT_SCHEMA = "nephoscope/load-output/1"

EXIT_FINISHED = 0
EXIT_BAD_SPEC = 2
EXIT_CANNOT_CONNECT = 3
EXIT_RATE_NOT_KEPT = 4
EXIT_CONSISTENCY_BROKEN = 5
EXIT_TARGET_LOST = 6
EXIT_INTERRUPTED = 130


class PostgresTarget(Frozen):
    """A server of the PostgreSQL wire. The password comes from the environment (`PGPASSWORD`), never from here."""

    kind: Literal["postgres"] = "postgres"
    dsn: str = Field(description="postgresql://user@host:port/database, or ?host=/socket/directory")
    isolation: Literal["read committed", "repeatable read", "serializable"] = "read committed"


class TpccWorkload(Frozen):
    """TPC-C 5.11; warehouses are numbered from 1."""

    kind: Literal["tpcc"] = "tpcc"
    warehouses: int = Field(ge=1, le=1_000_000)
    active_warehouses: int | None = Field(default=None, ge=1, description="None: all of them")
    profile: Literal["batched"] = "batched"
    wait: Literal["none"] = "none"


class PointSelectWorkload(Frozen):
    """One `SELECT c FROM sbtest1 WHERE id = $1` per operation, uniform over the rows (sysbench oltp_point_select)."""

    kind: Literal["point_select"] = "point_select"
    rows: int = Field(ge=1)


Workload = Annotated[TpccWorkload | PointSelectWorkload, Field(discriminator="kind")]


class ClosedPace(Frozen):
    """Each worker starts its next operation when its last one ended."""

    kind: Literal["closed"] = "closed"


class LoadSpec(Frozen):
    """What `nephoscope-load exec` reads."""

    schema_: Literal["nephoscope/load-spec/1"] = Field(default="nephoscope/load-spec/1", alias="schema")
    action: Literal["load", "run", "check"] = Field(
        description="load: create and fill the tables, then check. run: drive the workload, then check. "
        "check: only the consistency conditions."
    )
    target: PostgresTarget
    workload: Workload
    seed: int = Field(ge=0, lt=2**63)
    connections: int = Field(default=1, ge=1, le=10_000, description="for load: parallel COPY streams")
    pace: ClosedPace = ClosedPace()
    ramp_s: float = Field(default=0, ge=0, description="driven but not measured")
    duration_s: float = Field(default=10, gt=0, description="the measurement interval")
    max_retries: int = Field(default=10, ge=0, le=1_000, description="of 40001 and 40P01, with the same inputs")
    check: Literal["none", "conditions"] = Field(default="conditions", description="after load or run")


class Started(Frozen):
    """First line: what is about to happen, with the spec in force (no secret in it)."""

    event: Literal["started"]
    schema_: Literal["nephoscope/load-output/1"] = Field(alias="schema")
    version: str = Field(description="of nephoscope-load")
    spec: LoadSpec
    at_unix_ms: int
    server_version: str | None


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


class ClientUse(Frozen):
    """What the generator itself used in one interval."""

    cpu_s: float = Field(ge=0, description="user + system of all threads")
    in_flight: int = Field(ge=0, description="operations under way at the end of the interval")


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
    errors: list[ErrorCount]
    client: ClientUse


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
    server: int
    client: int = Field(description="operations that committed for certain")
    in_doubt: int = Field(ge=0, description="operations whose commit was sent and never answered: it may have happened")
    agrees: bool = Field(description="server is at least client, and at most client + in_doubt")


class TableLoad(Frozen):
    """What loading wrote into one table."""

    table: str
    rows: int = Field(ge=1)
    bytes: int = Field(ge=1)


class OperationTotal(Frozen):
    """Counts over the measurement interval alone (`measured`) and the whole action (`all`)."""

    operation: str
    outcome: Literal["committed", "rolled_back_by_design", "failed"]
    measured: int = Field(ge=0)
    all: int = Field(ge=0)


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
    round_trips: int = Field(ge=0, description="over the whole action, set-up excluded")
    audit: list[AuditLine]
    conditions: list[ConditionResult] = Field(description="empty when none were checked")
    counters: list[CounterResult]
    tables: list[TableLoad]
    constants: dict[str, int] = Field(description="for example c_load and c_run of NURand")
    client_cpu_s: float = Field(ge=0, description="user + system, of the measurement interval (run) or the action")
    peak_memory_bytes: int = Field(ge=0)


OutputLine = Annotated[Started | Interval | Finished, Field(discriminator="event")]
OUTPUT_LINE: TypeAdapter[Started | Interval | Finished] = TypeAdapter(OutputLine)
