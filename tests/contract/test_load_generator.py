"""The process boundary: the real nephoscope-load on a real PostgreSQL against the schemas that Python generates."""

import json
import os
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.database.point_select import PointSelect, PointSelectParameters
from nephoscope.benchmarks.database.tpcc import Tpcc, TpccParameters
from nephoscope.benchmarks.database.tpcc_editions import Clients
from nephoscope.benchmarks.histograms import merged
from nephoscope.benchmarks.load import contract
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.saturation import saturation, saturation_measurements
from nephoscope.benchmarks.load.spec import (
    AnyPace,
    ClosedPace,
    ConstantPace,
    KvWorkload,
    LoadSpec,
    NullWorkload,
    OltpReadWriteWorkload,
    PointSelectWorkload,
    PostgresTarget,
    TpccWorkload,
    YcsbWorkload,
)
from nephoscope.databases.asking import StatementFailed, UsersServer
from tests.support.freezer import frozen
from tests.support.real_parts import needs
from tests.support.server import Server, server

pytestmark = needs("postgres", "nephoscope-load")

SCHEMA = Path(__file__).parents[2] / "schema"
OUTPUT_SCHEMA = json.loads((SCHEMA / "load-output-1.json").read_text())
SPEC_SCHEMA = json.loads((SCHEMA / "load-spec-1.json").read_text())
TPCC = TpccWorkload(warehouses=1)
POINT_SELECT = PointSelectWorkload(rows=5000)
KV = KvWorkload(rows=5000, min_block_bytes=8, max_block_bytes=40, ledger=True)
WORKLOADS: dict[str, load_spec.AnyWorkload] = {
    "tpcc": TPCC,
    "point_select": POINT_SELECT,
    "kv": KV,
    "oltp_read_write": OltpReadWriteWorkload(tables=2, rows=2000, distribution="special", profile="pipelined"),
    "ycsb": YcsbWorkload(rows=2000, mix="d"),
}


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("postgres")) as running:
        for name, workload in WORKLOADS.items():
            running.sql(f"CREATE DATABASE {name}_fixture")
            done = execute(running, spec(running, f"{name}_fixture", "load", workload, connections=2))
            assert done.returncode == 0, done.stderr
        yield running


@pytest.fixture
def tpcc(postgres: Server) -> str:
    return fresh_copy(postgres, "tpcc")


@pytest.fixture
def point_select(postgres: Server) -> str:
    return fresh_copy(postgres, "point_select")


def fresh_copy(postgres: Server, name: str) -> str:
    postgres.sql(f"DROP DATABASE IF EXISTS {name}_trial WITH (FORCE)")
    postgres.sql(f"CREATE DATABASE {name}_trial TEMPLATE {name}_fixture STRATEGY file_copy")
    return f"{name}_trial"


def spec(postgres: Server, database: str, action: Any, workload: load_spec.AnyWorkload, **more: Any) -> LoadSpec:
    return LoadSpec(
        action=action,
        target=PostgresTarget(dsn=postgres.dsn(database)),
        workload=workload,
        **{"seed": 11, "connections": 4, "ramp_s": 0.2, "duration_s": 1.0, **more},
    )


def execute(postgres: Server, what: LoadSpec | str, password: str | None = None) -> subprocess.CompletedProcess[bytes]:
    text = what if isinstance(what, str) else what.model_dump_json(by_alias=True)
    environment = {**os.environ, **postgres.endpoint.environment}
    if password is not None:
        environment["PGPASSWORD"] = password
    return subprocess.run(
        [load_program(), "exec"], input=text.encode(), capture_output=True, env=environment, timeout=120, check=False
    )


