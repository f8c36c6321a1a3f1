"""What every benchmark must have; a new one is found by its module and held to it."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Metric

DATA = Path(__file__).parents[2] / "data"
EVERY = list(BENCHMARKS.values())


def metrics_of(benchmark: Benchmark) -> tuple[Metric, ...]:
    parameters: Any = benchmark.parameters()
    return benchmark.metrics(parameters)


def origin_of(benchmark: Benchmark) -> str:
    """How its output was recorded: the README beside it, else the docstring of the benchmark's own test."""
    readme = DATA / benchmark.name / "README.md"
    if readme.exists():
        return readme.read_text(encoding="utf-8")
    *folders, module = type(benchmark).__module__.split(".")[2:]
    test = Path(__file__).parent.joinpath(*folders, f"test_{module}.py")
    return ast.get_docstring(ast.parse(test.read_text(encoding="utf-8"))) or ""


def test_it_declares_metrics_with_unit_title_and_a_headline() -> None:
    for benchmark in EVERY:
        metrics = metrics_of(benchmark)
        names = [metric.name for metric in metrics]
        assert len(set(names)) == len(names), benchmark.name
        assert any(metric.headline for metric in metrics), benchmark.name
        assert all(metric.unit and metric.title for metric in metrics), benchmark.name
        timed = [metric for metric in metrics if metric.headline or metric.unit in {"s", "1/s", "1/min"}]
        assert all(metric.clock for metric in timed), benchmark.name


def test_it_says_what_it_needs_and_how_long_it_takes() -> None:
    for benchmark in EVERY:
        parameters: Any = benchmark.parameters()
        assert benchmark.needs(parameters).tools, benchmark.name
        assert benchmark.expected_duration_s(parameters) > 0, benchmark.name
        assert benchmark.title, benchmark.name
        assert benchmark.version >= 1, benchmark.name


@pytest.mark.parametrize("raw", [{}, {"other": b"x"}])
def test_nothing_is_never_a_number(raw: dict[str, bytes]) -> None:
    for benchmark in EVERY:
        with pytest.raises(OutputUnreadable):
            pytest.fail(f"{benchmark.name} says {benchmark.parse(raw, benchmark.parameters())}")


def test_it_has_recorded_real_outputs_and_says_where_they_come_from() -> None:
    for benchmark in EVERY:
        if benchmark.name != "fake":
            folder = DATA / benchmark.name
            assert [path for path in folder.iterdir() if path.name != "README.md"], folder
            said = "say the command, the tool's version and the date"
            assert re.search(r"\b20\d\d-\d\d", origin_of(benchmark)), f"{benchmark.name}: {said}"
