"""The how-to on failovers as a reader follows it, with a replicate and two faults each; as root.

How fast a cluster is on a busy machine proves nothing, so trials are read whatever their verdict, but for what the
faults themselves must show.
"""

from pathlib import Path

import pytest

from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from tests.docs import pages
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_parts import needs

pytestmark = [pytest.mark.slow, pytest.mark.root, needs("redis-server", "nephoscope-load")]
PAGE = pages.ROOT / "docs" / "how-to" / "measure-a-failover.md"
STUDIES = dict(pages.studies(PAGE.read_text(encoding="utf-8")))
SHORTER = (("replicates = 2", "replicates = 1\nrepeat_rejected = 0"), ("repeats = 6", "repeats = 2"))


def test_a_replica_takes_over_from_a_killed_master_of_valkey_no_sooner_than_it_may(tmp_path: Path) -> None:
    folder = run_to_report(changed(STUDIES["valkey.toml"], SHORTER), tmp_path, timeout_s=900)
    away_s: dict[str, float] = {}
    for planned, trial in folder.planned():
        attempt, name = trial.attempts()[-1], planned.intent.configuration_name
        parameters = AdversityParameters(repeats=2, baseline_s=5)
        faults = Adversity().observations(attempt.raw(), parameters).faults
        assert [(one.role, one.confirmed, one.undone) for one in faults] == [("primary", True, True)] * 2, name
        values = {row.metric: row.value for row in Adversity().parse(attempt.raw(), parameters) if row.at_s is None}
        away_s[name] = values["time_to_usual_rate"]
        assert values["writes_acknowledged"] > 0
    assert away_s["a-second"] >= 1
    assert away_s["five-seconds"] >= 5, "nobody is given up before its time"
    table = (tmp_path / "out" / "report" / "faults.csv").read_text(encoding="utf-8")
    assert table.startswith("benchmark,configuration,fault,victim"), "empty where a busy machine had trials rejected"
