"""What `plan` says a study can decide, from an assumed spread and from that of earlier results."""

import re

import pytest

from nephoscope.app.stages.planning import decides
from nephoscope.insights.registry import analyse
from nephoscope.plan.expand import expand
from nephoscope.stats.detectable_table import detectable_share
from nephoscope.study.model import BenchmarkEntry
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
        r"6 replicates show differences of about [45](\.\d)? % or more with a probability of 80 % "
        r"\(if repeats of a trial vary by 2 %, their coefficient of variation\)$",
        line,
    )
    assert assumed == "That spread is an assumption; --like RESULTS takes it from earlier results."
    earlier = analyse(inputs(noisy({"a": 1, "b": 1.1, "c": 1.2}, 0.004)))
    (like,) = decides(planned, earlier, "results/x")
    assert re.search(
        r"about [01]\.\d+ % or more .* \(at the spread of results/x: repeats of a trial vary by 0\.\d+ %\)$", like
    )


def test_benchmarks_whose_differences_are_nearly_equal_share_a_line() -> None:
    names = [*"abcdefghijkl"]
    entries = [BenchmarkEntry(uses="cpu"), BenchmarkEntry(uses="disk", configurations=names[:10])]
    (line, _) = decides(expand(study(configurations=configurations(*names), benchmarks=entries), BENCHMARKS))
    assert line.startswith("6 replicates show differences of about 5 % or more")
    few = [BenchmarkEntry(uses="cpu"), BenchmarkEntry(uses="disk", configurations=names[:2])]
    lines = decides(expand(study(configurations=configurations(*names), benchmarks=few), BENCHMARKS))
    assert [one.partition(":")[0] for one in lines[:2]] == ["cpu", "disk"]


def test_one_configuration_and_one_replicate_decide_nothing() -> None:
    assert decides(expand(study(configurations=configurations("a")), BENCHMARKS)) == []
    assert decides(expand(study(configurations=configurations("a", "b"), replicates=1), BENCHMARKS)) == []
