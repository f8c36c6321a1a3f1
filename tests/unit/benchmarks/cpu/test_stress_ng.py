"""stress-ng: its recorded YAML, everything that is not it, and the tool itself."""

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nephoscope.benchmarks.cpu.stress_ng import StressNg, StressNgParameters
from nephoscope.model.errors import OutputUnreadable
from tests.support.site import raw_of, site_here

DATA = Path(__file__).resolve().parents[3] / "data" / "stress-ng"
MATRIX = (DATA / "matrix-0.15.06.yaml").read_bytes()
SHORT = StressNgParameters(duration_s=1)


def parse(content: bytes | None, **parameters: Any) -> dict[str, float]:
    raw = {} if content is None else {"stress-ng.yaml": content, "stress-ng.stdout": b"", "stress-ng.stderr": b"noise"}
    asked = StressNgParameters(**{"duration_s": 1, **parameters})
    return {one.metric: one.value for one in StressNg().parse(raw, asked)}


def field(content: bytes, name: str) -> float:
    found = re.search(rf"^ +{name}: (\S+)$", content.decode(), re.MULTILINE)
    assert found
    return float(found[1])


def test_recorded_matrix() -> None:
    values = parse(MATRIX)
    assert values["bogo_ops_per_s"] == field(MATRIX, "bogo-ops-per-second-real-time")
    assert values["bogo_ops_per_s_cpu_time"] == field(MATRIX, "bogo-ops-per-second-usr-sys-time")
    assert values["cpu_usage_per_instance"] == field(MATRIX, "cpu-usage-per-instance") / 100
    assert values["cpus_effective"] == pytest.approx(2 * values["cpu_usage_per_instance"], rel=0.01)


def test_recorded_cpu() -> None:
    content = (DATA / "cpu-0.15.06.yaml").read_bytes()
    assert parse(content, stressor="cpu")["bogo_ops_per_s"] == field(content, "bogo-ops-per-second-real-time")


@pytest.mark.parametrize("name", ["truncated.yaml", "garbage.yaml", "empty.yaml"])
def test_damaged_files_are_refused(name: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse((DATA / name).read_bytes())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "empty or missing"),
        (b"--- []\n...\n", "document"),
        (b"metrics: []\n...\n", "metrics"),
        (b"{{: not\tyaml\n...\n", "not YAML"),
        (MATRIX.replace(b"stressor: matrix", b"stressor: cpu"), "measured 'cpu'"),
        (MATRIX.replace(b"bogo-ops-per-second-real-time", b"bogo-ops-rate"), "bogo-ops-per-second-real-time"),
        (re.sub(rb"real-time: \S+", b"real-time: 0.000000", MATRIX), "greater than 0"),
        (re.sub(rb"real-time: \S+", b"real-time: nan", MATRIX), "finite"),
        (re.sub(rb"wall-clock-time: \S+", b"wall-clock-time: 0.4", MATRIX), "contradicts itself"),
    ],
)
def test_other_output_is_refused(content: bytes | None, said: str) -> None:
    with pytest.raises(OutputUnreadable, match=said):
        parse(content)


@given(st.integers(0, MATRIX.rindex(b"...") + 2))
def test_a_cut_file_is_refused_wherever_it_was_cut(length: int) -> None:
    with pytest.raises(OutputUnreadable):
        parse(MATRIX[:length])


@given(st.binary(max_size=200))
def test_garbage_is_never_numbers(content: bytes) -> None:
    with pytest.raises(OutputUnreadable):
        parse(content)


def test_every_measurement_is_a_declared_metric_with_one_headline() -> None:
    metrics = StressNg().metrics(SHORT)
    frequencies = {"cpu_frequency", "cpu_frequency_min"}
    assert {metric.name for metric in metrics} - frequencies == parse(MATRIX).keys()
    assert [metric.name for metric in metrics if metric.headline] == ["bogo_ops_per_s"]


@pytest.mark.parametrize("wrong", [{"duration_s": 0}, {"stressor": "vm"}, {"workers": "all"}, {"workers": 0}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StressNgParameters(**wrong)


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_the_tool_itself(tmp_path: Path) -> None:
    site, recorder = site_here(tmp_path, cpus=(0,))
    (tmp_path / "data" / "nephoscope-stress-ng.yaml").write_text("left behind by another trial")
    asyncio.run(StressNg().run(site, SHORT))
    ((_, argv),) = recorder.ran
    assert argv[1:3] == ["--matrix", "1"], "one worker per CPU of the handle, never stress-ng's own 0"
    measured = {one.metric: one.value for one in StressNg().parse(raw_of(site), SHORT)}
    assert measured["bogo_ops_per_s"] > 0


def test_a_stressor_that_ended_early_is_refused() -> None:
    with pytest.raises(OutputUnreadable, match="ended after 1"):
        parse(MATRIX, duration_s=60)


def test_the_cpu_time_of_the_workers_is_told_to_the_checks() -> None:
    (phase,) = StressNg().observations({"stress-ng.yaml": MATRIX}, SHORT).cpu_phases
    assert phase.workers == 2
    assert phase.cpu_s / phase.real_s == pytest.approx(2 * field(MATRIX, "cpu-usage-per-instance") / 100, rel=0.01)


def test_a_method_of_the_stressor_is_asked_for_and_named() -> None:
    asked = StressNgParameters(stressor="cpu", method="div16", duration_s=1)
    assert StressNg().metrics(asked)[0].title == "stress-ng integer divisions (cpu div16)"
    with pytest.raises(ValidationError):
        StressNgParameters(stressor="cpu", method="--help")
