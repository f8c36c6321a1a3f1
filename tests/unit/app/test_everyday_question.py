"""`nephoscope init --dsn/--compare` and `clean --dsn`, on a real server where the server decides."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from nephoscope.app.stages.beginning import system_of
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import EnvironmentProblem, InputError, NephoscopeError
from nephoscope.plan.expand import expand
from nephoscope.study.contrasts import contrasts_of
from nephoscope.study.load import load_study
from nephoscope.study.model import Study
from nephoscope.study.starter import everyday_study, read_change
from tests.support.real_parts import needs
from tests.support.server import Server, server

FIRST, SECOND = "postgresql://me@one.example.com/db", "postgresql://me@one.example.com:5433/db"


def loaded(text: str) -> Study:
    return load_study(text, "study.toml", BENCHMARKS)


@pytest.mark.parametrize(
    ("compare", "dsns"),
    [
        *itertools.product(["shared_buffers=128MB,1GB", "version=15,18", 'my.setting="a",b c'], [(), (FIRST, SECOND)]),
        *itertools.product(["work_mem=4MB,64MB,1GB", "search_path=A,a"], [(), (FIRST,)]),
        *itertools.product([None], [(FIRST,), (FIRST, SECOND)]),
    ],
)
def test_every_study_that_it_writes_can_be_planned(compare: str | None, dsns: tuple[str, ...]) -> None:
    change = None if compare is None else read_change(compare)
    study = loaded(everyday_study(change, dsns))
    assert len(expand(study, BENCHMARKS).trials) == 6 * 2 * len(study.configurations)
    assert [one.database.dsn for one in study.configurations] == (
        [None] * len(study.configurations)
        if not dsns
        else list(dsns)
        if len(dsns) > 1
        else [FIRST] * len(study.configurations)
    )
    if change is not None:
        by_name = {one.name: one for one in study.configurations}
        questions = contrasts_of(by_name, study.contrasts)
        assert {question.name.split(".")[-1] for question in questions} <= {change.key.split(".")[-1], "server version"}
        asked = {(question.left, question.right) for question in questions}
        assert {value for pair in asked for value in pair} == set(change.values)


def test_a_study_of_mariadb_has_its_system_and_what_is_driven_there() -> None:
    for dsns in ((), ("mysql://me@one.example.com/db", "mysql://me@two.example.com/db")):
        study = loaded(everyday_study(read_change("innodb_buffer_pool_size=64M,1G"), dsns, "mariadb"))
        assert {one.database.system for one in study.configurations} == {"mariadb"}
        assert [one.parameters.get("profile") for one in study.benchmarks] == ["chatty", None]
        assert [one.database.dsn for one in study.configurations] == list(dsns or (None, None))


@needs("mariadbd")
def test_whoever_has_the_setting_is_compared(tmp_path: Path) -> None:
    written = tmp_path / "pool.toml"
    done = CliRunner().invoke(app, ["init", str(written), "--compare", "innodb_buffer_pool_size=64M,1G"])
    assert done.exit_code == 0, done.output
    assert loaded(written.read_text()).configurations[0].database.system == "mariadb"
    again = CliRunner().invoke(app, ["init", str(tmp_path / "x.toml"), "--compare", "shared_buffers=64MB,1GB"])
    assert again.exit_code == 0, again.output
    assert loaded((tmp_path / "x.toml").read_text()).configurations[0].database.system == "postgres"


def test_servers_of_two_protocols_are_no_comparison() -> None:
    with pytest.raises(InputError, match="two protocols"):
        asyncio.run(system_of(None, ["mysql://me@127.0.0.1:1/x", FIRST]))
    assert asyncio.run(system_of(None, ["mariadb://me@127.0.0.1:1/x"])) == "mariadb"


@pytest.mark.parametrize("text", ["shared_buffers", "=1,2", "a b=1,2", "work_mem=1MB", "work_mem=1MB,,", "jit=on,on"])
def test_what_is_no_comparison_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_change(text)


def run(*arguments: str) -> str:
    """What a command that succeeds prints."""
    said = CliRunner().invoke(app, arguments, catch_exceptions=False, standalone_mode=False)
    return said.stdout


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "study.toml"


@needs("postgres")
@pytest.mark.parametrize(
    ("compare", "error", "said"),
    [
        ("version=15,99", EnvironmentProblem, "PostgreSQL 99 is not installed on this machine; installed: .*18"),
        ("version=9.6,18", InputError, "does not measure PostgreSQL 9.6"),
        ("shared_bufers=1GB,2GB", InputError, "no setting 'shared_bufers'"),
        ("shared_buffers=128XB,1GB", InputError, "rejects shared_buffers = '128XB': invalid value for parameter"),
        ("shared_buffers=128MB,0", InputError, "rejects shared_buffers = '0': .*outside the valid range"),
    ],
)
def test_what_a_server_of_ours_lacks_or_rejects_is_told(
    file: Path, compare: str, error: type[NephoscopeError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        run("init", str(file), "--compare", compare)
    assert caught.value.hint
    assert not file.exists()


@pytest.mark.parametrize("dsn", ["postgresql://me:hunter2@h/d", "host=h password=hunter2", "not an address"])
def test_no_password_reaches_a_study_or_a_message(file: Path, dsn: str) -> None:
    for command in (["init", str(file)], ["clean"]):
        with pytest.raises(InputError) as caught:
            run(*command, "--dsn", dsn)
        assert "hunter2" not in str(caught.value)
    assert not file.exists()


def test_a_server_that_does_not_answer_is_judged_by_the_one_of_this_machine(file: Path) -> None:
    nobody = "postgresql://me@127.0.0.1:9/db"
    with pytest.raises(InputError, match="shared_buffers takes effect only when the server restarts"):
        run("init", str(file), "--dsn", nobody, "--compare", "shared_buffers=1GB,2GB")
    said = CliRunner().invoke(app, ["init", str(file), "--dsn", nobody, "--compare", "work_mem=4MB,8MB"])
    assert "does not answer: cannot connect to 127.0.0.1:9" in " ".join(said.stderr.split())
    assert loaded(file.read_text()).configurations[1].database.settings == {"work_mem": "8MB"}


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("users")) as running:
        yield running


@needs("postgres")
def test_a_server_says_what_can_be_compared_on_it(users: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", users.endpoint.environment["PGPASSWORD"])
    one = ("init", str(file), "--dsn", users.endpoint.dsn)
    for compare, said in (
        ("shared_buffers=128MB,1GB", "takes effect only when the server restarts"),
        ("checkpoint_timeout=5min,30min", "applies to the whole server"),
        ("block_size=8192,4096", "cannot be changed"),
        ("work_mem=4MB,lots", "rejects work_mem = 'lots': invalid value"),
        ("wrk_mem=4MB,8MB", "no setting 'wrk_mem'"),
        ("version=15,18", "one server cannot run several versions"),
    ):
        with pytest.raises(InputError, match=said):
            run(*one, "--compare", compare)
    two = (*one, "--dsn", users.dsn("template1"), "--compare")
    for compare, said in (
        ("shared_buffers=128MB,1GB", "has shared_buffers = 128MB, not 1GB"),
        ("version=17,18", "has version = 18"),
        ("jit=on,off,1", "names 3 values, but --dsn names 2 servers"),
    ):
        with pytest.raises(InputError, match=said):
            run(*two, compare)
    assert not file.exists()
    run(*two, "shared_buffers=128MB,131072kB")  # the same, but written in another way
    assert loaded(file.read_text()).contrasts[0].labels == ["128MB", "131072kB"]
    assert users.endpoint.environment["PGPASSWORD"] not in file.read_text()


@needs("postgres")
def test_clean_lists_what_it_made_and_drops_it_when_asked(users: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", users.endpoint.environment["PGPASSWORD"])
    monkeypatch.setenv("COLUMNS", "200")
    dsn = f"{users.endpoint.dsn}?sslmode=disable&connect_timeout=5"
    command = ("clean", "--dsn", dsn)
    assert run(*command) == "nephoscope has no databases on this server\n"
    users.sql("CREATE DATABASE nephoscope_tpcc_0123456789ab IS_TEMPLATE true")
    users.sql("COMMENT ON DATABASE nephoscope_tpcc_0123456789ab IS 'made by nephoscope: a data set'")
    users.sql('CREATE DATABASE "nephoscope_old""; --" IS_TEMPLATE true')
    listed = run(*command)
    assert "1 database, 7 MiB; nothing was changed" in listed
    assert f"nephoscope clean --dsn '{dsn}' --yes" in listed
    name = '"nephoscope_old""; --"'
    assert f"ALTER DATABASE {name} IS_TEMPLATE false; DROP DATABASE {name};" in listed
    assert "1 database dropped, 7 MiB" in run(*command, "--yes")
    left = users.sql("SELECT datname FROM pg_database WHERE datname LIKE 'nephoscope%'")
    assert left == 'nephoscope_old"; --'


@pytest.mark.parametrize("arguments", [(), ("results", "--dsn", FIRST)])
def test_clean_takes_a_folder_or_a_server(arguments: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="needs either a results folder or --dsn"):
        run("clean", *arguments)
