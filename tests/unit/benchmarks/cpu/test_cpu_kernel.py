"""The stand-in for CoreMark: its line, damage to it, and the program itself."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.cpu.kernel import LABEL, CpuKernel, CpuKernelParameters
from nephoscope.model.errors import OutputUnreadable
from tests.support.site import raw_of, site_here

DATA = Path(__file__).resolve().parents[3] / "data" / "cpu-kernel"
RAW = {f"cpu-kernel-{kind}.stdout": (DATA / f"{kind}.json").read_bytes() for kind in ("single", "multi")}
SHORT = CpuKernelParameters(duration_s=1)


def test_recorded_output() -> None:
    found = {one.metric: one.value for one in CpuKernel().parse(RAW, SHORT)}
    for kind in ("single", "multi"):
        printed = json.loads(RAW[f"cpu-kernel-{kind}.stdout"])
        assert found[f"{kind}.kernel_iterations_per_s"] == printed["iterations_per_s"]


def test_threads_tell_their_cpu_time_if_the_program_does() -> None:
    assert CpuKernel().observations(RAW, SHORT).cpu_phases == []
    told = CpuKernel().observations(changed(cpu_s=0.6), SHORT).cpu_phases
    assert [(one.workers, one.cpu_s, one.real_s) for one in told] == [(1, 0.6, 0.966523678)]


def test_it_says_what_it_is_not() -> None:
    assert CpuKernel.title == LABEL
    assert "not an EEMBC score" in CpuKernel().notes(SHORT)[0]
    assert all("kernel" in metric.name for metric in CpuKernel().metrics(SHORT) if metric.headline)


def changed(**values: Any) -> dict[str, bytes]:
    line = json.loads(RAW["cpu-kernel-single.stdout"]) | values
    return {**RAW, "cpu-kernel-single.stdout": json.dumps(line).encode()}


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"cpu-kernel-single.stdout": b""},
        {"cpu-kernel-single.stdout": RAW["cpu-kernel-single.stdout"][:-9]},
        changed(kernel="CoreMark"),
        changed(threads=2),
        changed(elapsed_s=0.1),
        changed(iterations_per_s=1.0),
        changed(iterations="many"),
    ],
)
def test_other_output_is_refused(raw: dict[str, bytes]) -> None:
    with pytest.raises(OutputUnreadable):
        CpuKernel().parse(raw, SHORT)


def test_the_program_itself(tmp_path: Path) -> None:
    site, recorder = site_here(tmp_path, cpus=(0,))
    asyncio.run(CpuKernel().run(replace(site, load_program=load_program()), SHORT))
    assert [name for name, _ in recorder.ran] == ["cpu-kernel-single", "cpu-kernel-multi"]
    assert all(one.value > 0 for one in CpuKernel().parse(raw_of(site), SHORT))
    assert all(
        0 < one.cpu_s <= one.workers * one.real_s for one in CpuKernel().observations(raw_of(site), SHORT).cpu_phases
    )
