"""sysbench fileio: its recorded output, everything that is not it, its editions, and the tool itself."""

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.benchmarks.storage.sysbench_fileio import SysbenchFileio, SysbenchFileioParameters
from nephoscope.machines.memory_limit import memory_limited
from nephoscope.machines.remote import Command
from nephoscope.model.errors import EnvironmentProblem, OutputUnreadable
from nephoscope.model.units import GIB, MIB
from tests.support.site import raw_of, site_here

DATA = Path(__file__).resolve().parents[3] / "data" / "sysbench-fileio"
WRITE = (DATA / "write-4-1.0.20.txt").read_bytes()
READ = (DATA / "read-1-1.0.20.txt").read_bytes()
SYSBENCH = SysbenchFileio()


def asked(kind: str, threads: int, **given: Any) -> SysbenchFileioParameters:
    return SysbenchFileioParameters(
        **{"files_size_mib": 1024, "files": 4, "block_size_kib": 32, "duration_s": 3}
        | {"tests": (kind,), "threads": (threads,)}
        | given
    )


def values(kind: str, threads: int, output: bytes, **given: Any) -> dict[str, float]:
    raw = {f"sysbench-{kind}-{threads}.stdout": output}
    return {one.metric: one.value for one in SYSBENCH.parse(raw, asked(kind, threads, **given)) if one.at_s is None}


def printed(output: bytes, label: str) -> float:
    found = re.search(rf"^ *{label}: +([0-9.]+)", output.decode(), re.MULTILINE)
    assert found
    return float(found[1])


def test_recorded_output() -> None:
    written = values("write", 4, WRITE)
    assert written["write-4.iops"] == printed(WRITE, "writes/s")
    assert written["write-4.bandwidth"] == printed(WRITE, "written, MiB/s") * MIB
    assert written["write-4.latency_p95"] == pytest.approx(printed(WRITE, "95th percentile") / 1000)
    read = values("read", 1, READ)
    assert read["read-1.iops"] == printed(READ, "reads/s")
    assert read["read-1.latency_max"] == pytest.approx(printed(READ, "max") / 1000)


def test_littles_law_holds_with_the_fsync_in_the_latency() -> None:
    written = values("write", 4, WRITE)
    assert written["write-4.iops"] * written["write-4.latency_mean"] == pytest.approx(4, rel=0.05)


def test_each_whole_second_is_a_value() -> None:
    rows = SYSBENCH.parse({"sysbench-write-4.stdout": WRITE}, asked("write", 4))
    seconds = [(row.at_s, row.value) for row in rows if row.at_s is not None]
    assert [at_s for at_s, _ in seconds] == [1.0, 2.0]
    printed_mib = [float(mib) for mib in re.findall(r"writes: ([0-9.]+) MiB/s", WRITE.decode())]
    assert [value for _, value in seconds] == pytest.approx([mib * 32 for mib in printed_mib[:2]])


@pytest.mark.parametrize(
    ("kind", "threads", "output", "given", "said"),
    [
        ("write", 4, READ, {}, "the output is of"),
        ("write", 8, WRITE, {}, "the output is of"),
        ("write", 4, WRITE, {"block_size_kib": 16}, "the output is of"),
        ("write", 4, WRITE, {"duration_s": 240}, "ended after"),
        ("write", 4, WRITE + WRITE, {}, "2 runs"),
        ("write", 4, WRITE[:-200], {}, "cut off"),
        ("write", 4, b"", {}, "empty"),
        ("write", 4, b"FATAL: Cannot open file 'test_file.0'\n", {}, "the run failed: it says"),
    ],
)
def test_other_output_is_refused(kind: str, threads: int, output: bytes, given: dict[str, Any], said: str) -> None:
    with pytest.raises(OutputUnreadable, match=said):
        values(kind, threads, output, **given)


def test_reads_are_told_to_the_checks_with_the_limit_of_their_cache() -> None:
    raw = {"sysbench-read-1.stdout": READ}
    (read,) = SYSBENCH.observations(raw, asked("read", 1, memory_limit_mib=64)).reads
    assert (read.direct, read.files_bytes, read.memory_bytes) == (False, GIB, 64 * MIB)
    (unlimited,) = SYSBENCH.observations(raw, asked("read", 1, memory_limit_mib=0)).reads
    assert unlimited.memory_bytes is None


