"""The spec that `nephoscope-load` reads on stdin. Rust declares it; a test compares these models with its schema.

The program's output is in `contract.py`.
"""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from nephoscope.model.frozen import Frozen

_YEAR_S = 366 * 86_400.0
_MAX_INT4 = 2**31 - 1

Isolation = Literal["read committed", "repeatable read", "serializable"]
Dialect = Literal["postgres", "cockroachdb", "yugabytedb"]
Profile = Literal["chatty", "batched", "pipelined", "proc"]
Wait = Literal["none", "spec"]
Trips = Literal["chatty", "pipelined"]
YcsbMix = Literal["a", "b", "c", "d", "e", "f"]
YcsbDistribution = Literal["uniform", "zipfian", "latest"]
SysbenchDistribution = Literal["uniform", "gaussian", "special", "pareto", "zipfian"]
Delivery = Literal["inline", "deferred"]


class Concise(Frozen):
    """Part of a spec: keys at their defaults are not written, so that a program without a newer key reads it too."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        says_nothing = {
            field.alias or name
            for name, field in type(self).model_fields.items()
            if name not in {"kind", "schema_"} and not field.is_required() and getattr(self, name) == field.default
        }
        return {key: value for key, value in written.items() if key not in says_nothing}


class PostgresTarget(Concise):
    """A server of the PostgreSQL wire. The password comes from the environment (`PGPASSWORD`), never from here."""

    kind: Literal["postgres"] = "postgres"
    dsn: str = Field(
        description="postgresql://user@host:port/database, or ?host=/socket/directory; sslmode and the like as libpq"
    )
    isolation: Isolation = "read committed"
    dialect: Dialect = Field(default="postgres", description="whose SQL: schema, loading, statements, checks")
    retry: Literal["restart", "savepoint"] = Field(
        default="restart", description="savepoint: CockroachDB's protocol, ROLLBACK TO cockroach_restart"
    )
    prepared: Literal["auto", "named", "unnamed"] = Field(
        default="auto", description="statements; auto: named, unless a connection pooler does not keep names apart"
    )


class RespTarget(Concise):
    """Redis or Valkey, for kv, ycsb and null. The password comes from the environment (`REDISCLI_AUTH`)."""

    kind: Literal["resp"] = "resp"
    dsn: str = Field(description="redis://[user@]host:port/number, or unix:///path/of/socket; there is no TLS yet")
    pipeline: int = Field(
        default=1, ge=1, le=1_024, description="operations that may be under way on one connection at a time"
    )
    cluster: bool = Field(
        default=False, description="the server is one of a cluster, whose masters share connections and keys"
    )


class MysqlTarget(Concise):
    """MySQL or MariaDB; transactions as `chatty`, TPC-C also as `proc`. The password is in `MYSQL_PWD`."""

    kind: Literal["mysql"] = "mysql"
    dsn: str = Field(
        description="mysql://user@host:port/database, or ?socket=/path; ssl-mode and the like as MySQL's clients"
    )
    isolation: Isolation = "read committed"
    pipeline: int = Field(
        default=1, ge=1, le=1_024, description="operations that may be under way on one connection at a time"
    )


class AerospikeTarget(Concise):
    """Aerospike, for kv (one row an operation), ycsb (but for E) and null. There is neither a user nor TLS."""

    kind: Literal["aerospike"] = "aerospike"
    hosts: list[str] = Field(min_length=1, description="host:port of nodes, which are asked for the others")
    namespace: str = Field(min_length=1, max_length=31, description="one that the nodes have")
    set: str = Field(
        default="nephoscope", pattern=r"^[^:;/=,\x00-\x20]{1,63}$", description="of all records; a load empties it"
    )

    @classmethod
    def of(cls, dsn: str) -> "AerospikeTarget":
        """From `aerospike://host:port,host:port/namespace`, or with `/set` behind it."""
        parts = urlsplit(dsn)
        namespace, _, records = parts.path.strip("/").partition("/")
        more = {"set": records} if records else {}
        return cls(hosts=parts.netloc.split(","), namespace=namespace, **more)


AnyTarget = PostgresTarget | RespTarget | MysqlTarget | AerospikeTarget
Target = Annotated[AnyTarget, Field(discriminator="kind")]


class TpccWorkload(Concise):
    """TPC-C 5.11; warehouses are numbered from 1."""

    kind: Literal["tpcc"] = "tpcc"
    warehouses: int = Field(ge=1, le=1_000_000)
    active_warehouses: int | None = Field(default=None, ge=1, description="None: all of them")
    profile: Profile = Field(default="batched", description="how transactions are cut into round trips")
    wait: Wait = Field(default="none", description="spec: keying and think times of the clause")
    wait_factor: float = Field(default=1.0, gt=0, le=1_000, description="of both waits; only with wait = spec")
    delivery: Delivery = Field(
        default="inline", description="deferred: the terminal only queues it, and it is done as delivery_deferred (2.7)"
    )
    timestamps: Literal["wall", "logical"] = Field(
        default="wall", description="logical: functions of (seed, index), so that contents can be compared"
    )
    mix: Literal["standard", "new_order"] = Field(
        default="standard", description="new_order: nothing else, to be compared with tools that do no more; not TPC-C"
    )


class YcsbWorkload(Concise):
    """YCSB's core workloads A to F on its `usertable`, or (but for E) on a hash or a record of bins each."""

    kind: Literal["ycsb"] = "ycsb"
    rows: int = Field(ge=1, le=100_000_000_000, description="records that are loaded")
    mix: YcsbMix = Field(
        description="a: 50 % read, 50 % update. b: 95/5. c: read. d: 95 % read, 5 % insert. e: 95 % scan, 5 % insert. "
        "f: 50 % read, 50 % read-modify-write"
    )
    distribution: YcsbDistribution | None = Field(
        default=None, description="which record; None: the core workload's own, zipfian or (d) latest"
    )
    fields: int = Field(default=10, ge=1, le=10, description="of a record; an update writes one of them")
    field_bytes: int = Field(default=100, ge=1, le=1_048_576)


