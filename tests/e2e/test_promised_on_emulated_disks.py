"""Delivered against promised on an emulated disk (root) that is stopped, and slowed for a while, at known moments."""

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl
import pytest

from nephoscope.analysis.promised import Span
from nephoscope.benchmarks.storage.fio_output import the_job
from nephoscope.providers.emulated.limits import GROUP, ROOT
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("fio", "sshd")]

IOPS = 437
"""A rate that no other emulated disk of this machine has: by it the test knows its own."""
WATCHED_S = 100
WITHIN_S = 2
DEADLINE_S = 300
ATTEMPTS = 3
STUDY = f"""
name = "promised"
replicates = 1
repeat_rejected = 0

[[machine_types]]
name = "small"
vcpus = 1
memory_gib = 0.5
disk_gib = 1
disk_iops = {IOPS}

[[configurations]]
name = "host"
provider = "emulated"
database_machine = {{ type = "small" }}

[[benchmarks]]
uses = "fio"
[benchmarks.parameters]
file_size_mib = 16
promised_iops = "provisioned"
jobs = [{{ name = "day", mode = "randread", block_size_kib = 4, queue_depth = 8, duration_s = {WATCHED_S} }}]
"""


@dataclass(frozen=True)
class Slow:
    """From `after_s` of the job on, for `length_s`, so many I/Os a second."""

    after_s: float
    length_s: float
    iops: int


SLOW = (Slow(20, 5, 1), Slow(45, 25, 240))
"""A stall, and what stands for a slow hour: three fifths of the promise."""


Result = TypeVar("Result")


def _wait_for(condition: Callable[[], Result | None], running: "subprocess.Popen[bytes]") -> Result:
    deadline = time.monotonic() + DEADLINE_S
    while (result := condition()) is None:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return result


def _limit() -> tuple[Path, str] | None:
    """The file that limits the reads of the disk, and what stands in it, by either version of control groups."""
    files = [
        *Path(ROOT).glob(f"blkio/{GROUP}/*/*/blkio.throttle.read_iops_device"),
        *Path(ROOT).glob(f"{GROUP}/*/*/io.max"),
    ]
    held = [(file, file.read_text()) for file in files]
    return next(((file, limit) for file, limit in held if str(IOPS) in limit), None)


def _job() -> int | None:
    """The process of the job once it runs."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"--name=day\0" in (folder / "cmdline").read_bytes():
                return int(folder.name)
    return None


def _slowed(running: "subprocess.Popen[bytes]") -> list[tuple[float, float]]:
    """When each slow time began and ended, in seconds since 1970."""
    _wait_for(_job, running)
    began_s = time.time()
    file, usual = _wait_for(_limit, running)
    device = usual.split()[0]
    planted = []
    for slow in SLOW:
        time.sleep(max(0.0, began_s + slow.after_s - time.time()))
        file.write_text(f"{device} riops={slow.iops}" if file.name == "io.max" else f"{device} {slow.iops}")
        from_s = time.time()
        time.sleep(slow.length_s)
        file.write_text(usual)
        planted.append((from_s, time.time()))
    return planted


def test_a_stall_and_a_slow_hour_are_found_within_two_seconds(tmp_path: Path) -> None:
    """A disk that others' load keeps from its work falls short, too: such a trial is repeated, as a study would."""
    for attempt in range(ATTEMPTS):
        out = tmp_path / str(attempt)
        planted = _run(tmp_path / "study.toml", out)
        (folder,) = out.glob("trials/*/attempts/1")
        verdicts = {one["check"]: one["verdict"] for one in json.loads((folder / "verdict.json").read_text())}
        if verdicts["foreign-load"] == "valid":
            break
    else:
        pytest.skip(f"others used the CPUs of this machine in each of {ATTEMPTS} trials")
    begun_ms = the_job((folder / "raw" / "fio-day.stdout").read_bytes(), "day").begun_unix_ms
    assert begun_ms is not None
    (row,) = pl.read_parquet(out / "promised.parquet").to_dicts()
    found = [(one.begin_s, one.end_s) for one in map(Span.read, row["shortfalls"])]
    wanted = [(begin - begun_ms / 1000, end - begun_ms / 1000) for begin, end in planted]
    assert row["promised_iops"] == IOPS
    assert len(found) == len(wanted), (found, wanted)
    for (begin, end), (from_s, to_s) in zip(found, wanted, strict=True):
        assert abs(begin - from_s) <= WITHIN_S, (found, wanted)
        assert abs(end - to_s) <= WITHIN_S, (found, wanted)
    assert row["throttled_after_s"] is None
    page = (out / "report" / "index.html").read_text()
    assert "delivered at least 90 % of the promised 437 IO/s" in page
    assert "Delivered, against what was promised" in page


def _run(study: Path, out: Path) -> list[tuple[float, float]]:
    """Of a study with one trial, to its report: when each slow time of its disk began and ended."""
    study.write_text(STUDY)
    argv = [*IMPATIENT, "run", str(study), "--out", str(out)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        planted = _slowed(running)
        said, _ = running.communicate(timeout=DEADLINE_S)
    done = nephoscope("report", out, timeout_s=DEADLINE_S)
    assert done.exit_code == 0, (said, done.stderr)
    return planted
