"""YCSB's core workloads A to F, run by our load generator on PostgreSQL wire targets and (except E) on RESP targets.

`mix = "a"` with `distribution = "uniform"`, `fields = 1` and a `field_bytes` of its own is the variant of the Aerospike
qualification. D and E add records; the data set is a fresh copy for each trial, so their order does not matter.
"""

from typing import Any

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.data_size import SizedByMemory
from nephoscope.benchmarks.load.paced import Cluster, PacedLoadBenchmark, PacedParameters, Pipeline, ended_per_s
from nephoscope.model.frozen import conflict
from nephoscope.model.subjects import DatabaseLoad
from nephoscope.model.words import counted

RECORD_BYTES = 120
"""On disk beside its fields, with the index of its key."""
FIELD_BYTES = 8
"""On disk beside the value of each field."""
OPERATIONS = {
    "a": ("read", "update"),
    "b": ("read", "update"),
    "c": ("read",),
    "d": ("read", "insert"),
    "e": ("scan", "insert"),
    "f": ("read", "read_modify_write"),
}
"""Of each core workload, the one that ranks configurations first."""


class YcsbParameters(PacedParameters, SizedByMemory):
    """Parameters of `ycsb`."""

    rows: int = Field(default=1_000_000, ge=1, le=100_000_000_000, description="records to load")
    mix: load_spec.YcsbMix = Field(default="a", description="which core workload")
    distribution: load_spec.YcsbDistribution | None = Field(
        default=None, description="how records are chosen; default: that of the core workload, zipfian or latest (d)"
    )
    fields: int = Field(default=10, ge=1, le=10, description="fields per record")
    field_bytes: int = Field(default=100, ge=1, le=1_048_576)
    pipeline: Pipeline = 1
    cluster: Cluster = False

    @model_validator(mode="after")
    def _a_cluster_takes_no_scans(self) -> "YcsbParameters":
        if self.cluster and self.mix == "e":
            raise conflict("`mix` e scans records in key order, but a `cluster` distributes keys by hash")
        return self


class Ycsb(PacedLoadBenchmark):
    """See the module's text."""

    name = "ycsb"
    version = 2
    """2: on Aerospike, an update of a record with one field replaces it, as YCSB's binding does."""
    title = "YCSB's core workloads"
    parameters = YcsbParameters
    drives = load_spec.YcsbWorkload
    drawn_later = ("mix", "distribution")
    loaded_with = {"mix": "a"}
    kinds = {"read": ("read", "scan"), "write": ("update", "insert", "read_modify_write")}
    main_rate = ended_per_s("operations")

    @override
    def database_load_of(self, parameters: Any) -> DatabaseLoad:
        return DatabaseLoad.KEY_VALUE

    @override
    def drawn(self, parameters: Any) -> tuple[str, ...]:
        operations: tuple[str, ...] = OPERATIONS[parameters.mix]
        return operations

    @override
    def fixture_bytes(self, parameters: Any) -> int:
        return int(parameters.rows * (RECORD_BYTES + parameters.fields * (FIELD_BYTES + parameters.field_bytes)))

    @override
    def notes(self, parameters: Any) -> list[str]:
        drawn = parameters.distribution or ("latest" if parameters.mix == "d" else "zipfian")
        fields, size = counted(parameters.fields, "field"), counted(parameters.field_bytes, "byte")
        records = f"Core workload {parameters.mix.upper()}, {drawn}; records have {fields} of {size}."
        return [parameters.pace_note("operations"), records]
