"""A PostgreSQL that demands TLS and SCRAM, as managed ones do: reached by `run`, `clean`, `init` and `doctor`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.store.folder import ResultsFolder
from tests.support import sshd
from tests.support.command_line import IMPATIENT, CommandResult, nephoscope
from tests.support.real_parts import needs
from tests.support.tls_server import PASSWORD, TlsServer, direct_tls, tls_server

pytestmark = needs("postgres", "nephoscope-load", "openssl")

STUDY = """
name = "tls"
replicates = 1
[[benchmarks]]
uses = "point-select"
parameters = { rows = 500, ramp_s = 0.1, duration_s = 1 }
"""
HERE = """
[[configurations]]
name = "{name}"
database_machine = {{ cpus = 1 }}
database = {{ dsn = "{dsn}", connections = 1 }}
"""
THERE = """
[[configurations]]
name = "over-ssh"
provider = "managed"
region = "us-east-1"
database_machine = {{ type = "db.m8g.large" }}
price_usd_per_hour = 0.5
price_basis = "a made-up list, 2026-11-20"
database = {{ dsn = "{dsn}", connections = 1 }}
load_machine = {{ provider = "ssh", hosts = ["{host}"], cpus = 1 }}
ssh = {{ key_file = "{key}", folder = "{folder}", host_keys = {{ "{host}" = "{host_key}" }} }}
"""
ENVIRONMENT = {"PGPASSWORD": PASSWORD}


@pytest.fixture(scope="module")
def demanding() -> Iterator[TlsServer]:
    with tls_server() as server:
        yield server


def study(folder: Path, **dsns: str) -> Path:
    file = folder / "s.toml"
    file.write_text(STUDY + "".join(HERE.format(name=name, dsn=dsn) for name, dsn in dsns.items()))
    return file


def run(folder: Path, **dsns: str) -> CommandResult:
    arguments = ("run", study(folder, **dsns), "--out", folder / "out")
    return nephoscope(*arguments, environment=ENVIRONMENT, program=IMPATIENT)


def test_every_way_of_tls_is_measured(demanding: TlsServer, tmp_path: Path) -> None:
    root = demanding.file("root.crt")
    certified = f"sslcert={demanding.file('certified.crt')}&sslkey={demanding.file('certified.key')}"
    with direct_tls(demanding) as front:
        dsns = {
            "as-it-is": demanding.dsn(),
            "require": demanding.dsn("sslmode=require&require_auth=scram-sha-256"),
            "verify-ca": demanding.dsn(f"sslmode=verify-ca&sslrootcert={root}", host="127.0.0.2"),
            "verify-full": demanding.dsn(f"sslmode=verify-full&sslrootcert={root}&channel_binding=require"),
            "certificate": demanding.dsn(f"sslmode=verify-full&sslrootcert={root}&{certified}", user="certified"),
            "several-hosts": demanding.dsn(
                "target_session_attrs=primary&sslmode=require", host="127.0.0.1:9,127.0.0.1"
            ),
            "direct": demanding.dsn(
                f"sslnegotiation=direct&sslmode=verify-full&sslrootcert={root}", user="behind", port=front
            ),
        }
        ran = run(tmp_path, **dsns)
    assert ran.exit_code == 0, ran.stderr
    folder = ResultsFolder.existing(tmp_path / "out")
    attempts = {row.intent.configuration_name: trial.decisive_attempt() for row, trial in folder.planned()}
    assert set(attempts) == set(dsns)
    for name, attempt in attempts.items():
        assert attempt is not None, name
        assert attempt.settings()["session encryption"].startswith("TLSv1.3 TLS_"), name
        exited = next(verdict for verdict in attempt.verdicts() if verdict.check == "generator-exit")
        assert "sessions were encrypted: TLSv1.3" in str(exited.reason), name


@pytest.mark.parametrize(
    ("query", "host", "said", "hint"),
    [
        ("sslmode=disable", "127.0.0.1", "no encryption", "sslmode"),
        ("sslmode=verify-full&sslrootcert={root}", "127.0.0.2", "127.0.0.2", "PGSSLMODE"),
        ("sslmode=verify-ca&sslrootcert={stranger}", "127.0.0.1", "TLS with 127.0.0.1", "PGSSLMODE"),
        ("sslmode=verify-ca&sslrootcert=/nowhere", "127.0.0.1", "/nowhere: No such file", "files are those of the"),
        ("sslmode=require&require_auth=md5", "127.0.0.1", "require_auth=md5 does not allow", "PGSSLMODE"),
        ("sslmode=require&sslnegotiation=direct", "127.0.0.1", "PostgreSQL 17", "PGSSLMODE"),
    ],
)
def test_what_is_not_trusted_is_not_measured_and_the_hint_fits(
    demanding: TlsServer, tmp_path: Path, query: str, host: str, said: str, hint: str
) -> None:
    files = {name: demanding.file(f"{name}.crt") for name in ("root", "stranger")}
    ran = run(tmp_path, here=demanding.dsn(query.format(**files), host=host))
    assert ran.exit_code == 3
    text = " ".join(ran.stderr.split())
    assert said in text
    assert hint in text
    assert "set PGPASSWORD" not in text, "the password is not what is wrong"


def test_a_wrong_password_is_called_that_and_a_password_file_serves_as_well(
    demanding: TlsServer, tmp_path: Path
) -> None:
    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:*:*:bench:{PASSWORD}\n")
    file.chmod(0o600)
    for variables, code in (({"PGPASSWORD": "wrong"}, 3), ({"PGPASSFILE": str(file)}, 0)):
        listed = nephoscope("clean", "--dsn", demanding.dsn("sslmode=require"), environment=variables)
        assert listed.exit_code == code, listed.stderr
        assert ("PGPASSWORD, or PGPASSFILE" in " ".join(listed.stderr.split())) == (code == 3)


def test_clean_init_and_doctor_reach_it_as_run_does(demanding: TlsServer, tmp_path: Path) -> None:
    demanding.sql("CREATE DATABASE nephoscope_a", "COMMENT ON DATABASE nephoscope_a IS 'made by nephoscope: a'")
    dsn = demanding.dsn(f"sslmode=verify-full&sslrootcert={demanding.file('root.crt')}&channel_binding=require")
    demanding.sql("ALTER DATABASE nephoscope_a OWNER TO bench")
    cleaned = nephoscope("clean", "--dsn", dsn, "--yes", environment=ENVIRONMENT)
    assert cleaned.exit_code == 0, cleaned.stderr
    assert "nephoscope_a" in cleaned.stdout
    assert demanding.sql("SELECT 1 FROM pg_database WHERE datname = 'nephoscope_a'") == ()
    for values, code in (("work_mem=4MB,64MB", 0), ("work_mem=4MB,64XB", 2)):
        made = nephoscope("init", tmp_path / f"{code}.toml", "--dsn", dsn, "--compare", values, environment=ENVIRONMENT)
        assert made.exit_code == code, made.stderr
    for query, found in (
        ("sslmode=require", "it answers"),
        ("sslmode=disable", "not fit to measure yet: database of here"),
    ):
        looked = nephoscope("doctor", study(tmp_path, here=demanding.dsn(query)), environment=ENVIRONMENT)
        assert found in " ".join((looked.stdout + looked.stderr).split())


def test_a_load_machine_over_ssh_reaches_it_with_the_files_that_it_has(demanding: TlsServer, tmp_path: Path) -> None:
    dsn = demanding.dsn(f"sslmode=verify-full&sslrootcert={demanding.file('root.crt')}&channel_binding=require")
    with sshd.sshd(tmp_path / "sshd") as host:
        study = tmp_path / "s.toml"
        study.write_text(
            STUDY
            + THERE.format(
                dsn=dsn,
                host=f"{host.address.user}@127.0.0.1:{host.address.port}",
                key=host.address.key_file,
                folder=tmp_path / "there",
                host_key=host.host_key,
            )
        )
        looked = nephoscope("doctor", study, environment=ENVIRONMENT)
        assert "it answers, and its role has the rights" in " ".join((looked.stdout + looked.stderr).split())
        ran = nephoscope("run", study, "--out", tmp_path / "out", environment=ENVIRONMENT, program=IMPATIENT)
        assert ran.exit_code == 0, ran.stderr
        study.write_text(study.read_text().replace(dsn, demanding.dsn("sslmode=disable")))
        refused = nephoscope("run", study, "--out", tmp_path / "other", environment=ENVIRONMENT, program=IMPATIENT)
    assert refused.exit_code == 3
    assert "no encryption" in " ".join(refused.stderr.split())
