"""What faults cost, on loads whose outages are known to a tenth of a second."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.benchmarks.faults.outages import Effect, FaultedLoad
from nephoscope.benchmarks.load import output as load_output
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import LowerBound
from nephoscope.model.records import InflictedFault
from nephoscope.run.derive import work_of
from tests.support.faulted_load import PER_STEP, fault, faulted

DATA = Path(__file__).parents[3] / "data" / "adversity"
TWO = ((5.0, 7.0), (20.0, 22.0))
PARAMETERS = AdversityParameters.model_validate(
    {"fault": "pause", "repeats": 2, "ramp_s": 0, "baseline_s": 5, "fault_s": 2, "recovery_s": 8, "rate_per_s": 1000}
)


def raw_of(output: bytes, *faults: InflictedFault) -> dict[str, bytes]:
    notes = json.dumps([one.model_dump() for one in faults]).encode()
    return {"load-run.stdout": output, "faults.json": notes}


def effects_of(output: bytes, *faults: InflictedFault) -> tuple[Effect, ...]:
    return FaultedLoad(load_output.read(output), faults, baseline_s=5.0).effects


def two_pauses(**changes: Any) -> dict[str, bytes]:
    away = [(round(10 * begin), round(10 * end) - 1) for begin, end in TWO]
    return raw_of(faulted(30, away, **changes), *(fault(*one) for one in TWO))


def test_each_outage_is_measured_by_itself_and_a_trial_has_their_median() -> None:
    rows = Adversity().parse(two_pauses(), PARAMETERS)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    assert values["longest_outage"] == 2.0
    assert values["time_at_zero"] == pytest.approx(2.0)
    assert values["time_to_usual_rate"] == pytest.approx(2.0)
    assert values["clients_hit_share"] == 0.5
    assert values["throughput_during_share"] == 0
    assert values["throughput_after_share"] > 1, "what had to wait is done, too"
    assert values["response_p99_ratio"] == pytest.approx(1000, rel=0.01)
    assert (values["writes_lost"], values["writes_in_doubt"]) == (0, 3)
    assert values["usual_rate_per_s"] == pytest.approx(10 * PER_STEP)
    assert [row.at_s for row in rows if row.metric == "outage.longest_outage"] == [5.0, 20.0]
    declared = {metric.name: metric.unit for metric in Adversity().metrics(PARAMETERS)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()


def test_a_fault_without_effect_costs_nothing() -> None:
    (effect,) = effects_of(faulted(20, []), fault(5, 7))
    assert (effect.zero_s, effect.slow_s, effect.usual_again_s, effect.clients_share) == (0, 0, 0.0, 0.0)
    assert effect.during_share == pytest.approx(1)
    assert effect.longest_s == 0.01
    assert effect.p99_ratio == 1


def test_a_trial_whose_faults_did_not_happen_is_read_and_says_so() -> None:
    raw = {"load-run.stdout": faulted(20, [])}
    values = {row.metric: row.value for row in Adversity().parse(raw, PARAMETERS) if row.at_s is None}
    assert values["operations_per_s"] == 10 * PER_STEP
    assert "longest_outage" not in values
    observed = Adversity().observations(raw, PARAMETERS)
    assert (observed.faults, observed.faults_planned) == ([], 2)
    assert len(Adversity().ended(raw, PARAMETERS)) == 20


def test_an_outage_that_does_not_end_is_a_lower_bound() -> None:
    (effect,) = effects_of(faulted(20, [(50, 199)]), fault(5, 7))
    assert isinstance(effect.longest_s, LowerBound)
    assert effect.usual_again_s == LowerBound(above=15.0)
    assert effect.exempt_s == 15.0


def test_a_server_that_comes_back_after_the_load_was_away_until_its_end() -> None:
    late = fault(5, 25)
    (effect,) = effects_of(faulted(20, [(50, 199)]), late)
    assert (effect.longest_s, effect.during_share, effect.after_share) == (LowerBound(above=15.0), 0, None)
    rows = Adversity().parse(raw_of(faulted(20, [(50, 199)]), late), PARAMETERS)
    assert [row.bound for row in rows if row.metric == "longest_outage"] == ["lower"]


def test_checks_look_at_what_no_fault_touched_and_at_all_of_that() -> None:
    ended = Adversity().ended(two_pauses(), PARAMETERS)
    begins_s = [(one.from_unix_ms - 1_000_000) / 1000 for one in ended]
    assert begins_s == [at for at in range(30) if at not in (5, 6, 20, 21)]
    assert len(list(work_of(ended))) == 3, "one for each stretch without a fault"
    # Somebody else stops the server for half a second, ten seconds after a fault.
    disturbed = raw_of(faulted(30, [(50, 69), (170, 174)]), fault(5, 7))
    stretches = [series.values for series in work_of(Adversity().ended(disturbed, PARAMETERS))]
    assert [values.count(0) for values in stretches] == [0, 5]


@pytest.mark.parametrize(("at_s", "failed", "lost"), [(5, 0, 0), (20, 0, 0), (12, 50, 1), (2, 50, 1)])
def test_errors_and_lost_connections_count_outside_of_faults_alone(at_s: int, failed: int, lost: int) -> None:
    found = Adversity().operations(two_pauses(failed_at_s=at_s), PARAMETERS, client_cpus=2)
    assert (found.failed, found.connections_lost) == (failed, lost)
    assert found.attempted == 30 * 10 * PER_STEP + failed, "what had to wait is done outside"
    assert found.not_sent is None, "what never started is known of the whole load alone"


def test_a_lost_write_is_a_result_and_what_nobody_sent_is_none() -> None:
    raw = two_pauses(lost=7)
    assert Adversity().operations(raw, PARAMETERS, client_cpus=2).exit_code == 0
    (lost,) = (row.value for row in Adversity().parse(raw, PARAMETERS) if row.metric == "writes_lost")
    assert lost == 7
    unsent = raw["load-run.stdout"].replace(b'"unsent": 0', b'"unsent": 1')
    assert Adversity().operations({**raw, "load-run.stdout": unsent}, PARAMETERS, client_cpus=2).exit_code == 5


def test_notes_that_are_damaged_are_refused() -> None:
    with pytest.raises(OutputUnreadable, match=r"faults\.json is damaged"):
        Adversity().parse({**two_pauses(), "faults.json": b"[{"}, PARAMETERS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": {"pace": "closed"}}, "which the phases set"),
        ({"parameters": {"read_percent": 100}}, "only read"),
        ({"parameters": {"rows": 0}}, "parameters` of kv"),
    ],
)
def test_parameters_that_cannot_be_meant_are_rejected(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AdversityParameters.model_validate({"fault": "kill", **changes})


RECORDED = AdversityParameters(
    fault="kill", repeats=2, ramp_s=1, baseline_s=3, fault_s=1, recovery_s=4, rate_per_s=400, outage_limit_s=0.5
)


def test_a_recorded_server_was_away_for_as_long_as_it_was_dead_and_recovered() -> None:
    raw = raw_recorded()
    values = {row.metric: row.value for row in Adversity().parse(raw, RECORDED) if row.at_s is None}
    outages = json.loads(raw["load-run.stdout"].splitlines()[-1])["outages"]
    assert values["longest_outage"] == pytest.approx(sum(one["longest_s"] for one in outages["episodes"]) / 2)
    assert values["longest_outage"] > 1.4, "a second of being dead, a start, and a way back of the clients"
    assert (values["clients_hit_share"], values["throughput_during_share"], values["writes_lost"]) == (1, 0, 0)
    assert 1.2 < values["throughput_after_share"] < 1.3
    found = Adversity().operations(raw, RECORDED, client_cpus=2)
    assert (found.exit_code, found.failed, found.connections_lost) == (0, 0, 0)
    assert sum(row.count for row in found.errors if row.sqlstate == "lost") == 4, "reported, if not judged"


def test_an_output_that_is_cut_off_is_refused() -> None:
    raw = raw_recorded()
    for end in range(0, len(raw["load-run.stdout"]) - 1, 997):
        with pytest.raises(OutputUnreadable):
            Adversity().parse({**raw, "load-run.stdout": raw["load-run.stdout"][:end]}, RECORDED)


def raw_recorded() -> dict[str, bytes]:
    return {"load-run.stdout": (DATA / "run.jsonl").read_bytes(), "faults.json": (DATA / "faults.json").read_bytes()}
