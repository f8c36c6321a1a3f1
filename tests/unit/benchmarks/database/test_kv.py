"""The benchmark kv on recorded outputs of both kinds of targets."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.database.tpcc_editions import Clients
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.benchmark import _target
from nephoscope.benchmarks.load.spec import PostgresTarget, RespTarget
from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import OutputUnreadable

DATA = Path(__file__).parents[3] / "data" / "kv"
CLOSED = KvParameters(rows=1000, min_block_bytes=10, max_block_bytes=20, distribution="zipf", ramp_s=0.5, duration_s=2)
POISSON = CLOSED.model_copy(update={"pace": "poisson", "rate_per_s": 2000.0, "pipeline": 4})


def text_of(name: str) -> bytes:
    return (DATA / name).read_bytes()


@pytest.mark.parametrize(("name", "parameters"), [("run.jsonl", CLOSED), ("run-resp.jsonl", POISSON)])
def test_reads_and_writes_are_read_from_either_kind_of_target(name: str, parameters: KvParameters) -> None:
    rows = Kv().parse({"load-run.stdout": text_of(name)}, parameters)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    finished = json.loads(text_of(name).splitlines()[-1])
    ended = sum(row["measured"] for row in finished["operations"])
    assert values["operations_per_s"] == ended / finished["measured_s"]
    assert values["write.service_mean"] > 0 < values["read.service_p99"]
    declared = {metric.name: metric.unit for metric in Kv().metrics(parameters)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()
    assert ("read.response_p99" in values) == (parameters.pace != "closed")


def test_the_spec_that_is_sent_is_the_one_that_was_recorded() -> None:
    for name, parameters in (("run.jsonl", CLOSED), ("run-resp.jsonl", POISSON)):
        recorded = load_output.read(text_of(name)).started.spec
        assert Kv().workload(parameters, Clients()) == recorded.workload
        assert Kv().pace(parameters) == recorded.pace
        assert isinstance(recorded.target, PostgresTarget | RespTarget)
        endpoint = Endpoint(dsn=recorded.target.dsn, environment={}, version="", origin="user")
        assert _target(endpoint, parameters) == recorded.target


def test_what_is_loaded_does_not_depend_on_how_it_is_driven() -> None:
    driven = CLOSED.model_copy(update={"read_percent": 0, "batch": 9, "writes": "new", "distribution": "uniform"})
    assert Kv().fixture_name(driven, 1) == Kv().fixture_name(CLOSED, 1)
    longer = CLOSED.model_copy(update={"max_block_bytes": 21})
    assert Kv().fixture_name(longer, 1) != Kv().fixture_name(CLOSED, 1)
    assert Kv().fixture_bytes(CLOSED) == 1000 * 95


def test_a_rate_ranks_by_the_response_of_reads_or_else_of_writes() -> None:
    def headlines(**changes: Any) -> list[str]:
        parameters = POISSON.model_copy(update=changes)
        return [metric.name for metric in Kv().metrics(parameters) if metric.headline]

    assert headlines() == ["read.response_p99"]
    assert headlines(read_percent=0) == ["write.response_p99"]
    assert headlines(pace="closed", rate_per_s=None) == ["operations_per_s"]


@pytest.mark.parametrize(
    ("rate_per_s", "said"), [(1_234_567, "1,234,567"), (0.5, "0.5"), (2_000_000.25, "2,000,000.25")]
)
def test_the_note_says_the_rate_with_all_its_digits(rate_per_s: float, said: str) -> None:
    note = POISSON.model_copy(update={"rate_per_s": rate_per_s}).pace_note("operations")
    assert note.startswith(f"Open loop, poisson, {said} operations/s offered")


def test_notes_say_pace_and_length() -> None:
    assert Kv().notes(POISSON)[1] == "Values have 10 to 20 bytes; 95 % of operations read 1 row."
    assert "2,000 operations/s offered" in Kv().notes(POISSON)[0]


@pytest.mark.parametrize(
    "given",
    [{"max_block_bytes": 5}, {"rows": 5, "batch": 6}, {"batch": 9, "max_block_bytes": 1 << 23}, {"pace": "poisson"}],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"_block_bytes|batch|rate_per_s"):
        KvParameters.model_validate(given)


def test_values_shorter_than_the_default_need_both_lengths() -> None:
    with pytest.raises(ValueError, match="`max_block_bytes` is 40, below `min_block_bytes`, which is 256: set both"):
        KvParameters(max_block_bytes=40)
    assert KvParameters(min_block_bytes=1, max_block_bytes=40).rows == 1_000_000


def test_an_output_cut_anywhere_is_refused() -> None:
    text = text_of("run-resp.jsonl")
    for length in range(0, len(text) - 1, 997):
        with pytest.raises(OutputUnreadable):
            Kv().parse({"load-run.stdout": text[:length]}, POISSON)


def test_a_load_says_what_it_wrote() -> None:
    for name in ("load.jsonl", "load-resp.jsonl"):
        finished = load_output.read(text_of(name)).finished
        assert [(row.table, row.rows) for row in finished.tables] == [("kv", 1000)]
        assert isinstance(load_output.read(text_of(name)).started.spec.workload, load_spec.KvWorkload)
