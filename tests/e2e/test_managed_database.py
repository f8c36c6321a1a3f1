"""A managed database, which a real PostgreSQL stands for: driven from this machine and from a host over SSH."""

import html
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from nephoscope.model.records import NOT_OBSERVED
from nephoscope.store.folder import ResultsFolder
from tests.support import sshd
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs
from tests.support.server import Server, server

pytestmark = needs("postgres", "nephoscope-load")

STUDY = """
name = "managed"
replicates = 1
[defaults]
provider = "managed"
region = "us-east-1"
database_machine = {{ type = "db.m8g.large" }}
price_usd_per_hour = 0.5
price_basis = "a made-up list, 2026-11-20"
database = {{ dsn = "{dsn}", connections = 2, settings = {{ work_mem = "7MB" }} }}
[[configurations]]
name = "from-here"
load_machine = {{ cpus = 1 }}
[[configurations]]
name = "over-ssh"
load_machine = {{ provider = "ssh", hosts = ["{host}"], cpus = 1 }}
ssh = {{ key_file = "{key}", folder = "{folder}", host_keys = {{ "{host}" = "{host_key}" }} }}
[[benchmarks]]
uses = "point-select"
parameters = {{ rows = 1000, ramp_s = 0.1, duration_s = 1 }}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Server]:
    with server(tmp_path / "server") as ours:
        ours.sql("CREATE ROLE bench LOGIN CREATEDB PASSWORD 'of-the-service'")
        ours.sql("GRANT pg_checkpoint TO bench")
        yield ours


def test_a_managed_database_is_measured_and_what_nobody_sees_of_it_is_said(service: Server, tmp_path: Path) -> None:
    with sshd.sshd(tmp_path / "sshd") as host:
        (tmp_path / "s.toml").write_text(
            STUDY.format(
                dsn=service.endpoint.dsn.replace("nephoscope@", "bench@"),
                host=f"{host.address.user}@127.0.0.1:{host.address.port}",
                key=host.address.key_file,
                folder=tmp_path / "there",
                host_key=host.host_key,
            )
        )
        ran = nephoscope(
            *("run", tmp_path / "s.toml", "--out", tmp_path / "out"),
            environment={"PGPASSWORD": "of-the-service"},
            program=IMPATIENT,
        )
    assert ran.exit_code == 0, ran.stderr
    folder = ResultsFolder.existing(tmp_path / "out")
    attempts = {row.intent.configuration_name: trial.decisive_attempt() for row, trial in folder.planned()}
    for name, attempt in attempts.items():
        assert attempt is not None, name
        started = attempt.started()
        assert started is not None
        assert list(started.machines) == ["load"]
        assert started.conditions == [NOT_OBSERVED]
        assert attempt.settings()["work_mem"] == "7MB"
        assert attempt.measurements()
    assert service.sql("SELECT count(*) FROM pg_database WHERE datname LIKE 'nephoscope_trial%'") == "0"
    reported = nephoscope("report", tmp_path / "out")
    assert reported.exit_code == 0, reported.stderr
    costs = pl.read_parquet(tmp_path / "out" / "report" / "costs.parquet")
    assert costs.select("provider", "machine_type", "vcpus", "usd_per_hour", "counted").unique().rows() == [
        ("managed", "db.m8g.large", None, 0.5, "the managed database")
    ]
    assert NOT_OBSERVED in html.unescape((tmp_path / "out" / "report" / "evidence.html").read_text())
    assert "of-the-service" not in json.dumps([str(file.read_bytes()) for file in (tmp_path / "out").rglob("*.json*")])
