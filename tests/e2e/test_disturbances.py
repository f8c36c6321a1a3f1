"""Disturbances in mid-trial, made by hand: none passes as a valid number without its event.

Each is caused when the measurement runs and lasts for a counted number of the sampler's looks, so that a slow machine
only makes a test longer.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.command_line import IMPATIENT, nephoscope, start_nephoscope
from tests.support.freezer import frozen
from tests.support.real_parts import needs

STUDY = """
name = "disturbed"
replicates = 1
repeat_rejected = 0

[[configurations]]
name = "local"
database_machine = {{ cpus = 1 }}
database = {{ connections = 2, settings = {{ shared_buffers = "64MB" }} }}

[[benchmarks]]
uses = "{uses}"
parameters = {parameters}
"""
CGROUPS = Path("/sys/fs/cgroup")
ON_A_DISK = Path(__file__).resolve().parents[2] / "build"
"""Temporary folders may be in memory."""
ROOT = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@dataclass(frozen=True)
class Trial:
    """A trial that runs, and the folder of its results."""

    controller: subprocess.Popen[bytes]
    out: Path

    def wait_for(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert self.controller.poll() is None, "the trial ended before"
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.02)

    def looks(self) -> int:
        """How often the sampler has looked."""
        return sum(file.read_bytes().count(b"\n") for file in self.out.rglob("telemetry-*.jsonl"))

    def lasts_for(self, looks: int) -> None:
        until = self.looks() + looks
        self.wait_for(lambda: self.looks() >= until)

    def measures(self) -> bool:
        outputs = (self.out / "trials").rglob("load-run.stdout")
        return any(b'"phase":"measure"' in output.read_bytes() for output in outputs)

    def verdicts(self) -> dict[str, dict[str, str]]:
        said, _ = self.controller.communicate(timeout=300)
        assert self.controller.returncode == 0, said
        (row,) = json.loads(nephoscope("status", self.out, "--json").stdout)
        assert row["state"] == "finished", said
        return {one["check"]: one for one in json.loads((self.out / row["folder"] / "verdict.json").read_text())}


def started(folder: Path, uses: str, parameters: str) -> Trial:
    study = folder / "disturbed.toml"
    study.write_text(STUDY.format(uses=uses, parameters=parameters))
    out = folder / "out"
    return Trial(start_nephoscope("run", study, "--out", out, program=IMPATIENT), out)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def processes() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(folder.name), (folder / "cmdline").read_bytes()


def below(top: int) -> list[int]:
    """A process and everything that it started."""
    parents: dict[int, int] = {}
    for pid, _ in processes():
        with contextlib.suppress(OSError):
            parents[pid] = parent(pid)
    tree = [top]
    for pid in tree:
        tree += [child for child, its in parents.items() if its == pid]
    return tree


def server_of(trial: Trial) -> int:
    """The server's first process: the only one that has this data folder on its command line."""
    return next(pid for pid, line in processes() if b"postgres\0" in line and str(trial.out).encode() in line)


def program_of(trial: Trial, *argv: str) -> int | None:
    tree = set(below(trial.controller.pid))
    return next((pid for pid, line in processes() if pid in tree and line.startswith("\0".join(argv).encode())), None)


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    tree = below(pid)
    for each in tree:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in tree:
            os.kill(each, signal.SIGCONT)


@contextlib.contextmanager
def quota(pid: int) -> Iterator[None]:
    """Of a hundredth of a CPU, around a server alone: so little that no machine is too busy to let it be used up."""
    first = (CGROUPS / "cpu").is_dir()
    group = (CGROUPS / "cpu" if first else CGROUPS) / f"nephoscope-tests-quota-{pid}"
    group.mkdir()
    tree = below(pid)
    try:
        (group / ("cpu.cfs_quota_us" if first else "cpu.max")).write_text("1000" if first else "1000 100000")
        for each in tree:
            (group / "cgroup.procs").write_text(str(each))
        yield
    finally:
        for each in tree:
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(str(each))
        group.rmdir()


