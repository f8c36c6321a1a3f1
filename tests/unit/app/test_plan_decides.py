"""What `plan` says a study can decide, from an assumed spread and from that of earlier results."""

import re

import pytest

from nephoscope.analysis.analyse import analyse
from nephoscope.app.stages.planning import decides
from nephoscope.plan.expand import expand
from nephoscope.stats.detectable_table import detectable_share
from tests.unit.analysis.study_builder import inputs, noisy
from tests.unit.plan.plan_example import BENCHMARKS, configurations, study


def test_the_detectable_difference_follows_from_range_and_t() -> None:
    """Two configurations of n = 6 in blocks: 5 degrees of freedom, quantiles 2.571 and 0.920 of Student's t."""
    assert detectable_share(2, 6, 0.01) == pytest.approx(0.01 * (2.5706 + 0.9195) * (2 / 6) ** 0.5, rel=0.02)
    assert detectable_share(2, 2, 0.01) is None
    hundred = detectable_share(100, 6, 0.015)
    assert hundred is not None
    assert 0.04 < hundred < 0.05


def test_a_plan_says_what_it_can_decide_and_on_which_assumption() -> None:
    planned = expand(study(configurations=configurations("a", "b", "c")), BENCHMARKS)
    line, assumed = decides(planned)
    assert re.match(
        r".* \(3 configurations\): 6 replicates detect a difference of [45](\.\d)? % or more with a probability "
        r"of 80 %, if the values of a configuration have a CV of 2 %$",
        line,
    )
    assert assumed == "That CV is an assumption; --like RESULTS takes it from earlier results."
    earlier = analyse(inputs(noisy({"a": 1, "b": 1.1, "c": 1.2}, 0.004)))
    (like,) = decides(planned, earlier, "results/x")
    assert re.search(r"difference of [01]\.\d+ % or more .*, at the spread of results/x \(CV 0\.\d+ %\)$", like)


def test_one_configuration_and_one_replicate_decide_nothing() -> None:
    assert decides(expand(study(configurations=configurations("a")), BENCHMARKS)) == []
    assert decides(expand(study(configurations=configurations("a", "b"), replicates=1), BENCHMARKS)) == []
