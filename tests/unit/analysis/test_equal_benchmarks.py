"""Benchmarks with equal parameters are one benchmark, whatever a study calls them."""

from typing import Any

import pytest

from nephoscope.analysis.boards import boards_of
from nephoscope.analysis.cells import cells_of
from nephoscope.analysis.equal_benchmarks import under_test, with_equals
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.insights.registry import analyse
from nephoscope.model.records import BenchmarkUse
from nephoscope.model.rows import TrialRow
from nephoscope.model.subjects import Subject
from tests.unit.analysis.study_builder import TPMC, inputs, measurement, trial

STEP = {"warehouses": 5000, "active_warehouses_per_cpu": 150}
FIXED = {"warehouses": 5000, "active_warehouses": 1200}


def _uses(**parameters: dict[str, Any]) -> dict[str, BenchmarkUse]:
    filled = {
        name: BENCHMARKS["tpcc"].parameters.model_validate(given).model_dump() for name, given in parameters.items()
    }
    return {name: BenchmarkUse(name=name, uses="tpcc", version=1, parameters=given) for name, given in filled.items()}


def _trials(*names: tuple[str, str], replicates: int = 3) -> list[TrialRow]:
    return [
        trial(f"{benchmark}-{configuration}-{number}", configuration, number, benchmark=benchmark)
        for benchmark, configuration in names
        for number in range(1, replicates + 1)
    ]


def _also(trials: list[TrialRow], cpus: dict[str, int], uses: dict[str, BenchmarkUse]) -> dict[tuple[str, str], str]:
    seen = {row.trial: cpus[row.configuration] for row in trials if row.configuration in cpus}
    found = with_equals(trials, seen, uses, BENCHMARKS, {})
    return {(row.benchmark, row.configuration): row.also[0] for row in found if row.also}


def test_a_step_per_cpu_is_the_same_test_as_a_fixed_number_on_a_machine_where_they_are_equal() -> None:
    trials = _trials(("step", "small"), ("step", "large"), ("fixed", "large"))
    assert _also(trials, {"small": 8, "large": 32}, _uses(step=STEP, fixed=FIXED)) == {("step", "small"): "fixed"}


def test_what_a_configuration_measured_under_both_names_stays_as_it_is() -> None:
    trials = _trials(("step", "small"), ("fixed", "small"))
    assert _also(trials, {"small": 8}, _uses(step=STEP, fixed=FIXED)) == {}


def test_no_other_parameter_may_differ() -> None:
    trials = _trials(("step", "small"), ("fixed", "large"))
    longer = _uses(step=STEP, fixed={**FIXED, "duration_s": 301})
    assert _also(trials, {"small": 8, "large": 32}, longer) == {}


def test_a_configuration_whose_machines_differ_in_cpus_is_no_member_of_another_board() -> None:
    trials = _trials(("step", "small"), ("fixed", "large"))
    seen = {row.trial: 8 if row.replicate == 1 else 7 for row in trials if row.configuration == "small"}
    found = with_equals(trials, seen, _uses(step=STEP, fixed=FIXED), BENCHMARKS, {})
    assert not any(row.also for row in found)


def test_trials_that_did_not_begin_belong_where_their_sisters_do() -> None:
    trials = _trials(("step", "small"), ("fixed", "large"))
    seen = {row.trial: 8 for row in trials if row.configuration == "small" and row.replicate == 1}
    found = with_equals(trials, seen, _uses(step=STEP, fixed=FIXED), BENCHMARKS, {})
    assert [row.also for row in found if row.configuration == "small"] == [["fixed"]] * 3


