"""The studies that repeat others' benchmarks on a server by its address, at a small size on the embedded PostgreSQL."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.store.folder import ResultsFolder
from tests.support.changed_studies import changed
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs
from tests.support.server import Server, server

pytestmark = needs("postgres", "nephoscope-load")

STUDIES = Path(__file__).parents[2] / "studies"
SMALL = {
    "postgresbench": (("scale = 6849, threads = 16", "scale = 1"), ("connections = 256", "connections = 4")),
    "planetscale-2025": (
        (r'(?s)\[\[benchmarks\]\]\nuses = "tpcc"\nname = "tpcc-64".*?(?=\[\[|\Z)', ""),
        (r'(?s)\[\[benchmarks\]\]\nuses = "oltp-read-only"\nname = "read-only-64".*?(?=\[\[|\Z)', ""),
        ("warehouses = 5000", "warehouses = 1"),
        ("tables = 10, rows = 130_000_000", "tables = 2, rows = 1000"),
        ("connections = (32|64)", "connections = 2"),
    ),
    "sparecores-postgres": (
        (r'(?s)\[\[benchmarks\]\]\nuses = "oltp-read-only"\nname = "clients-(half|vcpus)".*?(?=\[\[|\Z)', ""),
        (r"(?m)^(half|same) = \d+\n", ""),
        ('profile = "pipelined", ramp_s = 60', 'profile = "pipelined", tables = 1, rows = 1000, ramp_s = 0'),
    ),
}
"""Of each study: what becomes smaller, and which benchmarks are left out because others are like them."""
RATES = {
    "postgresbench": {"tpcb": "transactions_per_s"},
    "planetscale-2025": {
        "latency": "point_select.service_p99",
        "tpcc-32": "transactions_per_s",
        "read-only-32": "transactions_per_s",
    },
    "sparecores-postgres": {"clients-one": "transactions_per_s", "clients-twice": "transactions_per_s"},
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("server")) as ours:
        ours.sql("CREATE ROLE bench LOGIN CREATEDB PASSWORD 'of-the-service'")
        ours.sql("GRANT pg_checkpoint TO bench")
        yield ours


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_public_benchmark_is_repeated_on_a_server_by_its_address(name: str, service: Server, tmp_path: Path) -> None:
    dsn = service.endpoint.dsn.replace("nephoscope@", "bench@")
    smaller = (
        *SMALL[name],
        ('dsn = ".*?"', f'dsn = "{dsn}"'),
        (r"replicates = \d", "replicates = 1"),
        (r"duration_s = \d+", "duration_s = 1"),
    )
    study = tmp_path / "s.toml"
    study.write_text(changed((STUDIES / f"{name}.toml").read_text(), smaller))
    ran = nephoscope(
        *("run", study, "--out", tmp_path / "out"), environment={"PGPASSWORD": "of-the-service"}, program=IMPATIENT
    )
    assert ran.exit_code == 0, ran.stderr
    attempts = {
        row.intent.benchmark.name: trial.decisive_attempt() for row, trial in ResultsFolder(tmp_path / "out").planned()
    }
    assert set(attempts) == set(RATES[name])
    for benchmark, attempt in attempts.items():
        assert attempt is not None, ran.stderr
        values = [one.value for one in attempt.measurements() if one.metric == RATES[name][benchmark]]
        assert values, benchmark
        assert min(values) > 0


def test_each_head_says_what_differs_from_the_original() -> None:
    for name in SMALL:
        head = re.split(r"^schema", (STUDIES / f"{name}.toml").read_text(), flags=re.MULTILINE)[0]
        assert "What differs:\n# - " in head, name
