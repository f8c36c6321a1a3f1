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
EVERY = pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=list(BENCHMARKS))
REAL = pytest.mark.parametrize(
    "benchmark", [found for found in BENCHMARKS.values() if found.name != "fake"], ids=lambda found: found.name
)


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


@EVERY
def test_it_declares_metrics_with_unit_title_and_a_headline(benchmark: Benchmark) -> None:
    metrics = metrics_of(benchmark)
    names = [metric.name for metric in metrics]
    assert len(set(names)) == len(names)
    assert any(metric.headline for metric in metrics)
    assert all(metric.unit and metric.title for metric in metrics)
    assert all(metric.clock for metric in metrics if metric.headline or metric.unit in {"s", "1/s", "1/min"})


@EVERY
def test_it_says_what_it_needs_and_how_long_it_takes(benchmark: Benchmark) -> None:
    parameters: Any = benchmark.parameters()
    assert benchmark.needs(parameters).tools
    assert benchmark.expected_duration_s(parameters) > 0
    assert benchmark.title
    assert benchmark.version >= 1


@EVERY
@pytest.mark.parametrize("raw", [{}, {"other": b"x"}])
def test_nothing_is_never_a_number(benchmark: Benchmark, raw: dict[str, bytes]) -> None:
    with pytest.raises(OutputUnreadable):
        benchmark.parse(raw, benchmark.parameters())


@REAL
def test_it_has_recorded_real_outputs_and_says_where_they_come_from(benchmark: Benchmark) -> None:
    folder = DATA / benchmark.name
    assert [path for path in folder.iterdir() if path.name != "README.md"], folder
    assert re.search(r"\b20\d\d-\d\d", origin_of(benchmark)), "say the command, the tool's version and the date"
