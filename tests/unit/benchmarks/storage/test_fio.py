"""fio: its recorded JSON, everything that is not it, and the tool itself."""

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nephoscope.benchmarks.storage.fio import Fio
from nephoscope.benchmarks.storage.fio_jobs import FioJob, FioParameters
from nephoscope.machines.remote import Command, Completed
from nephoscope.model.errors import NoSpaceOnMachine, OutputUnreadable, ToolFailed
from nephoscope.model.units import MIB
from tests.support.site import raw_of, site_here

DATA = Path(__file__).resolve().parents[3] / "data" / "fio"
READ = FioJob(name="random-read", mode="randread", block_size_kib=4, queue_depth=4, duration_s=1)
WRITE = FioJob(name="random-write", mode="randwrite", block_size_kib=4, queue_depth=2, threads=2, duration_s=1)
LOG = FioJob(name="log-write", mode="write", block_size_kib=8, duration_s=1, fsync_every=1)
ALL = FioParameters(file_size_mib=64, jobs=(READ, WRITE, LOG))
RECORDED = {f"fio-{job.name}.stdout": (DATA / f"{job.name}-3.33.json").read_bytes() for job in ALL.jobs}
READ_OUTPUT = RECORDED["fio-random-read.stdout"]


def parse(raw: dict[str, bytes], *jobs: FioJob) -> dict[str, float]:
    asked = FioParameters(file_size_mib=64, jobs=jobs or ALL.jobs)
    return {one.metric: one.value for one in Fio().parse(raw, asked)}


def read_with(change: Any) -> dict[str, bytes]:
    """The recorded random read, with its first job changed."""
    document = json.loads(READ_OUTPUT)
    change(document["jobs"][0])
    return {"fio-random-read.stdout": json.dumps(document, indent=1).encode()}


def test_recorded_output() -> None:
    values = parse(RECORDED)
    read = json.loads(READ_OUTPUT)["jobs"][0]["read"]
    assert values["random-read.iops"] == read["iops"]
    assert values["random-read.bandwidth"] == read["bw_bytes"]
    assert values["random-read.latency_mean"] == read["lat_ns"]["mean"] / 1e9
    assert values["random-read.latency_p999"] == read["lat_ns"]["percentile"]["99.900000"] / 1e9
    assert values["random-write.iops"] > 0
    log = json.loads(RECORDED["fio-log-write.stdout"])["jobs"][0]
    assert values["log-write.iops"] == log["write"]["iops"]
    assert values["log-write.fsync_latency_p99"] == log["sync"]["lat_ns"]["percentile"]["99.000000"] / 1e9
    assert 1e-6 < values["log-write.fsync_latency_p50"] < 1, "seconds"


def test_littles_law_holds_between_rate_and_latency() -> None:
    values = parse(RECORDED)
    in_flight = values["random-read.iops"] * values["random-read.latency_mean"]
    assert in_flight == pytest.approx(READ.queue_depth, rel=0.05)


@pytest.mark.parametrize(
    ("count", "there"),
    [
        (41_000, "p50 p95 p99 p999"),
        (9_999, "p50 p95 p99"),
        (1000, "p50 p95 p99"),
        (999, "p50 p95"),
        (19, ""),
        (20, "p50"),
    ],
)
def test_a_percentile_needs_ten_values_beyond_it(count: int, there: str) -> None:
    values = parse(read_with(lambda job: job["read"]["lat_ns"].update(N=count)), READ)
    found = {name.rpartition("_")[2] for name in values if "latency_p" in name}
    assert found == set(there.split())
    assert "random-read.latency_mean" in values


def test_text_around_the_json_is_passed_over() -> None:
    around = {"fio-random-read.stdout": b"note: both {iodepth} >= 1\n" + READ_OUTPUT + b"\nfio: done {}\n"}
    assert parse(around, READ) == parse(RECORDED, READ)


