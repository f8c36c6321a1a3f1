"""What a ratio is the quotient of, and what is said where medians tell another story, or nothing is known."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pytest

from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, MeasurementRow, RankRow, Statistic
from tests.unit.analysis.study_builder import LATENCY, TPMC, inputs, noisy, rows

METRIC = TPMC.name
STEPS = Metric(name="warehouses", unit="warehouses", direction=Direction.HIGHER, title="Warehouses", headline=True)
STEADY = [98_000.0, 98_050, 98_100, 98_200, 98_300, 98_150, 98_250, 98_120, 98_180, 98_220]
SKEWED = [98_190.0, 96_700, 98_200, 98_210, 95_000, 98_195, 98_205, 93_300, 98_200, 91_600]
BIMODAL = [99_100.0, 99_000, 99_200, 99_050, 99_150, 99_100, 62_000, 61_500, 62_500, 62_200]
"""Two models of a machine under one type: the median is ahead, the geometric mean far behind."""


def study_of(values: Mapping[str, Sequence[float]], metric: Metric = TPMC) -> AnalysedStudy:
    return analyse(inputs(rows(values, metric=metric), {"tpcc": [metric]}))


def of(study: AnalysedStudy, *, per_cpu: bool = False, metric: str = METRIC) -> dict[str, Statistic]:
    return {row.configuration: row for row in study[Statistic] if (row.metric, row.per_cpu) == (metric, per_cpu)}


def with_holes(seed: int) -> AnalysedStudy:
    """Five configurations in seven drifting blocks, a quarter of the trials missing."""
    generator = np.random.default_rng(seed)
    drift = generator.lognormal(0, 0.2, 7)
    values = {f"c{i}": [float(1000 * (1 + i) * d * generator.lognormal(0, 0.02)) for d in drift] for i in range(5)}
    trials, measurements = rows(values, cpus={"c1": 4, "c3": 2})
    gone = {row.trial for row in trials if generator.random() < 0.25}
    measurements = [row for row in measurements if row.trial not in gone]
    return analyse(inputs((trials, measurements)))


@pytest.mark.parametrize("seed", range(5))
def test_every_ratio_is_the_quotient_of_two_levels_though_blocks_have_holes(seed: int) -> None:
    study = with_holes(seed)
    assert {row.per_cpu for row in study[Comparison]} == {False, True}
    for row in study[Comparison]:
        levels = of(study, per_cpu=row.per_cpu)
        left, right = levels[row.left].level, levels[row.right].level
        assert left is not None
        assert right is not None
        assert left / right == pytest.approx(row.ratio, rel=1e-12)


def test_drift_of_blocks_is_not_in_a_level() -> None:
    study = with_holes(1)
    medians = [row.median / (1000 * (1 + place)) for place, row in enumerate(of(study).values())]
    levels = [(row.level or 0) / (1000 * (1 + place)) for place, row in enumerate(of(study).values())]
    assert np.std(np.log(levels)) < np.std(np.log(medians)) / 2


def test_without_holes_a_level_is_the_geometric_mean_within_its_interval() -> None:
    study = analyse(inputs(noisy({"a": 1.0, "b": 1.1})))
    values = {name: [m.value for m in study[MeasurementRow] if m.configuration == name] for name in ("a", "b")}
    for name, row in of(study).items():
        assert row.level == pytest.approx(math.exp(np.mean(np.log(values[name]))))
        assert row.level_low is not None
        assert row.level_high is not None
        assert row.level_low < (row.level or 0) < row.level_high
        assert row.level_coverage == 0.95


@pytest.mark.parametrize("metric", [STEPS, LATENCY])
def test_in_steps_and_of_other_metrics_the_level_is_the_median_and_still_the_quotient(metric: Metric) -> None:
    values = {
        "a": [100.0] * 5 + [110.0],
        "b": [90.0] * 3 + [95.0] * 3,
        "c": [80.0] * 6,
        "d": [80.0] * 6,
        "e": [70.0] * 6,
    }
    trials, measurements = rows(values, metric=metric)
    without_blocks = [row.model_copy(update={"block": 1}) for row in trials]
    study = analyse(inputs((without_blocks, measurements), {"tpcc": [metric]}))
    levels = of(study, metric=metric.name)
    assert [row.level for row in levels.values()] == [row.median for row in levels.values()]
    assert len(study[Comparison]) == 10
    for row in study[Comparison]:
        assert row.ratio == pytest.approx(levels[row.left].median / levels[row.right].median)
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.ratio <= row.high


def test_a_metric_with_a_zero_has_no_level() -> None:
    study = study_of({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]})
    levels = of(study)
    assert levels["a"].level is None
    assert levels["a"].compared.value == levels["a"].median
    assert levels["b"].level is not None


def test_one_value_is_its_own_level() -> None:
    (row,) = of(study_of({"a": [123.0]})).values()
    assert row.level == pytest.approx(123.0)
    assert (row.level_low, row.level_high) == (123.0, 123.0)


def test_where_medians_are_the_other_way_round_nothing_is_called_better() -> None:
    study = study_of({"steady": STEADY * 2, "skewed": SKEWED * 2})
    (pair,) = (row for row in study[Comparison] if not row.per_cpu)
    assert pair.high is not None
    assert pair.high < 1 < (pair.ratio_of_medians or 0)
    assert pair.is_disputed
    assert pair.verdict is ComparisonVerdict.UNRESOLVED
    assert pair.mirrored().is_disputed
    assert pair.more_replicates_needed is None


def test_the_best_by_medians_is_not_excluded_and_is_named() -> None:
    values = {"steady": STEADY * 3, "skewed": SKEWED * 3, "slow": [0.7 * value for value in STEADY * 3]}
    study = study_of(values)
    (best,) = (row for row in study[BestRow] if row.view == "plain")
    assert (best.best, best.by_median, best.excluded) == (["steady", "skewed"], ["skewed"], 1)
    ranks = {row.configuration: (row.first, row.last) for row in study[RankRow] if row.view == "plain"}
    assert ranks["skewed"][0] == 1
    assert ranks["steady"][1] > 1
    (answer, *_) = (row.text for row in study.insights if row.rule == "answer")
    assert "not decided: first by levels is steady, and by medians skewed" in str(answer)


def test_a_value_far_off_closes_no_question_and_is_named() -> None:
    values = {"a": [1000.0, 1003, 1006, 1002, 1008, 700], "b": [950.0, 953, 949, 951, 948, 947]}
    study = study_of(values)
    (pair,) = (row for row in study[Comparison] if not row.per_cpu)
    row = of(study)["a"]
    assert pair.verdict is ComparisonVerdict.BETTER
    assert pair.n_left == row.n == 6
    assert pair.ratio == pytest.approx((row.level or 0) / (of(study)["b"].level or 1))
    assert row.level == pytest.approx(1003.2, rel=1e-4)
    assert row.set_aside == ["tpcc-a-6"]
    assert row.set_aside_percent == pytest.approx(100 * (700 / 1002.5 - 1))
    (answer, *_) = (row.text for row in study.insights if row.rule == "answer")
    assert "Far off from all others, and set aside here: 1 of 6 values of a (30 % lower than the median)." in str(
        answer
    )


def test_what_came_in_two_kinds_is_named_and_is_no_worse_by_chance() -> None:
    study = study_of({"steady": STEADY, "two-models": BIMODAL})
    (pair,) = (row for row in study[Comparison] if not row.per_cpu)
    assert pair.verdict is ComparisonVerdict.UNRESOLVED
    assert pair.more_replicates_needed is None
    levels = of(study)
    assert (levels["steady"].second_kind, levels["two-models"].second_kind) == (0, 4)
    assert levels["two-models"].second_kind_percent == pytest.approx(-37.4, abs=0.1)
    (answer, *_) = (row.text for row in study.insights if row.rule == "answer")
    assert "Came in two kinds: two-models (4 of 10 values are 37 % lower than the others)." in str(answer)


def test_replicates_that_depend_on_each_other_widen_intervals() -> None:
    walks = np.cumsum(np.random.default_rng(3).normal(0, 0.01, (6, 10)), axis=1)
    study = study_of({f"c{row}": [float(value) for value in 1000 * np.exp(walks[row])] for row in range(6)})
    widened = of(study)["c0"].widened
    assert widened > 1.5
    (answer, *_) = (row.text for row in study.insights if row.rule == "answer")
    assert f"so intervals are {widened:.1f} times as wide" in str(answer)


def test_values_that_pull_a_level_from_the_median_are_counted() -> None:
    row = of(study_of({"steady": STEADY, "two-models": BIMODAL}))["two-models"]
    assert row.pulling == 4
    assert row.pulling_percent == pytest.approx(100 * (62_100 / row.median - 1))
    assert of(study_of({"a": [5.0] * 6, "b": [6.0] * 6}))["a"].pulling_percent is None


def test_two_values_are_no_candidate() -> None:
    study = study_of({"a": [99_794.0, 99_700, 99_900], "b": [80_061.0, 80_000, 80_100], "c": [29_930.0, 29_900]})
    (best,) = (row for row in study[BestRow] if row.view == "plain")
    assert (best.best, best.open, best.excluded) == (["a"], ["c"], 1)
    (answer, *_) = (str(row.text) for row in study.insights if row.rule == "answer")
    assert ": the best of 2 is a, with 1.247" in answer
    assert "Unknown, as measured only twice: c." in answer


def test_places_follow_levels() -> None:
    study = study_of({"steady": STEADY, "two-models": BIMODAL, "slow": [0.5 * value for value in STEADY]})
    places = {row.configuration: row.place for row in study[RankRow] if row.view == "plain"}
    levels = {name: row.level or 0 for name, row in of(study).items()}
    for left, right in combinations(places, 2):
        assert (places[left] < places[right]) == (levels[left] > levels[right])