class NullWorkload(Concise):
    """One empty Sync (or PING, or info) a round trip, no data set: what generator and wire can do without any query."""

    kind: Literal["null"] = "null"


class PointSelectWorkload(Concise):
    """One `SELECT c FROM sbtest1 WHERE id = $1` per operation, uniform over the rows (sysbench oltp_point_select)."""

    kind: Literal["point_select"] = "point_select"
    rows: int = Field(ge=1, le=_MAX_INT4)


class OltpInsertWorkload(Concise):
    """One new row of random numbers and texts per operation (sysbench oltp_insert)."""

    kind: Literal["oltp_insert"] = "oltp_insert"
    tables: int = Field(ge=1, le=1_000)
    rows: int = Field(ge=1, le=_MAX_INT4, description="of each table, when it is loaded")
    distribution: SysbenchDistribution = Field(description="of the number k of new rows, up to the number of rows")


class _SbtestTransactions(Concise):
    """What sysbench's transactions have."""

    kind: str
    tables: int = Field(ge=1, le=1_000)
    rows: int = Field(ge=1, le=_MAX_INT4, description="of each table")
    distribution: SysbenchDistribution = Field(description="which row a statement is about")
    profile: Trips = Field(default="chatty", description="chatty: a statement a round trip; pipelined: a transaction")


class OltpReadWriteWorkload(_SbtestTransactions):
    """A transaction of 14 statements that read and 4 that write (sysbench oltp_read_write)."""

    kind: Literal["oltp_read_write"] = "oltp_read_write"


class OltpReadOnlyWorkload(_SbtestTransactions):
    """A transaction of 14 statements that read (sysbench oltp_read_only)."""

    kind: Literal["oltp_read_only"] = "oltp_read_only"


class TpcbWorkload(Concise):
    """A deposit for an account, by a teller, at a branch (pgbench's default transaction, "TPC-B (sort of)")."""

    kind: Literal["tpcb"] = "tpcb"
    scale: int = Field(ge=1, le=21_000, description="branches: each has 10 tellers and 100,000 accounts")
    profile: Trips = Field(default="chatty", description="chatty: a statement a round trip; pipelined: a transaction")


class KvWorkload(Concise):
    """Rows of a key and a block of bytes, read and written by key: CockroachDB's kv0 to kv100."""

    kind: Literal["kv"] = "kv"
    rows: int = Field(ge=1, le=100_000_000_000, description="that are loaded; every key that is read is one of them")
    read_percent: int = Field(default=95, ge=0, le=100, description="of the operations; the others write")
    batch: int = Field(default=1, ge=1, le=1_000, description="rows of one operation, in one statement")
    min_block_bytes: int = Field(
        default=256, ge=1, le=16_777_216, description="length of a value; 1 measures the cost of a request alone"
    )
    max_block_bytes: int | None = Field(
        default=None, ge=1, le=16_777_216, description="each length between is as likely; None: min_block_bytes"
    )
    distribution: Literal["uniform", "zipf"] = Field(default="uniform", description="which of the loaded rows")
    zipf_exponent: float = Field(default=1.1, gt=0, le=10)
    order: Literal["hashed", "sequential"] = Field(default="hashed", description="how rows lie among the keys")
    writes: Literal["existing", "new"] = Field(
        default="existing",
        description="existing: the table keeps its size. new: as CockroachDB's kv; a second run on the same table "
        "needs another seed",
    )
    ledger: bool = Field(
        default=False,
        description="number every write, and read all rows that were written after the run: which acknowledged writes "
        "are lost? Not on Aerospike, not with several generators",
    )