def test_two_names_of_one_test_share_a_leaderboard_and_only_one() -> None:
    rows = _trials(("first", "a"), ("second", "b"), ("second", "c"))
    uses = _uses(first=FIXED, second=FIXED)
    trials = with_equals(rows, dict.fromkeys((row.trial for row in rows), 8), uses, BENCHMARKS, {})
    measured = [measurement(row, 100.0 + place) for place, row in enumerate(trials)]
    boards = boards_of(cells_of(trials, measured, {"first": [TPMC], "second": [TPMC]}), blocked=True)
    assert {(board.benchmark, board.view): board.names for board in boards} == {
        ("first", "plain"): ("a", "b", "c"),
        ("first", "per CPU"): ("a", "b", "c"),
    }


def test_a_step_keeps_its_own_leaderboard_beside_the_joined_one() -> None:
    rows = _trials(("step", "small"), ("step", "large"), ("fixed", "large"))
    cpus = {row.trial: 8 if row.configuration == "small" else 32 for row in rows}
    trials = with_equals(rows, cpus, _uses(step=STEP, fixed=FIXED), BENCHMARKS, {})
    measured = [measurement(row, 100.0 + place) for place, row in enumerate(trials)]
    cells = cells_of(trials, measured, {"step": [TPMC], "fixed": [TPMC]})
    plain = {board.benchmark: board.names for board in boards_of(cells, blocked=True) if board.view == "plain"}
    assert plain == {"fixed": ("large", "small"), "step": ("large", "small")}
    small = {cell.benchmark: cell.values for cell in cells if cell.configuration == "small" and not cell.per_cpu}
    assert small["fixed"] == small["step"]


def test_rules_find_the_values_and_the_durations_of_trials_that_ran_under_another_name() -> None:
    rows = _trials(("step", "small"), ("step", "large"), ("fixed", "large"), replicates=8)
    cpus = {row.trial: 8 if row.configuration == "small" else 32 for row in rows}
    trials = with_equals(rows, cpus, _uses(step=STEP, fixed=FIXED), BENCHMARKS, {})
    measured = [measurement(row, 100.0 + place % 7) for place, row in enumerate(trials)]
    study = analyse(inputs((trials, measured), metrics={"step": [TPMC], "fixed": [TPMC]}))
    (note,) = [str(one.text) for one in study.insights if one.rule == "precision" and one.benchmark == "fixed"]
    assert "8 replicates" in note
    assert "machine time" in note


@pytest.mark.parametrize(
    ("other", "subject", "is_same"),
    [
        ({"database": {"system": "valkey"}}, Subject.DATABASE, False),
        ({"database": {"system": "postgres", "version": "17"}}, Subject.DATABASE, True),
        ({"load_machine": {"region": "west"}}, Subject.NETWORK, False),
        ({"load_machine": {"zones": ["east-2"]}}, Subject.NETWORK, False),
        ({"load_machine": {"region": "west"}}, Subject.CPU, True),
    ],
)
def test_the_same_load_on_another_database_or_from_elsewhere_is_another_test(
    other: dict[str, Any], subject: Subject, is_same: bool
) -> None:
    usual = {"region": "east", "zone": "east-1", "database": {"system": "postgres"}, "load_machine": {}}
    rows = _trials(("first", "a"), ("second", "b"))
    asked = {"a": {"name": "a", **usual}, "b": {"name": "b", **usual, **other}}
    uses = _uses(first=FIXED, second=FIXED)
    tested = {row.trial: under_test(asked[row.configuration], subject) for row in rows}
    found = with_equals(rows, dict.fromkeys((row.trial for row in rows), 8), uses, BENCHMARKS, tested)
    assert {row.configuration for row in found if row.also} == ({"b"} if is_same else set())


def test_what_this_version_does_not_know_is_left_alone() -> None:
    """As imported benchmarks: those of a source have parameters in words, and are equal only under one name."""
    rows = _trials(("step", "small"), ("fixed", "large"))
    cpus = {row.trial: 8 for row in rows}
    imported = {
        name: BenchmarkUse(name=name, uses=name, version=1, parameters={"scale": name}) for name in ("step", "fixed")
    }
    for uses in ({}, imported):
        assert not any(row.also for row in with_equals(rows, cpus, uses, BENCHMARKS, {}))
