"""The pass probability of a level: which points are counted, which are kept apart, and what is made of them."""

import pytest

from nephoscope.analysis.passes import passes_of
from nephoscope.benchmarks.search.measurements import CONFIRMING, LARGER_CLIENT, LEVEL, PASSED
from nephoscope.benchmarks.search.warehouses import WAREHOUSES
from nephoscope.insights.registry import analyse
from nephoscope.model.records import Metric, VerdictKind
from nephoscope.model.rows import MeasurementRow, PassRow, TrialRow
from tests.unit.analysis.study_builder import inputs, measurement, shuffled, trial

Told = tuple[float, bool, bool, bool]
"""Level, passed, confirming, by the larger client."""
SEARCH: list[Told] = [
    (100, True, False, False),
    (200, False, False, False),
    (150, True, False, False),
    (150, True, True, False),
    (150, True, True, False),
    (200, False, False, False),
    (150, False, True, False),
    (200, True, False, True),
]


def rows_of(of: TrialRow, points: list[Told], level: Metric = LEVEL) -> list[MeasurementRow]:
    return [
        measurement(of, float(value), metric, at_s=3.0 * place)
        for place, point in enumerate(points, 1)
        for metric, value in zip((level, PASSED, CONFIRMING, LARGER_CLIENT), point, strict=True)
    ]


def test_each_level_has_its_share_and_interval() -> None:
    found = passes_of(shuffled(rows_of(trial("t", "a"), SEARCH), seed=1))
    assert [(row.level, row.passed, row.points, row.confirmations) for row in found] == [
        (100, 1, 1, 0),
        (150, 3, 4, 3),
        (200, 0, 2, 0),  # the larger client's point is none of the usual one's
    ]
    assert [row.share for row in found] == [1, 0.75, 0]
    assert (found[1].low, found[1].high) == pytest.approx((0.1941, 0.9937), abs=1e-4)
    assert {(row.unit, row.trial, row.counts) for row in found} == {("1/s", "t", True)}


def test_searches_are_kept_apart() -> None:
    refused = trial("t2", "a", 2, verdict=VerdictKind.INVALID)
    found = passes_of([*rows_of(refused, SEARCH[:1]), *rows_of(trial("t1", "a"), SEARCH[:1])])
    assert [(row.trial, row.replicate, row.counts, row.points) for row in found] == [
        ("t1", 1, True, 1),
        ("t2", 2, False, 1),
    ]


def test_warehouses_are_levels_and_other_series_are_none() -> None:
    row = trial("t", "a")
    (found,) = passes_of([*rows_of(row, SEARCH[:1], WAREHOUSES), measurement(row, 5.0, at_s=1.0)])
    assert (found.level, found.unit) == (100, "warehouses")


def test_the_analysis_holds_them() -> None:
    row = trial("t", "a")
    metrics = {"tpcc": [LEVEL, PASSED, CONFIRMING, LARGER_CLIENT]}
    study = analyse(inputs(([row], rows_of(row, SEARCH)), metrics))
    assert [one.level for one in study[PassRow]] == [100, 150, 200]