def test_the_edition_of_2020() -> None:
    fixed = SysbenchFileioParameters(edition="cr2020")
    assert (fixed.size_bytes("read"), fixed.size_bytes("write")) == (80 * GIB, 80 * GIB)
    assert (fixed.threads, fixed.run_s, fixed.limit_bytes) == ((1, 4, 8, 16, 32, 64), 240, 500 * MIB)
    faithful = SysbenchFileioParameters(edition="cr2020", mode="faithful")
    assert (faithful.size_bytes("read"), faithful.size_bytes("write")) == (80 * GIB, 8 * GIB)


def test_a_twentieth_of_it() -> None:
    small = SysbenchFileioParameters(edition="cr2020", scale=0.05)
    assert (small.size_bytes("read"), small.run_s, small.limit_bytes) == (4 * GIB, 12, 64 * MIB)
    assert (small.threads, small.block_size_kib) == ((1, 4, 8, 16, 32, 64), 32)


def test_it_is_ranked_by_the_most_threads() -> None:
    metrics = SYSBENCH.metrics(SysbenchFileioParameters(edition="cr2020"))
    assert [metric.name for metric in metrics if metric.headline] == ["write-64.iops", "read-64.iops"]


@pytest.mark.parametrize("wrong", [{"tests": ()}, {"threads": (0,)}, {"tests": ("seqrd",)}, {"edition": "cr2022"}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SysbenchFileioParameters(**wrong)


def measure(folder: Path, parameters: SysbenchFileioParameters) -> tuple[dict[str, float], list[str]]:
    site, recorder = site_here(folder)

    async def trial() -> None:
        await SYSBENCH.prepare(site, parameters)
        await SYSBENCH.run(site, parameters)

    asyncio.run(trial())
    found = SYSBENCH.parse(raw_of(site), parameters)
    return {one.metric: one.value for one in found}, [name for name, _ in recorder.ran]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_the_tool_itself(tmp_path: Path) -> None:
    parameters = SysbenchFileioParameters(
        files_size_mib=64, files=2, threads=(2,), duration_s=2, memory_limit_mib=0, write_size_mib=64
    )
    found, ran = measure(tmp_path, parameters)
    assert found["write-2.iops"] > 0
    assert ran == ["sysbench-prepare", "sysbench-write-2", "sysbench-read-2"]
    assert measure(tmp_path, parameters)[1] == ["sysbench-write-2", "sysbench-read-2"], "the files are used again"


@pytest.fixture
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files the kernel can drop from memory: those of a tmpfs count against a limit, and stay."""
    folder = tmp_path_factory.mktemp("disk")
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True, check=True).stdout
    if kind.strip() == "tmpfs":
        pytest.skip("pytest's --basetemp is in memory")
    return folder


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
@pytest.mark.skipif(shutil.which("fincore") is None, reason="fincore is not installed")
@pytest.mark.parametrize(("limit_mib", "fits"), [(64, True), (0, False)])
def test_reads_leave_no_more_in_memory_than_the_limit(on_disk: Path, limit_mib: int, fits: bool) -> None:
    asked_mib = {"files_size_mib": 256, "files": 2, "memory_limit_mib": limit_mib}
    measure(on_disk, SysbenchFileioParameters(**asked_mib, threads=(2,), duration_s=2, tests=("read",)))
    files = [str(path) for path in on_disk.glob("data/*/test_file.*")]
    argv = ["fincore", "--bytes", "--noheadings", "--output", "RES", *files]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert (sum(map(int, said.split())) <= 64 * MIB) == fits


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_group_holds_what_runs_in_it_and_goes_away(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    machine = site.cluster.database[0]

    async def inside() -> tuple[str, str]:
        async with memory_limited(machine, 64 * MIB) as group:
            said = await machine.remote.execute(Command(group.around(["cat", "/proc/self/cgroup"]), timeout_s=10))
            return group.path, said.stdout.decode()

    path, groups = asyncio.run(inside())
    assert Path(path).name in groups
    assert not Path(path).exists()


def test_a_machine_that_lets_us_make_no_group_is_told_of(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    machine = site.cluster.database[0]

    async def inside() -> None:
        async with memory_limited(machine, -2):
            raise AssertionError("there is no such limit")

    with pytest.raises(EnvironmentProblem, match="does not allow creating a control group"):
        asyncio.run(inside())
