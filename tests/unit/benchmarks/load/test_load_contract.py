"""The spec as it is written: what says nothing is left out, and what is written reads back the same."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.benchmarks.load.spec import (
    AerospikeTarget,
    ClosedPace,
    ConstantPace,
    KvWorkload,
    LoadSpec,
    NullWorkload,
    OltpInsertWorkload,
    OltpReadWriteWorkload,
    PointSelectWorkload,
    PoissonPace,
    PostgresTarget,
    RespTarget,
    Shard,
    TpcbWorkload,
    TpccWorkload,
    YcsbWorkload,
)

DSN = "postgresql://user@host/database"
MINIMAL = LoadSpec(action="run", target=PostgresTarget(dsn=DSN), workload=TpccWorkload(warehouses=1), seed=3)


def test_keys_at_their_defaults_are_not_written() -> None:
    """So a program that does not know a newer key carries out every spec that does not use it."""
    assert json.loads(MINIMAL.model_dump_json(by_alias=True)) == {
        "schema": "nephoscope/load-spec/1",
        "action": "run",
        "target": {"kind": "postgres", "dsn": DSN},
        "workload": {"kind": "tpcc", "warehouses": 1},
        "seed": 3,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"threads": 2, "pin": True, "workers": 30, "operations": 5, "start_at_unix_ms": 0, "connections": 3},
        {"pace": ConstantPace(rate_per_s=10), "shard": Shard(index=1, count=2)},
        {"pace": PoissonPace(rate_per_s=0.5), "workload": PointSelectWorkload(rows=7)},
        {"workload": NullWorkload(), "pace": ClosedPace(), "ramp_s": 0.5, "duration_s": 2, "check": "none"},
        {"workload": TpccWorkload(warehouses=9, active_warehouses=3, profile="proc", wait="spec", wait_factor=0.5)},
        {"workload": KvWorkload(rows=9, read_percent=50, max_block_bytes=700, distribution="zipf", writes="new")},
        {"workload": OltpInsertWorkload(tables=2, rows=9, distribution="zipfian")},
        {"workload": OltpReadWriteWorkload(tables=2, rows=9, distribution="special", profile="pipelined")},
        {"workload": TpcbWorkload(scale=3, profile="pipelined")},
        {"workload": YcsbWorkload(rows=9, mix="d", distribution="uniform", fields=1, field_bytes=7)},
        {"target": RespTarget(dsn="redis://h:7000/1", pipeline=16, cluster=True), "workload": KvWorkload(rows=9)},
        {"target": AerospikeTarget(hosts=["h:3000"], namespace="test", set="kv"), "workload": KvWorkload(rows=9)},
        {"target": PostgresTarget(dsn=DSN, isolation="serializable", dialect="cockroachdb", retry="savepoint")},
    ],
)
def test_a_spec_reads_back_as_it_was_written(changes: dict[str, Any]) -> None:
    spec = MINIMAL.model_copy(update=changes)
    assert LoadSpec.model_validate_json(spec.model_dump_json(by_alias=True)) == spec


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("workload", {"kind": "tpcc", "warehouses": 1, "profile": "fast"}),
        ("workload", {"kind": "null", "rows": 1}),
        ("workload", {"kind": "oltp_insert", "tables": 1, "rows": 9}),
        ("workload", {"kind": "tpcb", "scale": 21_001}),
        ("workload", {"kind": "ycsb", "rows": 9}),
        ("workload", {"kind": "ycsb", "rows": 9, "mix": "a", "fields": 11}),
        ("workload", {"kind": "kv", "rows": 9, "read_percent": 101}),
        ("target", {"kind": "resp", "dsn": "redis://h", "isolation": "serializable"}),
        ("target", {"kind": "postgres", "dsn": DSN, "pipeline": 2}),
        ("target", {"kind": "aerospike", "hosts": [], "namespace": "test"}),
        ("target", {"kind": "aerospike", "hosts": ["h"], "namespace": "test", "pipeline": 2}),
        ("pace", {"kind": "constant"}),
        ("pace", {"kind": "poisson", "rate_per_s": 0}),
        ("shard", {"index": -1, "count": 2}),
        ("thread", 4),
    ],
)
def test_what_is_not_in_the_contract_is_refused(part: str, wrong: Any) -> None:
    with pytest.raises(ValidationError):
        LoadSpec.model_validate({**json.loads(MINIMAL.model_dump_json(by_alias=True)), part: wrong})


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        ("aerospike://a:3000,b:3100/test", {"hosts": ["a:3000", "b:3100"], "namespace": "test"}),
        ("aerospike://a/test/kv", {"hosts": ["a"], "namespace": "test", "set": "kv"}),
    ],
)
def test_a_dsn_of_aerospike_is_hosts_a_namespace_and_a_set(dsn: str, expected: dict[str, Any]) -> None:
    assert json.loads(AerospikeTarget.of(dsn).model_dump_json()) == {"kind": "aerospike", **expected}
