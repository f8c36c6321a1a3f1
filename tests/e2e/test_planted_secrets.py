"""Secrets of many kinds are planted around a study; none is found in its results folder, its logs or its report."""

import subprocess
import zlib
from pathlib import Path

import polars as pl
import pytest

from nephoscope.app.cli import main
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs
from tests.support.server import server

STUDY = """
name = "secrets"
replicates = 1
[[configurations]]
name = "a"
database_machine = {{ cpus = 1 }}
database = {{ dsn = "{dsn}", connections = 2 }}
[[benchmarks]]
uses = "point-select"
parameters = {{ rows = 1000, ramp_s = 0.1, duration_s = 1 }}
"""
VARIABLES = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "GCP_API_KEY",
    "REDISCLI_AUTH",
    "PGSSLPASSWORD",
    "PGOPTIONS",
    "PGAPPNAME",
    "DATABASE_URL",
    "GITHUB_TOKEN",
    "COCKROACH_URL",
)
FILES = (".pgpass", ".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/credentials.db", ".azure/accessTokens.json")
ADDRESSES = (
    "postgresql://me:planted-{}@db/x",
    "postgresql://me@db/x#planted-{}",
    "postgresql://me@db/x?options=-c%20my.password%3Dplanted-{}",
    "postgresql://me@db/x?password=planted-{}",
    "postgresql://me@db/x?planted-{}",
    "postgresql://me@db/x?sslmode=planted-{}",
    "postgresql://me@db/x?application_name=planted-{}",
    "postgresql://me@db/x/planted-{}",
)
PLANTED = b"planted-"


def contents(folder: Path) -> list[tuple[Path, bytes]]:
    """Every file as its reader sees it: Parquet and packed tables are unpacked."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        if file.suffix == ".parquet":
            content += repr(pl.read_parquet(file).to_dicts()).encode()
        if file.suffix == ".gz":
            content += zlib.decompress(content, wbits=zlib.MAX_WBITS | 16)
        found.append((file, content))
    return found


def test_no_address_with_a_secret_is_planned(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number, address in enumerate(ADDRESSES):
        (tmp_path / "s.toml").write_text(STUDY.format(dsn=address.format(number)))
        for command in (["plan"], ["run"]):
            assert main([*command, str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]) == 2
        said = capfd.readouterr()
        assert "database.dsn" in said.err
        assert PLANTED.decode() not in said.out + said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@needs("postgres", "nephoscope-load")
def test_nothing_planted_around_a_run_is_stored_logged_or_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in FILES:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"planted-{name}")
    with server(tmp_path / "server") as ours:
        ours.sql("ALTER DATABASE postgres SET my.password = 'planted-of-a-database'")
        ours.sql("CREATE ROLE planted LOGIN SUPERUSER PASSWORD 'planted-password'")
        ours.sql("ALTER ROLE planted SET my.token = 'planted-of-a-role'")
        (tmp_path / "s.toml").write_text(STUDY.format(dsn=ours.endpoint.dsn.replace("nephoscope@", "planted@")))
        environment = {name: f"planted-{name}" for name in VARIABLES}
        environment |= {"HOME": str(home), "PGPASSWORD": "planted-password"}
        busy = subprocess.Popen(["sh", "-c", ": planted-of-a-process; while :; do sleep 0.01; done"])
        try:
            ran = nephoscope("run", tmp_path / "s.toml", "--out", tmp_path / "out", environment=environment,
                             program=IMPATIENT)  # fmt: skip
        finally:
            busy.kill()
            busy.wait()
        assert ran.exit_code == 0, ran.stderr
        reported = nephoscope("report", tmp_path / "out", environment=environment)
        assert reported.exit_code == 0, reported.stderr
    files = contents(tmp_path / "out")
    assert len(files) > 20
    assert [file for file, content in files if PLANTED in content] == []
    assert PLANTED.decode() not in ran.stdout + ran.stderr + reported.stdout + reported.stderr
