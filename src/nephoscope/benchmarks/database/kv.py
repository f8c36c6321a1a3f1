"""Reads and writes of rows by key: CockroachDB's kv0 to kv100, on PostgreSQL wire and RESP targets.

`read_percent = 95` is kv95. Unlike in CockroachDB's version, writes update existing rows unless `writes = "new"`, and
reports state the length of the values.
"""

from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.data_size import SizedByMemory
from nephoscope.benchmarks.load.paced import Cluster, PacedLoadBenchmark, PacedParameters, Pipeline, ended_per_s
from nephoscope.model.frozen import conflict
from nephoscope.model.subjects import DatabaseLoad

ROW_BYTES = 80
"""On disk beside its value, with the index of its key."""
OPERATIONS = ("read", "write")
MAX_OPERATION_BYTES = 64 << 20
"""What one operation may carry: the load generator takes an answer far above it for a server gone wrong."""


class KvParameters(PacedParameters, SizedByMemory):
    """Parameters of `kv`."""

    rows: int = Field(default=1_000_000, ge=1, le=100_000_000_000, description="rows that are loaded")
    read_percent: int = Field(default=95, ge=0, le=100, description="share of operations that read; the others write")
    batch: int = Field(default=1, ge=1, le=1_000, description="rows per operation, in one statement")
    min_block_bytes: int = Field(default=256, ge=1, le=16_777_216, description="length of a value")
    max_block_bytes: int | None = Field(
        default=None,
        ge=1,
        le=16_777_216,
        description="all lengths in between are equally likely; default: min_block_bytes",
    )
    distribution: Literal["uniform", "zipf"] = Field(default="uniform", description="how the loaded rows are chosen")
    zipf_exponent: float = Field(default=1.1, gt=0, le=10, description="exponent of the distribution zipf")
    order: Literal["hashed", "sequential"] = Field(default="hashed", description="how rows lie among the keys")
    writes: Literal["existing", "new"] = Field(
        default="existing", description="new: writes add rows, as in CockroachDB"
    )
    pipeline: Pipeline = 1
    cluster: Cluster = False

    @model_validator(mode="after")
    def _blocks_have_a_length(self) -> "KvParameters":
        if self.max_block_bytes is not None and self.max_block_bytes < self.min_block_bytes:
            low, high = self.min_block_bytes, self.max_block_bytes
            raise conflict(f"`max_block_bytes` is {high}, below `min_block_bytes`, which is {low}: set both")
        largest_bytes = self.batch * (self.max_block_bytes or self.min_block_bytes)
        if largest_bytes > MAX_OPERATION_BYTES:
            mib = MAX_OPERATION_BYTES >> 20
            raise conflict(
                f"`batch` times `max_block_bytes` is {largest_bytes:,} bytes, over the {mib} MiB of an operation"
            )
        if self.batch > self.rows:
            raise conflict("`batch` must not be above `rows`")
        return self


class Kv(PacedLoadBenchmark):
    """See the module's text."""

    name = "kv"
    version = 1
    title = "Rows by key"
    parameters = KvParameters
    drives = load_spec.KvWorkload
    drawn_later = ("read_percent", "batch", "distribution", "zipf_exponent", "writes")
    kinds = {"read": ("read",), "write": ("write",)}
    main_rate = ended_per_s("operations", counted="reads and writes")

    @override
    def database_load_of(self, parameters: Any) -> DatabaseLoad:
        return DatabaseLoad.KEY_VALUE

    @override
    def drawn(self, parameters: Any) -> tuple[str, ...]:
        shares = (parameters.read_percent, 100 - parameters.read_percent)
        return tuple(name for name, share in zip(OPERATIONS, shares, strict=True) if share > 0)

    @override
    def fixture_bytes(self, parameters: Any) -> int:
        value_bytes = (parameters.min_block_bytes + (parameters.max_block_bytes or parameters.min_block_bytes)) / 2
        return int(parameters.rows * (ROW_BYTES + value_bytes))

    @override
    def notes(self, parameters: Any) -> list[str]:
        least, most = parameters.min_block_bytes, parameters.max_block_bytes
        length = f"{least}" if most in (None, least) else f"{least} to {most}"
        rows = "1 row" if parameters.batch == 1 else f"{parameters.batch} rows"
        values = f"Values have {length} bytes; {parameters.read_percent} % of operations read {rows}."
        return [parameters.pace_note("operations"), values]