def lines_of(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for line in found:
        jsonschema.validate(line, OUTPUT_SCHEMA)
    return found


@dataclass(frozen=True)
class Login:
    """How a user's own server is named."""

    hosts: str = "{host}:{port}"
    query: str = ""
    file: str | None = "*:*:*:nephoscope:{password}"
    """The password file; None: there is none."""
    variable: str = "PGPASSFILE"
    """That names it: itself, or as libpq's default in HOME."""
    mode: int = 0o600
    works: bool = True


LOGINS = {
    "a password file": Login(),
    "the default password file": Login(variable="HOME"),
    "the second host": Login("127.0.0.1:1,{host}:{port}", "?target_session_attrs=primary"),
    "a line for each host": Login(
        "127.0.0.1:1,{host}:{port}",
        "?target_session_attrs=primary",
        "127.0.0.1:1:*:*:wrong\n{host}:{port}:*:nephoscope:{password}",
    ),
    "a password of another port": Login(file="{host}:1:*:nephoscope:{password}", works=False),
    "a file that others can read": Login(mode=0o644, works=False),
    "a named file that is not there": Login(file=None, works=False),
    "a service": Login(query="?service=x", works=False),
}


@pytest.mark.parametrize("login", LOGINS.values(), ids=list(LOGINS))
def test_a_server_is_asked_and_measured_by_one_reading_of_its_address(
    postgres: Server, point_select: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: Login
) -> None:
    place = urlsplit(postgres.endpoint.dsn)
    facts = {"host": place.hostname, "port": place.port, "password": postgres.endpoint.environment["PGPASSWORD"]}
    file = tmp_path / ".pgpass"
    if login.file is not None:
        file.write_text(f"{login.file.format(**facts)}\n")
        file.chmod(login.mode)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv(login.variable, str(tmp_path if login.variable == "HOME" else file))
    dsn = f"postgresql://nephoscope@{login.hosts.format(**facts)}/{point_select}{login.query}"
    asked = spec(postgres, point_select, "run", POINT_SELECT, ramp_s=0.0, duration_s=0.2)
    asked = asked.model_copy(update={"target": PostgresTarget(dsn=dsn)})
    text = asked.model_dump_json(by_alias=True).encode()
    done = subprocess.run([load_program(), "exec"], input=text, capture_output=True, timeout=60, check=False)
    query = UsersServer(dsn, os.environ, load_program()).ask("SELECT current_database()")
    if login.works:
        assert done.returncode == 0, done.stderr
        assert postgres.loop.run_until_complete(query) == point_select
    else:
        assert done.returncode in {2, 3}
        with pytest.raises(StatementFailed) as failed:
            postgres.loop.run_until_complete(query)
        assert failed.value.failure.message in done.stderr.decode()


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_what_it_writes_is_the_contract_and_its_counts_agree(postgres: Server, name: str) -> None:
    database = fresh_copy(postgres, name)
    asked = spec(postgres, database, "run", WORKLOADS[name])
    jsonschema.validate(json.loads(asked.model_dump_json(by_alias=True)), SPEC_SCHEMA)
    done = execute(postgres, asked)
    assert done.returncode == 0, done.stderr
    assert lines_of(done)[0]["event"] == "started"
    output = load_output.read(done.stdout)
    assert output.started.spec == asked
    assert postgres.endpoint.environment["PGPASSWORD"].encode() not in done.stdout + done.stderr
    summed: Counter[tuple[str, str]] = Counter()
    for interval in output.intervals:
        for row in interval.operations:
            summed[row.operation, row.outcome] += row.count
            for encoded in (row.histograms.queue, row.histograms.service, row.histograms.response):
                assert merged([encoded]).get_total_count() == row.count - row.out_of_range
    for total in output.finished.operations:
        measured = load_output.count(output, operations=[total.operation], outcomes=(total.outcome,))
        assert measured == total.measured
        # what was in flight at the end belongs to `all` alone
        assert summed[total.operation, total.outcome] <= total.all
    assert output.finished.measured_s == pytest.approx(asked.duration_s, rel=0.05)
    outages, ledger = output.finished.outages, output.finished.ledger
    assert outages is not None
    assert outages.longest_s >= max(interval.longest_gap_s or 0 for interval in output.intervals) > 0
    assert (ledger is not None) == (name == "kv")
    if ledger is not None:
        written = sum(total.all for total in output.finished.operations if total.operation == "write")
        assert (ledger.acknowledged, ledger.lost, ledger.unsent) == (written, 0, 0)
    assert [interval.index for interval in output.intervals] == list(range(len(output.intervals)))
    first = output.intervals[0]
    assert first.start_s == 0
    assert 0 <= first.at_unix_ms - output.started.at_unix_ms < 60_000
    for interval in output.intervals:
        assert interval.at_unix_ms - first.at_unix_ms == pytest.approx(interval.start_s * 1000, abs=1)


def test_new_orders_counted_by_the_client_are_the_servers(postgres: Server, tpcc: str) -> None:
    before = int(postgres.sql("SELECT sum(d_next_o_id) FROM district", tpcc))
    done = execute(postgres, spec(postgres, tpcc, "run", TPCC))
    after = int(postgres.sql("SELECT sum(d_next_o_id) FROM district", tpcc))
    output = load_output.read(done.stdout)
    committed = sum(
        row.all for row in output.finished.operations if (row.operation, row.outcome) == ("new_order", "committed")
    )
    assert committed == after - before > 0
    (counter,) = [row for row in output.finished.counters if row.name == "sum_d_next_o_id"]
    assert (counter.server, counter.client, counter.in_doubt, counter.agrees) == (committed, committed, 0, True)
    assert {row.number for row in output.finished.conditions if row.holds} >= set(range(1, 13)) - {11}


def test_all_conditions_are_checked_after_loading(postgres: Server, tpcc: str) -> None:
    done = execute(postgres, spec(postgres, tpcc, "check", TPCC))
    assert done.returncode == 0
    finished = load_output.read(done.stdout).finished
    assert {row.number for row in finished.conditions if row.holds} >= set(range(1, 13)) - {11}


@pytest.mark.parametrize(
    ("action", "damage", "number"),
    [
        ("check", "UPDATE warehouse SET w_ytd = w_ytd + 0.01", 1),
        ("check", "UPDATE new_order SET no_o_id = no_o_id + 1000 WHERE no_d_id = 3 AND no_o_id = 3000", 3),
        ("check", "DELETE FROM order_line WHERE ol_o_id = 5 AND ol_d_id = 1 AND ol_number = 1", 4),
        ("run", "UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 9 AND c_d_id = 4", 10),
    ],
)
def test_one_damaged_row_is_exit_5_and_the_condition_is_named(
    postgres: Server, tpcc: str, action: str, damage: str, number: int
) -> None:
    postgres.sql(damage, tpcc)
    done = execute(postgres, spec(postgres, tpcc, action, TPCC, duration_s=0.3))
    assert done.returncode == contract.EXIT_CONSISTENCY_BROKEN, done.stderr
    finished = load_output.read(done.stdout).finished
    assert finished.exit_code == contract.EXIT_CONSISTENCY_BROKEN
    assert number in {row.number for row in finished.conditions if not row.holds}
    first = min(row.number for row in finished.conditions if not row.holds)
    assert f"condition {first} " in finished.message
    assert finished.message in done.stderr.decode()


def test_a_missing_row_is_exit_5(postgres: Server, point_select: str) -> None:
    postgres.sql("DELETE FROM sbtest1 WHERE id = 17", point_select)
    done = execute(postgres, spec(postgres, point_select, "check", POINT_SELECT))
    assert done.returncode == contract.EXIT_CONSISTENCY_BROKEN


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"seed"', '"sed"', "sed"),
        ('"action":"run"', '"action":"rum"', "rum"),
        ('"connections":4', '"connections":0', "connections"),
        ('"warehouses":1', '"warehouses":"one"', "warehouses"),
        ('"schema":"nephoscope/load-spec/1"', '"schema":"nephoscope/load-spec/2"', "load-spec/2"),
        ("{", "", ""),
    ],
)
def test_a_wrong_spec_is_exit_2_and_names_the_key(postgres: Server, old: str, new: str, named: str) -> None:
    text = spec(postgres, "nowhere", "run", TPCC).model_dump_json(by_alias=True).replace(old, new, 1)
    done = execute(postgres, text)
    assert done.returncode == contract.EXIT_BAD_SPEC
    assert named in done.stderr.decode()
    assert done.stdout == b""


