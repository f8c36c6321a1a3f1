"""Bogo operations of Arm and x86 are never compared without saying that they come from two builds."""

from nephoscope.benchmarks.cpu.stress_ng import StressNg, StressNgParameters
from nephoscope.insights.registry import analyse
from nephoscope.model.rows import Insight
from nephoscope.model.subjects import Subject
from tests.unit.analysis.study_builder import inputs, rows

METRIC = StressNg().metrics(StressNgParameters())[0]


def told(arm: str) -> list[Insight]:
    """Warnings of a study of two machines with eight CPUs."""
    found = rows(
        {"x86": [100.0, 101, 102, 103, 104, 105], "other": [120.0, 121, 122, 123, 124, 125]},
        benchmark="stress-ng",
        subject=Subject.CPU,
        metric=METRIC,
        cpus={"x86": 8, "other": 8},
    )
    types = {"x86": ("aws", "m8i.2xlarge"), "other": ("aws", arm)}
    study = analyse(inputs(found, {"stress-ng": [METRIC]}, types))
    return [one for one in study.insights if one.rule == "versions"]


def test_a_comparison_of_two_builds_says_so() -> None:
    (warning,) = told("m8g.2xlarge")
    assert "two builds of the program" in str(warning.text)
    assert warning.trials
    assert told("m8a.2xlarge") == []
