"""CoreMark: its recorded output, everything that is not it, a checkout that is not EEMBC's, and the tool itself."""

import asyncio
import os
import re
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.benchmarks.cpu.coremark import CoreMark, CoreMarkParameters
from nephoscope.model.errors import EnvironmentProblem, OutputUnreadable, ToolFailed
from tests.support.site import raw_of, site_here

DATA = Path(__file__).resolve().parents[3] / "data" / "coremark"
SINGLE = (DATA / "single-1.txt").read_bytes()
MULTI = (DATA / "multi-1.txt").read_bytes()
COREMARK = CoreMark()
CHECKOUT = os.environ.get("NEPHOSCOPE_COREMARK")
"""A checkout of EEMBC's CoreMark: its licence keeps it out of this repository."""


def values(raw: dict[str, bytes], **given: Any) -> dict[str, float]:
    return {one.metric: one.value for one in COREMARK.parse(raw, CoreMarkParameters(**given)) if one.at_s is None}


def test_recorded_output() -> None:
    found = values({"coremark-single-1.stdout": SINGLE, "coremark-multi-1.stdout": MULTI})
    assert f"CoreMark 1.0 : {found['single.iterations_per_s']:.6f} /" in SINGLE.decode()
    assert f"CoreMark 1.0 : {found['multi.iterations_per_s']:.6f} /" in MULTI.decode()
    assert found.keys() <= {metric.name for metric in COREMARK.metrics(CoreMarkParameters())}


def test_the_mean_of_the_runs_counts_and_their_spread_is_told() -> None:
    iterations, seconds = 100_000, (10, 20)
    raw = {}
    for number, whole_s in enumerate(seconds, start=1):
        text, rate = SINGLE.decode(), f"{iterations / whole_s:.6f}"
        for key, value in (
            ("Total ticks      : ", f"{whole_s}000"),
            (r"Total time \(secs\): ", f"{whole_s}.000000"),
            ("Iterations/Sec   : ", rate),
            ("Iterations       : ", f"{iterations}"),
            (r"CoreMark 1\.0 : ", rate),
        ):
            text = re.sub(rf"({key})[0-9.]+", rf"\g<1>{value}", text)
        raw[f"coremark-single-{number}.stdout"] = text.encode()
    found = values(raw, repeats=2, kinds=("single",))
    assert found["single.iterations_per_s"] == 7500
    assert found["single.spread"] == pytest.approx(2500 * 2**0.5 / 7500)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({}, "is missing"),
        ({"coremark-single-1.stdout": SINGLE.replace(b"Correct operation validated", b"Errors")}, "Correct operation"),
        ({"coremark-single-1.stdout": SINGLE.replace(b"0xe9f5", b"0x18f2")}, "does not belong to the performance run"),
        ({"coremark-single-1.stdout": MULTI}, "contexts, built with"),
        ({"coremark-single-1.stdout": SINGLE[:-300]}, "cut off"),
    ],
)
def test_other_output_is_refused(raw: dict[str, bytes], said: str) -> None:
    with pytest.raises(OutputUnreadable, match=said):
        values(raw, kinds=("single",))


def test_a_run_of_fewer_contexts_than_it_was_built_for_is_refused() -> None:
    raw = {"coremark-multi-1.stdout": MULTI.replace(b"MULTITHREAD=2", b"MULTITHREAD=4")}
    with pytest.raises(OutputUnreadable, match="2 contexts, built with"):
        values(raw, kinds=("multi",))


def test_ten_runs_of_each_kind_as_the_editions_took_them() -> None:
    assert list(CoreMarkParameters(edition="cr2022").runs) == list(range(1, 11))
    assert list(CoreMarkParameters(edition="cr2021", scale=0.05).runs) == [1]
    (per_cpu,) = [metric.name for metric in COREMARK.metrics(CoreMarkParameters(edition="cr2021")) if metric.per_cpu]
    assert per_cpu == "multi.iterations_per_s"


@pytest.mark.parametrize(
    "wrong",
    [
        {"checkout": "coremark"},
        {"repository": "--upload-pack=x"},
        {"repository": "https://example.org/coremark.git"},
        {"kinds": ()},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CoreMarkParameters(**wrong)


def test_altered_core_files_are_no_coremark_though_their_own_list_says_so(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "core_main.c").write_text(altered := "int main() { return 0; }\n")
    (checkout / "coremark.md5").write_text(f"{md5(altered.encode()).hexdigest()}  core_main.c\n")  # noqa: S324
    site, _ = site_here(tmp_path)
    with pytest.raises(ToolFailed, match=r"not EEMBC's CoreMark.*core_main\.c"):
        asyncio.run(COREMARK.prepare(site, CoreMarkParameters(checkout=str(checkout))))


@pytest.mark.parametrize("given", [{"checkout": "/nowhere"}, {"repository": "/nowhere"}])
def test_no_coremark_is_told_with_what_to_do(tmp_path: Path, given: dict[str, str]) -> None:
    site, _ = site_here(tmp_path)
    with pytest.raises(EnvironmentProblem, match="cpu-kernel") as told:
        asyncio.run(COREMARK.prepare(site, CoreMarkParameters.model_validate(given)))
    assert "/nowhere" in told.value.message


@pytest.mark.slow
@pytest.mark.skipif(CHECKOUT is None, reason="NEPHOSCOPE_COREMARK names no checkout of EEMBC's CoreMark")
def test_the_tool_itself(tmp_path: Path) -> None:
    site, recorder = site_here(tmp_path)
    asked = CoreMarkParameters(checkout=CHECKOUT, kinds=("single",))

    async def trial() -> None:
        await COREMARK.prepare(site, asked)
        await COREMARK.run(site, asked)

    asyncio.run(trial())
    assert [name for name, _ in recorder.ran] == ["coremark-check", "coremark-build-single", "coremark-single-1"]
    assert COREMARK.parse(raw_of(site), asked)[0].value > 0