def test_who_cannot_connect_is_exit_3(postgres: Server, point_select: str) -> None:
    wrong = execute(postgres, spec(postgres, point_select, "run", POINT_SELECT), password="wrong")
    assert wrong.returncode == contract.EXIT_CANNOT_CONNECT
    assert b"password" in wrong.stderr
    nowhere = spec(postgres, "no_such_database", "run", POINT_SELECT)
    assert execute(postgres, nowhere).returncode == contract.EXIT_CANNOT_CONNECT


def test_data_of_another_size_are_refused(postgres: Server, tpcc: str) -> None:
    done = execute(postgres, spec(postgres, tpcc, "run", TpccWorkload(warehouses=7)))
    assert done.returncode == contract.EXIT_BAD_SPEC
    assert b"has 1 warehouse, the spec says 7" in done.stderr


@contextmanager
def under_way(postgres: Server, asked: LoadSpec, *, pipesize: int = -1) -> Iterator[subprocess.Popen[bytes]]:
    """A load in its second second."""
    with subprocess.Popen(
        [load_program(), "exec"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=pipesize,
        env={**os.environ, **postgres.endpoint.environment},
    ) as process:
        assert process.stdin is not None
        process.stdin.write(asked.model_dump_json(by_alias=True).encode())
        process.stdin.close()
        process.stdin = None
        assert process.stdout is not None
        select.select([process.stdout], [], [], 120)  # its first line, which is left there for the test
        time.sleep(1.5)
        yield process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_exit_130_with_complete_lines(postgres: Server, point_select: str, number: int) -> None:
    with under_way(postgres, spec(postgres, point_select, "run", POINT_SELECT, duration_s=60)) as process:
        process.send_signal(number)
        stdout, _ = process.communicate(timeout=120)
    assert process.returncode == contract.EXIT_INTERRUPTED
    assert load_output.read(stdout).finished.exit_code == contract.EXIT_INTERRUPTED


def stopped(finished: contract.Finished) -> list[float]:
    return [gap.length_s for gap in finished.gaps if gap.kind == "stopped"]


@pytest.mark.parametrize("pace", [ClosedPace(), ConstantPace(rate_per_s=200)], ids=["closed", "constant"])
def test_a_stopped_generator_is_exit_8_and_says_when(postgres: Server, point_select: str, pace: AnyPace) -> None:
    asked = spec(postgres, point_select, "run", POINT_SELECT, ramp_s=0.0, duration_s=3, pace=pace)
    with under_way(postgres, asked) as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.0)
        process.send_signal(signal.SIGCONT)
        stdout, _ = process.communicate(timeout=120)
    assert process.returncode == contract.EXIT_STOOD_STILL
    whole = load_output.read(stdout)
    (length_s,) = stopped(whole.finished)
    assert length_s >= 0.99
    assert whole.measured_s == pytest.approx(3)
    seen = saturation(whole, None)
    assert seen is not None
    assert seen.gaps == whole.finished.gaps


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_frozen_generator_is_exit_8(postgres: Server, point_select: str) -> None:
    asked = spec(postgres, point_select, "run", POINT_SELECT, duration_s=3)
    with under_way(postgres, asked) as process:
        with frozen(process.pid):
            time.sleep(1.0)
        stdout, _ = process.communicate(timeout=120)
    assert process.returncode == contract.EXIT_STOOD_STILL
    assert stopped(load_output.read(stdout).finished)


