"""Pairs, families and verdicts."""

import numpy as np
import pytest

from nephoscope.analysis.boards import boards_of
from nephoscope.analysis.cells import cells_of
from nephoscope.analysis.comparisons import comparisons_of
from nephoscope.model.errors import DamagedFile
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, MeasurementRow, TrialRow
from tests.unit.analysis.study_builder import LATENCY, METRICS, Rows, measurement, rows, shuffled, trial

SAMPLES = 600
SIX = [100.0, 101, 102, 103, 104, 105]


def compared(found: Rows, metrics: dict[str, list[Metric]] = METRICS, margin: float = 1.5) -> list[Comparison]:
    boards = boards_of(cells_of(found[0], found[1], metrics), blocked=True)
    return comparisons_of(boards, Comparison, margin_percent=margin)


def test_twice_as_much_is_better_and_half_as_much_per_cpu_is_worse() -> None:
    plain, per_cpu = compared(rows({"big": [2 * v for v in SIX], "small": SIX}, cpus={"big": 4}))
    assert (plain.left, plain.right, plain.per_cpu) == ("big", "small", False)
    assert plain.ratio == pytest.approx(2)
    assert plain.p_value == pytest.approx(2 / 924)
    assert plain.p_adjusted == plain.p_value
    assert plain.verdict is ComparisonVerdict.BETTER
    assert plain.more_replicates_needed is None
    assert per_cpu.ratio == pytest.approx(0.5)
    assert per_cpu.verdict is ComparisonVerdict.WORSE
    assert (plain.n_left, plain.n_right) == (6, 6)


def test_lower_is_better_where_the_metric_says_so() -> None:
    found = compared(rows({"a": SIX, "b": [2 * v for v in SIX]}, metric=LATENCY))
    assert [(row.ratio < 1, row.verdict) for row in found] == [(True, ComparisonVerdict.BETTER)]


def test_the_same_values_are_a_tie_when_precise_and_unresolved_when_not() -> None:
    precise = [100.0, 100.1, 100.2, 100.3, 100.4, 100.5]
    assert compared(rows({"a": precise, "b": precise}))[0].verdict is ComparisonVerdict.TIE
    noisy = [100.0, 110, 120, 130, 140, 150]
    open_one = compared(rows({"a": noisy, "b": noisy}))[0]
    assert open_one.verdict is ComparisonVerdict.UNRESOLVED
    assert open_one.minimum_detectable_percent is not None
    assert open_one.minimum_detectable_percent > 20
    assert open_one.more_replicates_needed is not None
    assert open_one.more_replicates_needed > 100


def test_three_against_three_decide_by_their_spread_and_by_ranks_nothing() -> None:
    values = {"a": [300.0, 301, 302], "b": [100.0, 102, 101]}
    assert compared(rows(values))[0].verdict is ComparisonVerdict.BETTER
    found = compared(rows(values, metric=LATENCY))[0]
    assert (found.low, found.high, found.coverage) == (None, None, None)
    assert found.p_value == pytest.approx(0.1)
    assert found.p_adjusted == 1.0
    assert found.verdict is ComparisonVerdict.UNRESOLVED
    assert found.more_replicates_needed is None, "nothing is extrapolated from three values"


def test_a_leaderboard_does_not_pay_for_the_others() -> None:
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    metric = METRICS["tpcc"][0].model_copy(update={"per_cpu": False})
    names = [f"b{index}" for index in range(24)]
    for name in names:
        more = rows({"x": SIX, "y": [2 * v for v in SIX]}, benchmark=name, metric=metric)
        trials += more[0]
        measurements += more[1]
    found = compared((trials, measurements), {name: [metric] for name in names})
    assert {row.verdict for row in found} == {ComparisonVerdict.WORSE}


def test_headlines_do_not_pay_for_other_metrics_nor_for_pairs_that_cannot_claim() -> None:
    trials, measurements = rows({"a": SIX, "b": [2 * v for v in SIX]})
    metrics = {"tpcc": [METRICS["tpcc"][0].model_copy(update={"per_cpu": False}), LATENCY]}
    generator = np.random.default_rng(1)
    measurements += [measurement(row, float(generator.lognormal()), LATENCY) for row in trials]
    lonely = trial("lonely", "c")
    measurements.append(measurement(lonely, 100.0))
    found = compared(([*trials, lonely], measurements), metrics)
    by_pair = {(row.metric, row.left, row.right): row for row in found}
    assert by_pair[metrics["tpcc"][0].name, "a", "b"].p_adjusted == pytest.approx(2 / 924)
    assert by_pair[metrics["tpcc"][0].name, "a", "c"].p_adjusted == 1.0
    assert by_pair[LATENCY.name, "a", "b"].p_adjusted == by_pair[LATENCY.name, "a", "b"].p_value


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_metric_without_a_ratio_is_not_compared(bad: float) -> None:
    assert compared(rows({"a": SIX, "b": [*SIX[:5], bad]})) == []


def test_one_configuration_and_none_have_no_pairs() -> None:
    assert compared(rows({"a": SIX})) == []
    assert compared(([], [])) == []


def test_two_units_are_refused() -> None:
    left, right = rows({"a": SIX}), rows({"b": SIX}, metric=METRICS["tpcc"][0].model_copy(update={"unit": "1/s"}))
    with pytest.raises(DamagedFile, match="has values in 1/s and in New-Orders/min"):
        compared((left[0] + right[0], left[1] + right[1]))


def test_order_of_rows_does_not_matter() -> None:
    trials, measurements = rows({"a": SIX, "b": [v + 1 for v in SIX], "c": [v + 3 for v in SIX]})
    expected = compared((trials, measurements))
    assert compared((shuffled(trials, 1), shuffled(measurements, 2))) == expected
    assert [(row.left, row.right) for row in expected[:3]] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_a_study_of_equal_configurations_is_wrong_about_any_of_them_in_at_most_5_percent() -> None:
    generator = np.random.default_rng(44)
    metric = METRICS["tpcc"][0].model_copy(update={"per_cpu": False, "direction": Direction.HIGHER})
    wrong = 0
    for _ in range(SAMPLES):
        values = {name: [float(v) for v in generator.lognormal(0, 0.03, 6)] for name in "abcd"}
        verdicts = {row.verdict for row in compared(rows(values, metric=metric), {"tpcc": [metric]})}
        wrong += bool(verdicts & {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE})
    assert wrong / SAMPLES <= 0.05
