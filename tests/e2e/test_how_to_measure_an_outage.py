"""The how-to on outages as a reader follows it, with a replicate and a fault each.

How fast a server is on a busy machine proves nothing, so trials are read whatever their verdict, but for what the
faults themselves must show.
"""

from pathlib import Path

import pytest

from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.store.attempt import Attempt
from tests.docs import pages
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_parts import needs

pytestmark = [pytest.mark.slow, needs("postgres")]
PAGE = pages.ROOT / "docs" / "how-to" / "measure-an-outage.md"
STUDIES = dict(pages.studies(PAGE.read_text(encoding="utf-8")))
SHORTER = (("replicates = 6", "replicates = 1\nrepeat_rejected = 0"), ("repeats = 2", "repeats = 1"))


def values_of(attempt: Attempt, fault: str) -> dict[str, float]:
    parameters = AdversityParameters.model_validate({"fault": fault, "repeats": 1, "baseline_s": 5})
    return {row.metric: row.value for row in Adversity().parse(attempt.raw(), parameters) if row.at_s is None}


def test_outages_last_as_long_as_the_faults_and_an_asynchronous_server_alone_loses_writes(tmp_path: Path) -> None:
    folder = run_to_report(changed(STUDIES["outage.toml"], SHORTER), tmp_path, timeout_s=900)
    found = {
        (planned.intent.configuration["name"], planned.intent.benchmark.name): trial.attempts()[-1]
        for planned, trial in folder.planned()
    }
    assert len(found) == 4
    for (configuration, fault), attempt in found.items():
        values = values_of(attempt, fault)
        assert values["longest_outage"] > 1.8, (configuration, fault)
        assert values["clients_hit_share"] == 1
        assert values["writes_acknowledged"] > 0
        verdicts = {one.check: one.verdict.value for one in attempt.verdicts()}
        assert verdicts["faults-confirmed"] == "valid"
        assert verdicts["database-unchanged"] == "valid"
        assert verdicts["not-stopped"] == "valid"
        if (configuration, fault) != ("asynchronous", "kill"):
            assert values["writes_lost"] == 0, (configuration, fault)
    page = (tmp_path / "out" / "report" / "evidence.html").read_text(encoding="utf-8")
    assert "Shaded: from just before a fault until it was undone." in page


@pytest.mark.root
@needs("patroni", "etcd")
def test_a_standby_takes_over_from_a_killed_primary_of_patroni(tmp_path: Path) -> None:
    fast = "ttl = 20, loop_wait = 5, retry_timeout = 5"
    shorter = (
        ("replicates = 3", "replicates = 1\nrepeat_rejected = 0"),
        ("repeats = 4", "repeats = 1"),
        ("fault_s = 45", "fault_s = 35"),
        ("{ synchronous_mode = true }", f"{{ synchronous_mode = true, {fast} }}"),
        ('failover = "patroni" }', f'failover = "patroni", patroni = {{ {fast} }} }}'),
    )
    folder = run_to_report(changed(STUDIES["failover.toml"], shorter), tmp_path, timeout_s=1_200)
    for planned, trial in folder.planned():
        attempt, name = trial.attempts()[-1], planned.intent.configuration["name"]
        raw = attempt.raw()
        (fault,) = Adversity().observations(raw, AdversityParameters(repeats=1, baseline_s=5)).faults
        assert (fault.role, fault.confirmed, fault.undone) == ("primary", True, True), name
        verdicts = {one.check: one.verdict.value for one in attempt.verdicts()}
        assert {verdicts[check] for check in ("faults-confirmed", "database-unchanged", "replication")} == {"valid"}, (
            name
        )
        if name == "synchronous":
            assert values_of(attempt, "kill")["writes_lost"] == 0