def test_a_reader_that_does_not_read_is_no_stop(postgres: Server, point_select: str) -> None:
    """The generator waits for it, but its threads drive on."""
    asked = spec(postgres, point_select, "run", POINT_SELECT, ramp_s=0.0, duration_s=6)
    with under_way(postgres, asked, pipesize=4096) as process:
        time.sleep(4.0)
        stdout, _ = process.communicate(timeout=120)
    assert process.returncode == contract.EXIT_FINISHED
    assert not stopped(load_output.read(stdout).finished)


def run(postgres: Server, database: str, workload: load_spec.AnyWorkload, **more: Any) -> load_output.LoadOutput:
    done = execute(postgres, spec(postgres, database, "run", workload, **more))
    assert done.returncode == 0, done.stderr
    lines_of(done)
    return load_output.read(done.stdout)


def test_deferred_deliveries_are_transactions_when_they_are_queued(postgres: Server, tpcc: str) -> None:
    parameters = TpccParameters(warehouses=1, delivery="deferred", ramp_s=0, duration_s=30)
    workload = Tpcc().workload(parameters, Clients())
    asked = spec(
        postgres, tpcc, "run", workload, ramp_s=0.0, duration_s=30.0, operations=10 * 23, workers=10, check="none"
    )
    done = execute(postgres, asked)
    assert done.returncode == 0, done.stderr
    output = load_output.read(done.stdout)
    declared = {metric.name: metric.unit for metric in Tpcc().metrics(parameters)}
    rows = Tpcc().parse({"load-run.stdout": done.stdout}, parameters)
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()
    values = {row.metric: row.value for row in rows if row.at_s is None}
    assert values["deferred_within_80_s"] == 100
    ended = load_output.count(output, outcomes=["committed", "rolled_back_by_design"])
    of_queued_work = load_output.count(output, operations=["delivery_deferred"], outcomes=["committed"])
    assert of_queued_work > 0
    assert values["transactions_per_s"] == pytest.approx((ended - of_queued_work) / output.measured_s)
    assert values["round_trips_per_transaction"] == pytest.approx(output.finished.round_trips / (10 * 23))
    assert values["delivery_deferred.service_mean"] > values["delivery.service_mean"]


def test_it_says_every_second_what_its_threads_used(postgres: Server, point_select: str) -> None:
    output = run(postgres, point_select, POINT_SELECT, threads=2, duration_s=2.0)
    for interval in output.measured:
        assert len(interval.client.threads) == 2
        assert sum(thread.cpu_s for thread in interval.client.threads) <= interval.client.cpu_s + 0.05
    found = saturation(output, None)
    assert found is not None
    assert found.threads == 2
    assert found.thread_cpu_share is not None
    assert 0.001 < found.thread_cpu_share <= 1.1


