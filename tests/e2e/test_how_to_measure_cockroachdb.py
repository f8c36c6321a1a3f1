"""The how-to for CockroachDB as a reader follows it, with a real server: on three emulated hosts, and on one."""

from pathlib import Path

import pytest

from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from tests.docs import pages
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_cockroach import binary
from tests.support.real_parts import needs_server_in

pytestmark = [*needs_server_in("NEPHOSCOPE_COCKROACH"), pytest.mark.root]
PAGE = pages.ROOT / "docs" / "how-to" / "measure-cockroachdb.md"
LESS_TIME = ("duration_s = 300", "duration_s = 10, ramp_s = 2")
ON_ONE = (", count = 3 ", " ")


def study_of_the_page(program: str, *changes: tuple[str, str]) -> str:
    ((_, study),) = pages.studies(PAGE.read_text(encoding="utf-8"))
    return f"replicates = 1\nrepeat_rejected = 0\n{changed(study, (('~/cockroach', program), LESS_TIME, *changes))}"


@pytest.mark.parametrize(("changes", "servers"), [((), 3), ((ON_ONE,), 1)], ids=["three", "one"])
def test_the_study_of_the_page_runs_as_it_stands(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], servers: int
) -> None:
    folder = run_to_report(study_of_the_page(binary(tmp_path), *changes), tmp_path, timeout_s=1200)
    ((_, trial),) = folder.planned()
    (attempt,) = trial.attempts()
    raw = attempt.raw()
    loaded, run = (load_output.read(raw[f"{name}.stdout"]).finished for name in (FIXTURE, RUN))
    assert sum(table.rows for table in loaded.tables) == 100_000
    assert (run.exit_code, run.isolation, run.errors) == (0, "serializable", [])
    assert run.counters
    assert all(row.agrees for row in run.counters)
    states = attempt.replication("after")
    assert states == attempt.replication("before")
    assert [*(states or {}).values()] == (["live"] * 3 + ["all have 3 copies"] if servers == 3 else [])
    assert attempt.settings()["admission.kv.enabled"] == "false"
    kept = {file.name.removeprefix("cockroachdb-") for file in attempt.log_dir.iterdir()}
    assert {"cluster-settings.tsv", "replication-after.tsv", "database-1-server.log"} <= kept
