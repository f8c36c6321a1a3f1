"""act: a recorded load, loads made of it, everything that is not one, and fio itself."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nephoscope.benchmarks.storage.act import Act, ActParameters
from nephoscope.benchmarks.storage.act_output import LARGE_PER_S, PASSES_BELOW, hours_of
from nephoscope.model.errors import OutputUnreadable, ToolFailed
from tests.support.site import raw_of, site_here

DATA = Path(__file__).resolve().parents[3] / "data" / "act"
RECORDED = (DATA / "probe-0.12-3.33.txt").read_bytes()
SHORT = ActParameters(file_size_mib=64, hours=2, hour_s=2)


def documents() -> tuple[dict[str, Any], ...]:
    """Of the hour, and of the end a second later."""
    decoder, text = json.JSONDecoder(), RECORDED.decode()
    first, end = decoder.raw_decode(text, text.index("{"))
    last, _ = decoder.raw_decode(text, text.index("{", end))
    return first, last


def load(times: float, hours: Sequence[dict[int, float]], *, done: float = 1.0, change: Any = None) -> bytes:
    """fio's output of a load whose reads took longer than each of these times as often; the last hour ends it."""
    template, made = documents()[0], b""
    counted: dict[str, int] = {}
    for number, shares in enumerate((*hours, {}), start=1):
        document = json.loads(json.dumps(template))
        reads = round(2000 * times * 2 * done)
        shorter = reads
        for ms, share in shares.items():
            slow = round(reads * share)
            counted[str(ms * 1_050_000)] = counted.get(str(ms * 1_050_000), 0) + slow
            shorter -= slow
        counted["100000"] = counted.get("100000", 0) + shorter
        for job, side, ios in (
            (0, "read", reads * number),
            (1, "read", round(LARGE_PER_S * times * 2 * number * done)),
            (2, "write", round(LARGE_PER_S * times * 2 * number * done)),
        ):
            found = document["jobs"][job][side]
            size = found["io_bytes"] // found["total_ios"]
            seconds = 2.0 * number
            found.update(total_ios=ios, io_bytes=ios * size, runtime=int(seconds * 1000), iops=ios / seconds)
            found.update(bw_bytes=int(ios * size / seconds), bw=int(ios * size / seconds / 1024))
            found["lat_ns"].update(N=ios)
        document["jobs"][0]["read"]["lat_ns"]["bins"] = dict(counted)
        document["timestamp"] = template["timestamp"] + 2 * (number - 1)
        if change:
            change(document)
        made += json.dumps(document).encode() + b"\n"
    return made


FAST: dict[int, float] = {1: 0.01}
SLOW: dict[int, float] = {1: 0.06}


def values(raw: dict[str, bytes], asked: ActParameters = SHORT) -> dict[str, float]:
    return {one.metric: one.value for one in Act().parse(raw, asked) if one.at_s is None}


def passing() -> dict[str, bytes]:
    """Of a device that passes once the standard load for an hour and for two, of two tried."""
    return {
        "act-probe-1.stdout": load(1, [FAST]),
        "act-probe-2.stdout": load(2, [SLOW]),
        "act-probe-1.4.stdout": load(1.4, [SLOW]),
        "act-probe-1.2.stdout": load(1.2, [SLOW]),
        "act-probe-1.1.stdout": load(1.1, [SLOW]),
        "act-whole-1.stdout": load(1, [FAST, {1: 0.02, 8: 0.005}]),
        "act-stress-2.stdout": load(2, [SLOW, SLOW]),
    }


def test_recorded_hour() -> None:
    (hour,) = hours_of(RECORDED, 0.12, 1)
    first, _ = documents()
    reads = first["jobs"][0]["read"]
    slow = sum(count for at_ns, count in reads["lat_ns"]["bins"].items() if int(at_ns) > 1_000_000)
    assert hour.over[1] == slow / reads["total_ios"] == pytest.approx(0.22736, abs=1e-5)
    assert hour.over[8] < PASSES_BELOW[8]
    assert hour.over[64] == 0
    assert abs(hour.lag_s) < 0.5
    assert not hour.is_fast


def test_an_hour_counts_without_those_before_it() -> None:
    first, second = hours_of(load(1, [{1: 0.04}, {1: 0.02, 8: 0.01}]), 1, 2)
    assert [first.over[ms] for ms in (1, 8)] == pytest.approx([0.04, 0])
    assert [second.over[ms] for ms in (1, 8, 16)] == pytest.approx([0.03, 0.01, 0])
    assert [first.at_s, second.at_s] == [2, 4]


def test_the_load_found_and_its_worst_hour() -> None:
    found = values(passing())
    assert found["times"] == 1
    assert found["over_1_ms_share"] == pytest.approx(0.025)
    assert found["over_8_ms_share"] == pytest.approx(0.005)
    hours = [one for one in Act().parse(passing(), SHORT) if one.metric == "over_1_ms_share" and one.at_s]
    assert [one.at_s for one in hours] == [2, 4]
    assert [one.value for one in hours] == pytest.approx([0.01, 0.025])