AnyWorkload = (
    TpccWorkload
    | PointSelectWorkload
    | OltpInsertWorkload
    | OltpReadWriteWorkload
    | OltpReadOnlyWorkload
    | TpcbWorkload
    | KvWorkload
    | YcsbWorkload
    | NullWorkload
)
Workload = Annotated[AnyWorkload, Field(discriminator="kind")]


class ClosedPace(Concise):
    """Each worker starts its next operation when its last one ended."""

    kind: Literal["closed"] = "closed"


class ConstantPace(Concise):
    """Operations are due at equal distances, whatever became of the ones before."""

    kind: Literal["constant"] = "constant"
    rate_per_s: float = Field(gt=0, le=1e8, description="of all shards together")


class PoissonPace(Concise):
    """Operations are due at random, with exponential distances, whatever became of the ones before."""

    kind: Literal["poisson"] = "poisson"
    rate_per_s: float = Field(gt=0, le=1e8, description="of all shards together")


AnyPace = ClosedPace | ConstantPace | PoissonPace
Pace = Annotated[AnyPace, Field(discriminator="kind")]


class Shard(Concise):
    """Which part of the load this generator drives; several together drive the whole."""

    index: int = Field(default=0, ge=0, description="from 0")
    count: int = Field(default=1, ge=1, le=10_000)


class LoadSteps(Concise):
    """How a load is done. Several machines share one: one creates, each writes its shard's rows, one finishes."""

    part: Literal["all", "create", "rows", "finish"] = Field(
        default="all", description="rows: those of `shard` that are not there yet; finish: once all rows are there"
    )
    resume: bool = Field(
        default=False,
        description="continue an earlier load of the same data set where it stopped; only with part = all",
    )


class LoadSpec(Concise):
    """What `nephoscope-load exec` reads."""

    schema_: Literal["nephoscope/load-spec/1"] = Field(default="nephoscope/load-spec/1", alias="schema")
    action: Literal["load", "run", "check"] = Field(
        description="load: create and fill the tables, then check. run: drive the workload, then check. "
        "check: only the consistency conditions."
    )
    target: Target
    workload: Workload
    seed: int = Field(ge=0, lt=2**63)
    connections: int = Field(default=1, ge=1, le=1_000_000, description="for load: parallel COPY streams")
    threads: int | None = Field(
        default=None, ge=1, le=1_024, description="of the generator; None: min(CPUs, connections / 8), at least 1"
    )
    pin: bool = Field(default=False, description="thread i to the i-th CPU of the affinity mask")
    workers: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="concurrent clients (terminals). None: 10 x active warehouses for tpcc with wait = spec, else as "
        "many as connections, times the target's pipeline. A worker that is due and finds no free connection waits in "
        "a queue",
    )
    pace: Pace = ClosedPace()
    ramp_s: float = Field(default=0, ge=0, le=_YEAR_S, description="driven but not measured")
    duration_s: float = Field(default=10, gt=0, le=_YEAR_S, description="the measurement interval")
    operations: int | None = Field(default=None, ge=1, description="stop after so many, besides the duration")
    shard: Shard = Shard()
    start_at_unix_ms: int | None = Field(
        default=None, ge=0, description="when several generators begin together; None: at once"
    )
    answer_timeout_s: float = Field(
        default=60, gt=0, le=_YEAR_S, description="a server that owes an answer for longer is lost"
    )
    outage_limit_s: float = Field(
        default=1, gt=0, le=_YEAR_S, description="a client that has work and no success for longer sees an outage"
    )
    failover: bool = Field(
        default=False,
        description="a lost connection may come back on another server: on another host of the DSN, or in a cluster of "
        "kind resp on the server that has the keys by then",
    )
    reconnect_timeout_s: float = Field(
        default=5, gt=0, le=_YEAR_S, description="give up when a lost connection is not back after so long"
    )
    max_retries: int = Field(default=10, ge=0, le=1_000, description="of 40001 and 40P01, with the same inputs")
    max_failed_percent: float = Field(
        default=0.1, ge=0, le=100, description="of the measured operations; above it the exit code is 7"
    )
    check: Literal["none", "conditions"] = Field(default="conditions", description="after load or run")
    load: LoadSteps = LoadSteps()
    fingerprint: bool = Field(
        default=False, description="after load, or in a check: compare every table with what its seed makes"
    )
