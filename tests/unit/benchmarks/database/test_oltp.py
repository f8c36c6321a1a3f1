"""The benchmarks oltp-insert, oltp-read-write and tpcb on recorded outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.oltp import (
    OltpInsert,
    OltpInsertParameters,
    OltpReadOnly,
    OltpReadOnlyParameters,
    OltpReadWrite,
    OltpReadWriteParameters,
)
from nephoscope.benchmarks.database.tpcb import Tpcb, TpcbParameters
from nephoscope.benchmarks.database.tpcc_editions import Clients
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import LoadBenchmark
from nephoscope.model.errors import OutputUnreadable

DATA = Path(__file__).parents[3] / "data"
TIMES: dict[str, Any] = {"ramp_s": 0.5, "duration_s": 2}
INSERT = OltpInsertParameters(tables=2, rows=1000, distribution="zipfian", **TIMES)
READ_WRITE = OltpReadWriteParameters(
    tables=2, rows=1000, distribution="special", profile="pipelined", pace="poisson", rate_per_s=100, **TIMES
)
READ_ONLY = OltpReadOnlyParameters(
    tables=2, rows=1000, distribution="uniform", profile="chatty", pace="poisson", rate_per_s=100, **TIMES
)
TPCB = TpcbParameters(scale=1, **TIMES)
RECORDED: list[tuple[str, LoadBenchmark, Any, str, str]] = [
    ("oltp-insert/run-insert.jsonl", OltpInsert(), INSERT, "inserts_per_s", "insert"),
    ("oltp-read-write/run-read-write.jsonl", OltpReadWrite(), READ_WRITE, "transactions_per_s", "read_write"),
    ("oltp-read-only/run-read-only.jsonl", OltpReadOnly(), READ_ONLY, "transactions_per_s", "read_only"),
    ("tpcb/run-tpcb.jsonl", Tpcb(), TPCB, "transactions_per_s", "deposit"),
]
each_recorded = pytest.mark.parametrize(("name", "benchmark", "parameters", "rate", "operation"), RECORDED)


def text_of(name: str) -> bytes:
    return (DATA / name).read_bytes()


@each_recorded
def test_rate_and_latency_are_read(
    name: str, benchmark: LoadBenchmark, parameters: Any, rate: str, operation: str
) -> None:
    rows = benchmark.parse({"load-run.stdout": text_of(name)}, parameters)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    finished = json.loads(text_of(name).splitlines()[-1])
    ended = sum(row["measured"] for row in finished["operations"] if row["outcome"] == "committed")
    assert values[rate] == ended / finished["measured_s"] > 0
    assert values[f"{operation}.service_mean"] > 0
    declared = {metric.name: metric.unit for metric in benchmark.metrics(parameters)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()
    assert (f"{operation}.response_mean" in values) == (parameters.pace != "closed")


@each_recorded
def test_the_spec_that_is_sent_is_the_one_that_was_recorded(
    name: str,
    benchmark: LoadBenchmark,
    parameters: Any,
    rate: str,
    operation: str,
) -> None:
    recorded = load_output.read(text_of(name)).started.spec
    assert benchmark.workload(parameters, Clients()) == recorded.workload
    assert benchmark.pace(parameters) == recorded.pace


@each_recorded
def test_configurations_are_ranked_by_rate_or_at_a_rate_by_response_time(
    name: str,
    benchmark: LoadBenchmark,
    parameters: Any,
    rate: str,
    operation: str,
) -> None:
    def headlines(**changes: Any) -> list[str]:
        return [m.name for m in benchmark.metrics(parameters.model_copy(update=changes)) if m.headline]

    assert headlines(pace="closed", rate_per_s=None) == [rate]
    assert headlines(pace="constant", rate_per_s=5.0) == [f"{operation}.response_p99"]


def test_what_is_loaded_does_not_depend_on_how_it_is_driven() -> None:
    driven = READ_WRITE.model_copy(update={"distribution": "pareto", "profile": "chatty"})
    assert OltpReadWrite().fixture_name(driven, 1) == OltpReadWrite().fixture_name(READ_WRITE, 1)
    larger = INSERT.model_copy(update={"tables": 3})
    assert OltpInsert().fixture_name(larger, 1) != OltpInsert().fixture_name(INSERT, 1)
    assert OltpInsert().fixture_bytes(larger) == 3 * 1000 * 320
    assert Tpcb().fixture_name(TPCB.model_copy(update={"profile": "pipelined"}), 1) == Tpcb().fixture_name(TPCB, 1)
    assert Tpcb().fixture_bytes(TPCB) == 16_000_000


def test_notes_say_what_is_drawn_and_how_it_is_sent() -> None:
    assert OltpInsert().notes(INSERT)[1] == "2 tables of 1,000 rows each, chosen by sysbench's distribution zipfian."
    assert OltpReadWrite().notes(READ_WRITE)[2].startswith("1 round trip per transaction, while sysbench has 20")
    chatty = READ_WRITE.model_copy(update={"profile": "chatty", "tables": 1})
    assert OltpReadWrite().notes(chatty)[1:] == [
        "1 table of 1,000 rows each, chosen by sysbench's distribution special.",
        "20 round trips per transaction, like sysbench.",
    ]
    reads = OltpReadOnlyParameters(**chatty.model_dump())
    assert OltpReadOnly().notes(reads)[2] == "16 round trips per transaction, like sysbench."
    assert OltpReadOnly().workload(reads, Clients()).kind == "oltp_read_only"
    assert Tpcb().notes(TPCB)[1] == "1 branch; 7 round trips per transaction, like pgbench."


@each_recorded
def test_an_output_cut_anywhere_is_refused(
    name: str,
    benchmark: LoadBenchmark,
    parameters: Any,
    rate: str,
    operation: str,
) -> None:
    text = text_of(name)
    for length in range(0, len(text) - 1, 997):
        with pytest.raises(OutputUnreadable):
            benchmark.parse({"load-run.stdout": text[:length]}, parameters)


def test_a_load_says_what_it_wrote() -> None:
    tables = {
        "oltp-insert/load-insert.jsonl": [("sbtest1", 1000), ("sbtest2", 1000)],
        "tpcb/load-tpcb.jsonl": [("pgbench_branches", 1), ("pgbench_tellers", 10), ("pgbench_accounts", 100_000)],
    }
    for name, expected in tables.items():
        finished = load_output.read(text_of(name)).finished
        assert [(row.table, row.rows) for row in finished.tables] == expected