@pytest.mark.parametrize(
    ("ms", "share", "passes"),
    [(1, 0.049, True), (1, 0.05, False), (8, 0.0095, True), (8, 0.01, False), (64, 0.0005, True), (64, 0.001, False)],
)
def test_a_load_passes_by_the_published_criteria(ms: int, share: float, passes: bool) -> None:
    (hour,) = hours_of(load(1, [{ms: share}]), 1, 1)
    assert hour.is_fast is passes


def test_a_load_that_is_not_kept_fails_though_its_reads_are_fast() -> None:
    raw = {
        **{f"act-probe-{times:g}.stdout": load(times, [FAST], done=0.5) for times in (1, 0.5, 0.25, 0.12)},
    }
    assert values(raw)["times"] == 0


def test_twice_the_load_must_be_kept_up_with() -> None:
    lagging = {**passing(), "act-stress-2.stdout": load(2, [SLOW, SLOW], done=0.7)}
    with pytest.raises(OutputUnreadable, match=r"act-whole-0\.5 is missing"):
        Act().parse(lagging, SHORT)


def test_the_highest_load_that_may_be_tried_is_a_lower_bound() -> None:
    asked = SHORT.model_copy(update={"most_times": 1.0})
    (times,) = (one for one in Act().parse(passing(), asked) if one.metric == "times")
    assert (times.value, times.bound) == (1, "lower")


def test_what_was_read_is_told_to_the_checks() -> None:
    (reads,) = Act().observations(passing(), SHORT).reads
    assert (reads.direct, reads.files_bytes) == (True, 128 * 2**20)


def without_bins(document: dict[str, Any]) -> None:
    document["jobs"][0]["read"]["lat_ns"].pop("bins")


def of_another_job(document: dict[str, Any]) -> None:
    document["jobs"][1]["jobname"] = "random-read"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", "JSON"),
        (b"fio: hello", "JSON"),
        (load(1, []), "0 of 1 hours"),
        (load(1, [FAST], change=without_bins), "no histogram"),
        (load(1, [FAST], change=of_another_job), "no job 'large-reads'"),
    ],
)
def test_other_output_is_refused(output: bytes, said: str) -> None:
    with pytest.raises(OutputUnreadable, match=said):
        hours_of(output, 1, 1)


@given(st.integers(0, RECORDED.rindex(b"}") - 1))
def test_cut_output_is_refused_wherever_it_was_cut(length: int) -> None:
    with pytest.raises(OutputUnreadable):
        hours_of(RECORDED[:length], 0.12, 1)


def test_a_missing_load_is_refused() -> None:
    with pytest.raises(OutputUnreadable, match="act-probe-1 is missing"):
        Act().parse({}, SHORT)


@pytest.mark.parametrize("wrong", [{"first_times": 2, "most_times": 1}, {"raw_device": "/dev/sdz"}, {"hour_s": 1}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ActParameters(**wrong)


def test_the_edition_takes_days_and_says_how_it_differs() -> None:
    asked = ActParameters(edition="act-6")
    assert (asked.hours, asked.slice_s, asked.max_lag_s) == (24, 3600, 10)
    notes = " ".join(Act().notes(asked))
    assert "a file of 512 MiB instead of the raw device" in notes
    assert "act_storage" in notes
    assert "time scale" not in notes
    scaled = " ".join(Act().notes(ActParameters(edition="act-6", scale=0.01)))
    assert "An hour of the qualification is 36 s here, a time scale of 1 to 100" in scaled


def _trial(folder: Path, asked: ActParameters) -> tuple[dict[str, bytes], list[tuple[str, list[str]]]]:
    site, recorder = site_here(folder)

    async def run() -> None:
        await Act().prepare(site, asked)
        await Act().run(site, asked)

    try:
        asyncio.run(run())
    except ToolFailed as failed:
        if "direct I/O" in failed.hint:
            pytest.skip("the folder of temporary files refuses direct I/O")
        raise
    return dict(raw_of(site)), recorder.ran


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_tool_itself(tmp_path: Path) -> None:
    """Whether this machine's disk passes is its own affair; what was asked and done must agree."""
    asked = ActParameters(file_size_mib=64, hours=1, hour_s=2, first_times=0.2, most_times=0.2, threads=4)
    raw, ran = _trial(tmp_path, asked)
    found = values(raw, asked)
    assert found["times"] <= 0.2
    assert found["over_1_ms_share"] >= found["over_8_ms_share"] >= found["over_64_ms_share"]
    name, argv = ran[1]
    assert name == "act-probe-0.2"
    rates = [int(word.partition("=")[2]) for word in argv if word.startswith("--rate=")]
    size = next(int(word.partition("=")[2]) for word in argv if word.startswith("--bs="))
    assert rates[0] * 4 == pytest.approx(0.2 * 2000 * size, rel=0.01)
    assert rates[1:] == [pytest.approx(0.2 * LARGE_PER_S * 2**17, rel=0.01)] * 2