@contextlib.contextmanager
def slow_disk(pid: int, folder: Path) -> Iterator[None]:
    """At most 100 reads a second of the disk that a folder is on."""
    first = (CGROUPS / "blkio").is_dir()
    group = (CGROUPS / "blkio" if first else CGROUPS) / f"nephoscope-tests-disk-{pid}"
    disk = whole_disk(folder)
    group.mkdir()
    try:
        file, limit = ("blkio.throttle.read_iops_device", "100") if first else ("io.max", "riops=100")
        (group / file).write_text(f"{disk} {limit}")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def whole_disk(folder: Path) -> str:
    """Numbers of the disk of a folder; limits are of whole disks."""
    device = folder.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    return (block.parent if (block / "partition").exists() else block).joinpath("dev").read_text().strip()


SELECTS = ("point-select", "{ rows = 1000, ramp_s = 0.2, duration_s = 5 }")
FIO = (
    "fio",
    '{ file_size_mib = 16, jobs = [{ name = "r", mode = "randread", block_size_kib = 4, duration_s = 5 }] }',
)
STRESS_NG = ("stress-ng", "{ duration_s = 4 }")
PROGRAMS = {"fio": ("fio", "--name=r"), "stress-ng": ("stress-ng", "--matrix")}


@pytest.mark.parametrize(
    ("benchmark", "hold", "check", "reason"),
    [
        pytest.param(SELECTS, stopped, "not-stopped", "stopped by a signal", id="server stopped"),
        pytest.param(FIO, stopped, "not-stopped", "stopped by a signal", id="fio stopped"),
        pytest.param(STRESS_NG, stopped, "effective-cpus", "missing", id="stress-ng stopped"),
        pytest.param(SELECTS, frozen, "not-stopped", "was frozen", id="server frozen", marks=ROOT),
        pytest.param(SELECTS, quota, "cgroup-limit", "a CPU quota was used up", id="server under a quota", marks=ROOT),
    ],
)
@needs("postgres", "nephoscope-load", "stress-ng", "fio")
def test_a_trial_that_was_held_up_is_rejected(
    benchmark: tuple[str, str],
    hold: Callable[[int], AbstractContextManager[None]],
    check: str,
    reason: str,
    tmp_path: Path,
) -> None:
    trial = started(tmp_path, *benchmark)
    program = PROGRAMS.get(benchmark[0])
    trial.wait_for(partial(program_of, trial, *program) if program else trial.measures)
    pid = program_of(trial, *program) if program else server_of(trial)
    assert pid is not None
    with hold(pid):
        trial.lasts_for(2)
    verdict = trial.verdicts()[check]
    assert (verdict["verdict"], reason in verdict["reason"]) == ("invalid", True), verdict


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@needs("nephoscope-load", "fio")
def test_a_trial_whose_disk_was_limited_is_rejected() -> None:
    with TemporaryDirectory(dir=ON_A_DISK) as folder:
        trial = started(Path(folder), *FIO)
        trial.wait_for(partial(program_of, trial, *PROGRAMS["fio"]))
        pid = program_of(trial, *PROGRAMS["fio"])
        assert pid is not None
        with slow_disk(pid, Path(folder)):
            trial.lasts_for(2)
        verdict = trial.verdicts()["cgroup-limit"]
    assert verdict["verdict"] == "invalid"
    assert "limits of its control groups on disks changed" in verdict["reason"]


def reload_settings(trial: Trial) -> None:
    server = server_of(trial)
    data = Path(f"/proc/{server}/cwd").readlink()
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write("synchronous_commit = off\n")
    os.kill(server, signal.SIGHUP)


def crash(trial: Trial) -> None:
    """One backend is killed, so the server ends all of them and starts again."""
    tree = below(server_of(trial))
    os.kill(next(pid for pid, line in processes() if pid in tree and b" nephoscope_trial" in line), signal.SIGKILL)


@pytest.mark.parametrize(
    ("disturb", "check", "reason"),
    [
        pytest.param(reload_settings, "database-unchanged", "synchronous_commit", id="settings reloaded"),
        pytest.param(crash, "connections-kept", "connection", id="server started again"),
    ],
)
@needs("postgres", "nephoscope-load")
def test_a_trial_whose_server_is_another_one_at_its_end_is_rejected(
    disturb: Callable[[Trial], None], check: str, reason: str, tmp_path: Path
) -> None:
    trial = started(tmp_path, *SELECTS)
    trial.wait_for(trial.measures)
    disturb(trial)
    verdict = trial.verdicts()[check]
    assert (verdict["verdict"], reason in verdict["reason"]) == ("invalid", True), verdict
