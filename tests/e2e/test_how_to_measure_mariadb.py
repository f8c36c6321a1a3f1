"""The how-to for MariaDB as a reader follows it: two systems in one report, on one machine.

How fast it is on a busy machine proves nothing, so trials are read whatever their verdict.
"""

from pathlib import Path

import pytest

from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.insights.durability import Acknowledged, acknowledged
from tests.docs import pages
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_parts import needs

pytestmark = [pytest.mark.slow, needs("mariadbd", "postgres", "nephoscope-load")]
PAGE = pages.ROOT / "docs" / "how-to" / "measure-mariadb.md"
SHORT = (
    ("ramp_s = 5", "ramp_s = 0.5"),
    ("duration_s = [23]0", "duration_s = 2"),
    ("warehouses = 2", "warehouses = 1"),
    ("500_000", "5_000"),
)


def test_both_systems_are_measured_alike(tmp_path: Path) -> None:
    (text,) = (study for _, study in pages.studies(PAGE.read_text(encoding="utf-8")) if '"two-systems"' in study)
    folder = run_to_report(f"replicates = 1\nrepeat_rejected = 0\n{changed(text, SHORT)}", tmp_path, timeout_s=900)
    done = {(row.intent.configuration_name, row.intent.benchmark.name): trial for row, trial in folder.planned()}
    assert len(done) == 4
    for trial in done.values():
        attempt = trial.attempts()[-1]
        run = load_output.read(attempt.raw()[f"{RUN}.stdout"]).finished
        assert (run.exit_code, run.errors, run.isolation) == (0, [], "read committed")
        assert all(row.holds for row in run.conditions)
        assert acknowledged(attempt.settings()) is Acknowledged.ON_DISK
    loaded = [
        load_output.read(raw).finished.tables
        for trial in done.values()
        if (raw := trial.attempts()[-1].raw().get(f"{FIXTURE}.stdout"))
    ]
    counted = sorted(sorted((table.table, table.rows) for table in tables) for tables in loaded)
    assert counted == [counted[0], counted[0], counted[-1], counted[-1]]
