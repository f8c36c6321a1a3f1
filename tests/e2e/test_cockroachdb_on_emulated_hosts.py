"""A real CockroachDB on emulated hosts: the shipped study, scaled, and a controller that is killed with -9 twice."""

import time
from pathlib import Path

import pytest

from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.store.folder import ResultsFolder
from tests.e2e.test_killed_on_emulated_hosts import a_load_goes_on, finish, kill_when
from tests.support.changed_studies import changed, run_to_report
from tests.support.command_line import processes_naming
from tests.support.real_cockroach import binary
from tests.support.real_parts import needs_server_in

pytestmark = [*needs_server_in("NEPHOSCOPE_COCKROACH"), pytest.mark.root]
ROOT = Path(__file__).parents[2]
MACHINES = """
[[machine_types]]
name = "c5d.4xlarge"
vcpus = 2
memory_gib = 2
disk_gib = 3

[[machine_types]]
name = "c5d.9xlarge"
vcpus = 2
memory_gib = 2
disk_gib = 3

[[matrix]]"""
SCALED = (
    ("replicates = 6", "replicates = 1\nrepeat_rejected = 0"),
    ('"aws"', '"emulated"'),
    (r"(region|zone|cloud) = .*\n", ""),
    (r"database = \{ system.*", 'database = {{ system = "cockroachdb", binary = "{binary}" }}'),
    (r"database_machine.local_ssds = 1\n", ""),
    (r"\[16, 32, 64, 128, 256\]", "[1, 3]"),
    (r"by.nodes.16 = .*", "by.nodes.1 = {{ workers = 1, connections = 8 }}"),
    (r"by.nodes.32 = .*", "by.nodes.3 = {{ workers = 2, connections = 24 }}"),
    (r"by.nodes.\d{2,} = .*\n", ""),
    (r"count = 81", "count = 3"),
    (r"count = 10 ", "count = 2 "),
    (r"database = \{ version.*", "database.connections = 24"),
    (r"rate_per_s = .*", "rate_per_s = 50"),
    (r"140_000", "2"),
    (r"tables = 10\n", "tables = 2\n"),
    (r"connections = (480|216)", "connections = 12"),
    (r"rows = 1?0?_?0?00_000", "rows = 5_000"),
    (r"ramp_s = .*", "ramp_s = 2"),
    (r"duration_s = .*", "duration_s = 8"),
)
"""What becomes of the lines of the shipped study, in this order; braces are doubled."""


def scaled(program: str) -> str:
    text = (ROOT / "studies" / "crdb-overview.toml").read_text()
    changes = ((line, becomes.format(binary=program)) for line, becomes in SCALED)
    return changed(text, changes).replace("\n[[matrix]]", MACHINES, 1)


def sound(stdout: bytes) -> None:
    """It ran at the isolation that CockroachDB has, and its checks hold."""
    run = load_output.read(stdout).finished
    assert (run.exit_code, run.isolation) == (0, "serializable")
    assert run.counters or run.conditions
    assert all(row.agrees for row in run.counters)
    assert all(row.holds for row in run.conditions)
    assert all(line.passed is not False for line in run.audit)


def test_the_shipped_study_scaled_runs_to_its_report(tmp_path: Path) -> None:
    """Six trials on one and three servers, in one zone and three; about ten minutes on two CPUs."""
    folder = run_to_report(scaled(binary(tmp_path)), tmp_path)
    planned = list(folder.planned())
    assert len(planned) == 6
    for one, trial in planned:
        (attempt,) = trial.attempts()
        sound(attempt.raw()[f"{RUN}.stdout"])
        servers = attempt.replication("before") or {}
        assert servers == (attempt.replication("after") or {})
        if one.intent.configuration["name"] == "kv95-1":
            assert servers == {}
        else:
            assert [*servers.values()] == ["live", "live", "live", "all have 3 copies"]


KILLED = """
name = "killed-on-cockroachdb"
replicates = 1

[[machine_types]]
name = "node"
vcpus = 2
memory_gib = 3
disk_gib = 4

[[configurations]]
name = "one"
provider = "emulated"
database_machine = {{ type = "node" }}
load_machine = {{ type = "node" }}
database = {{ system = "cockroachdb", binary = "{binary}", connections = 2 }}

[[benchmarks]]
uses = "tpcc"
[benchmarks.parameters]
warehouses = 1
dialect = "cockroachdb"
isolation = "serializable"
ramp_s = 1
duration_s = 15
"""


def is_loaded(folder: ResultsFolder) -> bool:
    """Whether the load generator fills a data set for one of the folder's trials."""
    time.sleep(0.5)
    trials = [planned.intent.id for planned, _ in folder.planned()] if folder.plan_path.exists() else []
    return any(processes_naming(f"{trial}-1.{FIXTURE}") for trial in trials)


def test_a_controller_is_killed_while_a_data_set_is_loaded_and_while_it_is_driven(tmp_path: Path) -> None:
    """The data set is loaded anew on new hosts; the load that goes on is found again, and is not begun twice."""
    study, folder = tmp_path / "study.toml", ResultsFolder(tmp_path / "out")
    study.write_text(KILLED.format(binary=binary(tmp_path)))
    kill_when(study, folder, lambda: is_loaded(folder), after_s=5)
    begun_unix_ms = time.time() * 1000
    kill_when(study, folder, lambda: a_load_goes_on(folder, begun_unix_ms), after_s=3)
    finish(study, folder, timeout_s=900)
    ((_, trial),) = folder.planned()
    *killed, measured = trial.attempts()
    assert killed
    ends = [attempt.status() for attempt in killed]
    assert all(end is None or end.state != "finished" for end in ends)
    raw = measured.raw()
    sound(raw[f"{RUN}.stdout"])
    for name in (FIXTURE, RUN):
        lines = raw[f"{name}.stdout"].splitlines()
        assert sum(line.startswith(b'{"event":"started"') for line in lines) == 1, name
    assert sum(row.rows for row in load_output.read(raw[f"{FIXTURE}.stdout"]).finished.tables) > 500_000