def test_the_null_workload_calibrates_without_a_data_set(postgres: Server) -> None:
    output = run(postgres, "postgres", NullWorkload(), check="none")
    assert {row.operation for row in output.finished.operations} == {"sync"}
    ended = sum(row.all for row in output.finished.operations)
    assert output.finished.round_trips == ended > 100


def test_an_open_pace_offers_its_rate_and_says_how_late_it_was(postgres: Server, point_select: str) -> None:
    pace = ConstantPace(rate_per_s=200)
    done = execute(postgres, spec(postgres, point_select, "run", POINT_SELECT, pace=pace, duration_s=2.0))
    output = load_output.read(done.stdout)
    assert output.paced
    assert output.finished.offered == pytest.approx(400, abs=4)
    assert output.finished.not_sent is not None
    kept = output.finished.not_sent <= 4  # not on a machine that is too busy
    assert done.returncode == (contract.EXIT_FINISHED if kept else contract.EXIT_RATE_NOT_KEPT), done.stderr
    assert sum(interval.offered or 0 for interval in output.measured) == output.finished.offered
    found = saturation(output, None)
    assert found is not None
    assert found.pacing_error_p99_s is not None
    declared = PointSelectParameters(pace="constant", rate_per_s=200)
    metrics = {metric.name for metric in PointSelect().metrics(declared)}
    rows = [*load_output.operation_latencies(output), *saturation_measurements(output)]
    assert {row.metric for row in rows} <= metrics
    assert "point_select.response_p90" in {row.metric for row in rows}


def test_a_rate_that_cannot_be_kept_is_exit_4_and_nothing_is_lost(postgres: Server, tpcc: str) -> None:
    pace = ConstantPace(rate_per_s=50_000)
    done = execute(postgres, spec(postgres, tpcc, "run", TPCC, pace=pace, check="none"))
    assert done.returncode == contract.EXIT_RATE_NOT_KEPT, done.stderr
    finished = load_output.read(done.stdout).finished
    assert finished.offered == pytest.approx(50_000, rel=0.01)
    measured = sum(row.measured for row in finished.operations)
    assert finished.offered is not None
    assert finished.not_sent is not None
    assert 0 < measured < finished.offered
    assert finished.not_sent > 0


@pytest.mark.parametrize("profile", ["chatty", "batched", "pipelined", "proc"])
def test_each_profile_runs_on_the_same_data_set_and_counts_its_round_trips(
    postgres: Server, tpcc: str, profile: Any
) -> None:
    output = run(postgres, tpcc, TpccWorkload(warehouses=1, profile=profile), check="none")
    finished = output.finished
    assert finished.profile == profile
    assert finished.headline is not None
    assert finished.headline.tpmc is None
    assert sum(row.round_trips for row in finished.round_trips_by_operation) == finished.round_trips
    parameters = TpccParameters(warehouses=1, profile=profile)
    values = {row.metric: row.value for row in Tpcc().rates(output, parameters) if row.at_s is None}
    assert values["new_orders_per_minute"] == pytest.approx(finished.headline.new_orders_per_minute, rel=1e-6)
    low, high = {"chatty": (13, 16), "batched": (8, 9), "pipelined": (1, 1.2), "proc": (1, 1.2)}[profile]
    assert low <= values["round_trips_per_transaction"] <= high


def test_scaled_waits_are_paced_and_have_no_tpmc(postgres: Server, tpcc: str) -> None:
    workload = TpccWorkload(warehouses=1, wait="spec", wait_factor=0.02)
    output = run(postgres, tpcc, workload, ramp_s=1.0, duration_s=3.0, check="none")
    assert output.paced
    assert output.finished.headline is not None
    assert output.finished.headline.tpmc is None
    assert load_output.responses(output)["new_order"].mean_s > 0


@pytest.mark.slow
def test_waits_of_the_specification_give_tpmc_and_the_efficiencies_of_the_program(postgres: Server, tpcc: str) -> None:
    output = run(postgres, tpcc, TpccWorkload(warehouses=1, wait="spec"), ramp_s=3.0, duration_s=9.0)
    headline = output.finished.headline
    assert headline is not None
    assert headline.tpmc is not None
    parameters = TpccParameters(warehouses=1, wait="spec")
    values = {row.metric: row.value for row in Tpcc().rates(output, parameters) if row.at_s is None}
    assert int(values["tpmc"]) == headline.tpmc
    assert headline.efficiency_of_12_86_percent == pytest.approx(values["efficiency_of_12_86"], abs=100 / 12.86)
