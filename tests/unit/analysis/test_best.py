"""The best of a leaderboard, contrasts and ranks as the analysis writes them."""

import numpy as np
import pytest

from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import BestRow, RankIntervals
from nephoscope.model.records import Omission
from nephoscope.model.rows import Comparison, ComparisonVerdict, RankRow
from nephoscope.model.sentence import Sentence
from tests.unit.analysis.study_builder import METRICS, inputs, rows


def drifting(factors: dict[str, float], n: int = 6, cv: float = 0.015, seed: int = 1) -> AnalysedStudy:
    """Values within blocks that drift by 3 % each."""
    generator = np.random.default_rng(seed)
    drift = np.cumsum(generator.normal(0, 0.03, n))
    values = {
        name: [float(1000 * factor * value) for value in np.exp(drift + generator.normal(0, cv, n))]
        for name, factor in factors.items()
    }
    metric = METRICS["tpcc"][0].model_copy(update={"per_cpu": False})
    return analyse(inputs(rows(values, metric=metric), metrics={"tpcc": [metric]}))


def test_a_leader_10_percent_ahead_of_99_is_the_only_winner_on_a_drifting_machine() -> None:
    study = drifting({"leader": 1.1} | {f"other-{index}": 1.0 for index in range(99)})
    (best,) = study[BestRow]
    assert (best.best, best.excluded, best.of, best.method) == (["leader"], 99, 100, "within blocks")
    assert best.detectable_percent is not None
    assert 3 < best.detectable_percent < 6
    assert next(row for row in study[RankRow] if row.configuration == "leader").last == 1
    assert len(study[Comparison]) == 4950


def test_the_only_best_one_is_the_first_though_all_ranks_at_once_leave_more_open() -> None:
    """Of 22, twenty are far behind: the last step of the answer compares two, and all ranks at once compare 22."""
    left_open = 0
    for seed in range(12):
        study = drifting({"a": 1.035, "b": 1.0} | {f"far-{index}": 0.5 for index in range(20)}, seed=seed)
        (best,), ranks = study[BestRow], {row.configuration: row for row in study[RankRow]}
        alone = best.best == ["a"]
        assert (ranks["a"].last == 1) == alone
        assert (min(row.first for name, row in ranks.items() if name != "a") == 2) == alone
        (found,) = study[RankIntervals]
        gap = found.gap("a", "b")
        left_open += alone and (gap is None or gap[0] <= gap[1])
    assert left_open


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_two_says_what_their_comparison_says(seed: int) -> None:
    study = drifting({"a": 1.0, "b": 1.02}, seed=seed)
    (best,), (pair,) = study[BestRow], study[Comparison]
    assert (best.excluded == 1) == (pair.p_value < 0.05)
    if pair.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}:
        assert best.best == ["a" if pair.verdict is ComparisonVerdict.BETTER else "b"]


def test_a_configuration_without_logarithm_or_with_one_value_is_named() -> None:
    values = {"a": [100.0, 101, 102], "b": [100.0, 0.0, 101], "c": [50.0], "d": [80.0, 81, 82]}
    metric = METRICS["tpcc"][0].model_copy(update={"per_cpu": False})
    (best,) = analyse(inputs(rows(values, metric=metric), metrics={"tpcc": [metric]}))[BestRow]
    assert (best.best, best.open, best.excluded) == (["a"], ["c"], 1)
    assert best.left_out == [Omission("b", Sentence("has values that are not above 0"))]
