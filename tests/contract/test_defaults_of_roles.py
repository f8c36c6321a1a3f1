"""What a server's owner set for a role changes no result: it is overridden, reported, or named where a load ends."""

import json
import re
import subprocess
from collections.abc import Iterator

import pytest

from nephoscope.app.wiring import load_program
from tests.support.real_parts import needs
from tests.support.server import Server, server

pytestmark = [needs("postgres"), needs("nephoscope-load")]

FORMATS = (
    "DateStyle = 'German, DMY'",
    "TimeZone = 'Asia/Kathmandu'",
    "IntervalStyle = 'sql_standard'",
    "bytea_output = 'escape'",
    "extra_float_digits = -5",
)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("roles")) as running:
        running.sql("CREATE ROLE bench LOGIN CREATEDB PASSWORD 'secret'")
        running.sql("CREATE DATABASE bench OWNER bench")
        yield running


@pytest.fixture
def dsn(ours: Server) -> Iterator[str]:
    yield re.sub(r"//[^@/]*@", "//bench:secret@", ours.dsn("bench"))
    ours.sql("ALTER ROLE bench RESET ALL")
    ours.sql("DROP OWNED BY bench", "bench")


def load(dsn: str, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    command = [load_program(), *arguments, "--dsn", dsn]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)


DATA_SETS = (
    ("tpcc", "load", "--warehouses", "1"),
    ("kv", "load", "--rows", "1000"),
    ("ycsb", "load", "--rows", "1000", "--mix", "a"),
)


def test_formats_of_dates_numbers_and_bytes_change_no_row(ours: Server, dsn: str) -> None:
    def fingerprints(data_set: tuple[str, ...]) -> object:
        loaded = load(dsn, *data_set, "--fingerprint")
        assert loaded.returncode == 0, loaded.stderr
        found = json.loads(loaded.stdout.splitlines()[-1])["fingerprints"]
        assert found
        return found

    by_default = [fingerprints(data_set) for data_set in DATA_SETS]
    for setting in FORMATS:
        ours.sql(f"ALTER ROLE bench SET {setting}")
    assert [fingerprints(data_set) for data_set in DATA_SETS] == by_default


def test_a_run_has_the_isolation_that_it_asks_for_whatever_the_roles_default_is(ours: Server, dsn: str) -> None:
    ours.sql("ALTER ROLE bench SET default_transaction_isolation = 'serializable'")
    assert load(dsn, "tpcc", "load", "--warehouses", "1").returncode == 0
    run = load(dsn, "tpcc", "run", "--warehouses", "1", "--connections", "1", "--duration-s", "1")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["isolation"] == "read committed"


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("search_path = ''", "no schema has been selected to create in"),
        ("statement_timeout = '1ms'", "statement timeout"),
        ("default_transaction_read_only = on", "read-only"),
    ],
)
def test_what_keeps_a_data_set_from_being_made_is_named_and_no_part_of_it_counts(
    ours: Server, dsn: str, setting: str, reason: str
) -> None:
    ours.sql(f"ALTER ROLE bench SET {setting}")
    loaded = load(dsn, "tpcc", "load", "--warehouses", "1")
    assert loaded.returncode in {3, 6}
    assert reason in loaded.stderr
    ours.sql("ALTER ROLE bench RESET ALL")
    assert load(dsn, "tpcc", "check", "--warehouses", "1").returncode == 5


@pytest.mark.slow
def test_a_commit_that_waits_for_a_standby_which_is_not_there_ends_with_a_sentence(ours: Server, dsn: str) -> None:
    ours.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    ours.sql("SELECT pg_reload_conf()")
    try:
        waited = load(dsn, "kv", "load", "--rows", "100", timeout_s=100)
    finally:
        ours.sql("ALTER SYSTEM RESET synchronous_standby_names")
        ours.sql("SELECT pg_reload_conf()")
    assert waited.returncode == 6, waited.stderr
    assert "did not commit an empty table within 60 s: does it wait for a standby" in waited.stderr