@pytest.mark.parametrize("name", ["truncated.json", "garbage.json", "empty.json", "no-file-3.33.json"])
def test_damaged_output_is_refused(name: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse({"fio-random-read.stdout": (DATA / name).read_bytes()}, READ)


def test_other_output_is_refused(subtests: pytest.Subtests) -> None:
    for raw, said in [
        ({}, "is missing"),
        ({"fio-random-read.stdout": b""}, "wrote nothing"),
        ({"fio-random-read.stdout": b"fio: hello"}, "no JSON"),
        ({"fio-random-read.stdout": b"{}"}, "no 'fio version'"),
        ({"fio-random-read.stdout": READ_OUTPUT.replace(b"fio-3.33", b"fio-2.21")}, "the output is from 2.21"),
        ({"fio-random-read.stdout": RECORDED["fio-random-write.stdout"]}, "the output is of 'random-write'"),
        ({"fio-random-read.stdout": READ_OUTPUT.replace(b'"lat_ns"', b'"lat"')}, "lat_ns"),
        (read_with(lambda job: job.update(error=5)), "error 5"),
        (read_with(lambda job: job["job options"].update(bs="8192")), "8192"),
        (read_with(lambda job: job["read"].update(total_ios=0)), "contradicts itself"),
        (read_with(lambda job: job["read"].update(iops=0.0)), "contradicts itself"),
        (read_with(lambda job: job["read"].update(iops="many")), "read.iops"),
        (read_with(lambda job: job["read"].update(runtime=500)), "contradicts itself"),
        (read_with(lambda job: job["read"].update(total_ios=0, iops=0.0, io_bytes=0)), "no I/O"),
        (read_with(lambda job: job["read"]["lat_ns"].pop("percentile")), "no percentile 50"),
    ]:
        with subtests.test(raw=raw), pytest.raises(OutputUnreadable, match=said):
            parse(raw, READ)


def test_an_fsync_job_without_fsyncs_is_refused() -> None:
    document = json.loads(RECORDED["fio-log-write.stdout"])
    document["jobs"][0]["sync"]["lat_ns"] = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    with pytest.raises(OutputUnreadable, match="no fsync"):
        parse({"fio-log-write.stdout": json.dumps(document).encode()}, LOG)


@given(st.integers(0, READ_OUTPUT.rindex(b"}") - 1))
def test_cut_output_is_refused_wherever_it_was_cut(length: int) -> None:
    with pytest.raises(OutputUnreadable):
        parse({"fio-random-read.stdout": READ_OUTPUT[:length]}, READ)


@given(st.binary(max_size=200))
def test_garbage_is_never_numbers(content: bytes) -> None:
    with pytest.raises(OutputUnreadable):
        parse({"fio-random-read.stdout": content}, READ)


def test_every_measurement_is_a_declared_metric_with_one_headline_a_job() -> None:
    metrics = {metric.name: metric for metric in Fio().metrics(ALL)}
    assert parse(RECORDED).keys() <= metrics.keys()
    assert [name for name, metric in metrics.items() if metric.headline] == [f"{job.name}.iops" for job in ALL.jobs]
    units = {one.metric: one.unit for one in Fio().parse(RECORDED, ALL)}
    assert all(metrics[name].unit == unit for name, unit in units.items())


@pytest.mark.parametrize(
    "wrong",
    [
        {"jobs": []},
        {"jobs": [READ, READ]},
        {"file_size_mib": 1, "jobs": [{"name": "a", "mode": "read", "block_size_kib": 3}]},
        {"jobs": [{"name": "a b", "mode": "read", "block_size_kib": 4}]},
        {"jobs": [{"name": "a", "mode": "read", "block_size_kib": 4, "fsync_every": 1}]},
        {"jobs": [{"name": "a", "mode": "read", "block_size_kib": 4, "queue_depth": 8, "direct": False}]},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FioParameters(**wrong)


def test_sizes_are_plain_bytes() -> None:
    assert Fio().needs(ALL).disk_bytes == 64 * MIB


class Failing:
    """An `Execute` whose tool always ends the same way."""

    def __init__(self, stderr: bytes) -> None:
        self.stderr = stderr

    async def __call__(self, machine: Any, name: str, command: Command) -> Completed:
        return Completed(argv=tuple(command.argv), exit_code=1, stdout=b"", stderr=self.stderr, duration_s=0)


@pytest.mark.parametrize(
    ("stderr", "error", "hint"),
    [
        (b"fio: No space left on device", NoSpaceOnMachine, "file_size_mib"),
        (b"fio: io_u error: Invalid argument: write offset=0", ToolFailed, "direct I/O"),
        (b"fio: broken", ToolFailed, "fio: broken"),
    ],
)
def test_a_failing_fio_says_what_to_do(tmp_path: Path, stderr: bytes, error: type[Exception], hint: str) -> None:
    site, _ = site_here(tmp_path)
    with pytest.raises(error, match=hint):
        asyncio.run(Fio().prepare(replace(site, execute=Failing(stderr)), ALL))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize(
    "folder", ["plain", *(pytest.param(name, marks=pytest.mark.slow) for name in ("10:30", ":a:", "a\\b", "a\\:b"))]
)
def test_the_tool_itself(tmp_path: Path, folder: str) -> None:
    tmp_path = tmp_path / folder
    tmp_path.mkdir()
    asked = FioParameters(file_size_mib=8, jobs=(READ, LOG))
    site, recorder = site_here(tmp_path)
    fio = Fio()

    async def trial() -> None:
        await fio.prepare(site, asked)
        await fio.run(site, asked)

    try:
        asyncio.run(trial())
    except ToolFailed as failed:
        if "direct I/O" in failed.hint:
            pytest.skip("the folder of temporary files refuses direct I/O")
        raise
    written = tmp_path / "data" / "nephoscope-fio-8-mib"
    assert written.stat().st_size == 8 * MIB
    assert written.stat().st_blocks * 512 >= 8 * MIB, "written in full, not sparse"
    logs = {f"nephoscope-fio-{job}_iops.log" for job in ("random-read", "log-write")}
    assert {path.name for path in written.parent.iterdir()} == {written.name, *logs}, "whatever the path holds"
    assert [name for name, _ in recorder.ran] == ["fio-layout", "fio-random-read", "fio-log-write"]
    values = {one.metric: one.value for one in fio.parse(raw_of(site), asked)}
    assert values["random-read.iops"] > 0
    assert values["log-write.fsync_latency_mean"] > 0
    recorder.ran.clear()
    asyncio.run(trial())
    assert [name for name, _ in recorder.ran] == ["fio-random-read", "fio-log-write"], "the file is reused"


def test_a_job_that_ended_early_is_refused() -> None:
    longer = READ.model_copy(update={"duration_s": 60})
    with pytest.raises(OutputUnreadable, match="ended after 1"):
        parse({"fio-random-read.stdout": READ_OUTPUT}, longer)


def test_the_rate_of_each_second_is_the_sum_of_all_threads() -> None:
    log = b"1000, 100, 1, 0, 0\n2000, 80, 1, 0, 0\n2500, 5, 1, 0, 0\n1001, 90, 1, 0, 0\n2000, 70, 1, 0, 0\n"
    raw = {**RECORDED, "fio-random-write.iops.log": log}
    rows = [one for one in Fio().parse(raw, FioParameters(file_size_mib=64, jobs=(WRITE,))) if one.at_s is not None]
    assert [(one.metric, one.at_s, one.value) for one in rows] == [
        ("random-write.iops", 1.0, 190.0),
        ("random-write.iops", 2.0, 150.0),
    ]


def test_what_was_read_is_told_to_the_checks() -> None:
    seen = Fio().observations(RECORDED, ALL)
    (read,) = seen.reads
    assert (read.job, read.direct, read.files_bytes) == ("random-read", True, 64 * 2**20)
    assert read.latency_median_s


def recorded(job: FioJob) -> tuple[dict[str, float], dict[str, Any]]:
    """Numbers of an edition's job, and what fio itself printed of it."""
    output = (DATA / f"{job.name}-3.33.json").read_bytes()
    asked = FioParameters(jobs=(job,))
    found = Fio().parse({f"fio-{job.name}.stdout": output}, asked)
    assert {one.metric for one in found} <= {metric.name for metric in Fio().metrics(asked)}
    return {one.metric.partition(".")[2]: one.value for one in found}, json.loads(output)["jobs"][0]


def job_of(edition: str, name: str, **given: Any) -> FioJob:
    return next(job for job in FioParameters(edition=edition, **given).runs if job.name == name)


def test_a_job_that_reads_and_writes_tells_both_apart() -> None:
    values, printed = recorded(job_of("cr2022", "rd-wr-iops-tpcc", scale=0.02))
    assert values["read_iops"] == printed["read"]["iops"]
    assert values["iops"] == values["read_iops"] + values["write_iops"]
    assert values["write_latency_p90"] == printed["write"]["lat_ns"]["percentile"]["90.000000"] / 1e9
    assert "latency_mean" not in values, "there is no one latency of both"


def test_the_depth_that_keeps_a_latency_target_is_a_number() -> None:
    values, printed = recorded(job_of("cr2021", "target", scale=0.02))
    assert values["queue_depth"] == printed["latency_depth"] == 512
    assert values["latency_max"] == pytest.approx(printed["read"]["lat_ns"]["max"] / 1e9)


@pytest.mark.parametrize(("edition", "factor"), [("cr2021", 1), ("cr2022-local-ssd", 16)])
def test_jobs_of_the_editions(edition: str, factor: int) -> None:
    jobs = {job.name: job for job in FioParameters(edition=edition).jobs}
    assert (jobs["wr-bw"].queue_depth, jobs["wr-bw"].threads, jobs["wr-bw"].apart) == (64 * factor, 8, True)
    assert (jobs["rd-iops"].queue_depth, jobs["rd-iops"].threads) == (512 * factor, 4)
    assert (jobs["rd-latency"].queue_depth, jobs["rd-latency"].duration_s) == (16 * factor, 120)
    assert ("target" in jobs) == (edition == "cr2021")


def test_every_write_of_512_kib_is_synced() -> None:
    for mode, depth in (("fixed", 1), ("faithful", 512)):
        job = job_of("cr2022", "wr-iops-tpcc-fsync", mode=mode)
        assert job.fsync_every * job.block_size_kib == 512
        assert (job.direct, job.queue_depth) == (False, depth)


def test_block_sizes_of_tpcc_sum_to_a_hundred_percent() -> None:
    for name in ("wr-iops-tpcc", "rd-iops-tpcc", "rd-wr-iops-tpcc"):
        for split in str(job_of("cr2022", name).block_split).split(","):
            assert sum(int(part.partition("/")[2]) for part in split.split(":")) == 100, name


def test_an_edition_on_a_device_is_as_published_and_on_a_file_is_not() -> None:
    device = {"raw_device": "/dev/sdz", "destroys_data_on": "/dev/sdz"}
    notes = Fio().notes(FioParameters(edition="cr2022", **device))
    assert notes[0].startswith("cr2022 (fixed), as published")
    assert notes[-1] == "Measured on the raw device /dev/sdz, which was filled first."
    assert "a file of 20,480 MiB instead of the raw device" in Fio().notes(FioParameters(edition="cr2022"))[0]
