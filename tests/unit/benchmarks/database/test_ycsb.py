"""The benchmark ycsb on recorded outputs of both kinds of targets."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.tpcc_editions import Clients
from nephoscope.benchmarks.database.ycsb import OPERATIONS, Ycsb, YcsbParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.benchmark import _target
from nephoscope.benchmarks.load.spec import PostgresTarget, RespTarget
from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import OutputUnreadable

DATA = Path(__file__).parents[3] / "data" / "ycsb"
D = YcsbParameters(rows=1000, mix="d", ramp_s=0.5, duration_s=2)
AEROSPIKE = YcsbParameters(
    rows=1000, mix="a", distribution="uniform", fields=1, field_bytes=1424, ramp_s=0.5, duration_s=2,
    pace="poisson", rate_per_s=2000, pipeline=4,
)  # fmt: skip
each_recorded = pytest.mark.parametrize(("name", "parameters"), [("run.jsonl", D), ("run-resp.jsonl", AEROSPIKE)])


def text_of(name: str) -> bytes:
    return (DATA / name).read_bytes()


@each_recorded
def test_operations_are_read_from_either_kind_of_target(name: str, parameters: YcsbParameters) -> None:
    rows = Ycsb().parse({"load-run.stdout": text_of(name)}, parameters)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    finished = json.loads(text_of(name).splitlines()[-1])
    ended = sum(row["measured"] for row in finished["operations"])
    assert values["operations_per_s"] == ended / finished["measured_s"]
    declared = {metric.name: metric.unit for metric in Ycsb().metrics(parameters)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()
    for operation in OPERATIONS[parameters.mix]:
        assert values[f"{operation}.service_mean"] > 0


@each_recorded
def test_the_spec_that_is_sent_is_the_one_that_was_recorded(name: str, parameters: YcsbParameters) -> None:
    recorded = load_output.read(text_of(name)).started.spec
    assert Ycsb().workload(parameters, Clients()) == recorded.workload
    assert Ycsb().pace(parameters) == recorded.pace
    assert isinstance(recorded.target, PostgresTarget | RespTarget)
    endpoint = Endpoint(dsn=recorded.target.dsn, environment={}, version="", origin="user")
    assert _target(endpoint, parameters) == recorded.target


def test_what_is_loaded_does_not_depend_on_how_it_is_driven() -> None:
    driven = D.model_copy(update={"mix": "e", "distribution": "uniform"})
    assert Ycsb().fixture_name(driven, 1) == Ycsb().fixture_name(D, 1)
    assert Ycsb().fixture_name(D.model_copy(update={"fields": 9}), 1) != Ycsb().fixture_name(D, 1)
    assert Ycsb().fixture_bytes(D) == 1000 * (120 + 10 * 108)


def test_a_rate_ranks_by_the_response_of_the_first_operation() -> None:
    def headlines(**changes: Any) -> list[str]:
        parameters = AEROSPIKE.model_copy(update=changes)
        return [metric.name for metric in Ycsb().metrics(parameters) if metric.headline]

    assert headlines() == ["read.response_p99"]
    assert headlines(mix="e") == ["scan.response_p99"]
    assert headlines(pace="closed", rate_per_s=None) == ["operations_per_s"]


def test_notes_say_mix_distribution_and_size() -> None:
    assert Ycsb().notes(AEROSPIKE)[1] == "Core workload A, uniform; records have 1 field of 1,424 bytes."
    assert Ycsb().notes(D)[1] == "Core workload D, latest; records have 10 fields of 100 bytes."


def test_scans_of_a_cluster_are_refused_and_inserts_are_not() -> None:
    with pytest.raises(ValueError, match="distributes keys by hash"):
        YcsbParameters(mix="e", cluster=True)
    assert YcsbParameters(mix="d", cluster=True).cluster


@each_recorded
def test_an_output_cut_anywhere_is_refused(name: str, parameters: YcsbParameters) -> None:
    text = text_of(name)
    for length in range(0, len(text) - 1, 997):
        with pytest.raises(OutputUnreadable):
            Ycsb().parse({"load-run.stdout": text[:length]}, parameters)


def test_a_load_says_what_it_wrote() -> None:
    for name in ("load.jsonl", "load-resp.jsonl"):
        finished = load_output.read(text_of(name)).finished
        assert [(row.table, row.rows) for row in finished.tables] == [("usertable", 1000)]
        assert isinstance(load_output.read(text_of(name)).started.spec.workload, load_spec.YcsbWorkload)
