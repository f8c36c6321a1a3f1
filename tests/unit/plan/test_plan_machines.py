"""A benchmark of several machines is planned where they are, and nowhere else."""

import pytest

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.errors import InputError
from nephoscope.plan.expand import expand
from nephoscope.study.model import BenchmarkEntry, Configuration, Machine
from tests.unit.plan.plan_example import Standin, study

BENCHMARKS: dict[str, Benchmark] = {"cpu": Standin(), "wire": Standin(machines=2)}
BOTH = [BenchmarkEntry(uses="cpu"), BenchmarkEntry(uses="wire")]


def test_a_configuration_with_too_few_machines_is_left_out_and_said() -> None:
    alone, pair = Configuration(name="alone"), Configuration(name="pair", load_machine=Machine())
    three = Configuration(name="three", database_machine=Machine(count=3))
    plan = expand(study(configurations=[alone, pair, three], benchmarks=BOTH, replicates=1), BENCHMARKS)
    assert {(one.intent.configuration_name, one.intent.benchmark.name) for one in plan.trials} == {
        ("alone", "cpu"), ("pair", "cpu"), ("pair", "wire"), ("three", "cpu"), ("three", "wire"),
    }  # fmt: skip
    assert "wire needs 2 machines, but alone has 1: skipped there" in map(str, plan.warnings)
    assert [one.intent.position for one in plan.trials] == [1, 2, 3, 4, 5]


def test_a_benchmark_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(InputError, match="'wire' needs 2 machines, but no configuration has that many"):
        expand(study(configurations=[Configuration(name="alone")], benchmarks=BOTH), BENCHMARKS)
