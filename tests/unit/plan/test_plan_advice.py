"""Warnings: too few replicates, configurations that are the same."""

import math

import pytest

from nephoscope.model.records import PlanWarning
from nephoscope.plan.expand import coverage_of_range, expand, warnings_for
from nephoscope.study.model import BenchmarkEntry, Configuration
from tests.unit.plan.plan_example import BENCHMARKS, configurations, study


def test_a_sound_study_has_no_warning() -> None:
    assert expand(study(), BENCHMARKS).warnings == []


@pytest.mark.parametrize(
    ("replicates", "expected"),
    [
        (5, "5 replicates give intervals of the median with 93.75 % coverage, not 95 %; 6 are needed: add 1"),
        (4, "4 replicates give intervals of the median with 87.5 % coverage, not 95 %; 6 are needed: add 2"),
        (1, "1 replicate gives no interval at all; 6 are needed: add 5"),
    ],
)
def test_few_replicates(replicates: int, expected: str) -> None:
    assert str(expand(study(replicates=replicates), BENCHMARKS).warnings[0].text) == expected


def test_an_edition_with_fewer_runs_than_published() -> None:
    entry = BenchmarkEntry(uses="tpcc", name="as-2022", parameters={"edition": "cr2022"})
    few, enough = (warnings_for(study(replicates=n, benchmarks=[entry])) for n in (3, 4))
    assert "as-2022: cr2022 ran each point 4 times; this plan runs it 3 times" in few
    assert not [warning for warning in enough if "cr2022" in warning]


@pytest.mark.parametrize("n", range(2, 12))
def test_coverage_agrees_with_the_binomial_distribution(n: int) -> None:
    """The median lies inside unless all values fall on one side of it."""
    assert coverage_of_range(n) == pytest.approx(sum(math.comb(n, below) for below in range(1, n)) / 2**n)


def test_equal_configurations_are_called_an_a_a_comparison() -> None:
    twins = [Configuration(name="a"), Configuration(name="b", price_usd_per_hour=1), *configurations("c")]
    text = "configurations a, b differ only in name or price: an A/A comparison, whose differences are noise"
    assert expand(study(configurations=twins), BENCHMARKS).warnings == [PlanWarning(kind="method", text=text)]
