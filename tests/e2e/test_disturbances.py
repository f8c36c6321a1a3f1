"""Disturbances in mid-trial, made by hand: none passes as a valid number without its event.

Each is caused when the measurement runs and lasts for a counted number of the sampler's looks, so that a slow machine
only makes a test longer.
"""

import contextlib
import hashlib
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
from typing import TypeVar

import pytest

from nephoscope.databases.programs import as_server_user
from tests.support.command_line import IMPATIENT, nephoscope, start_nephoscope
from tests.support.control_group import below, control_group
from tests.support.freezer import frozen
from tests.support.real_parts import needs

STUDY = """
name = "disturbed"
replicates = 1
repeat_rejected = 0

[[configurations]]
name = "local"
database_machine = { cpus = 1 }
database = { connections = 2, settings = { shared_buffers = "64MB" } }
"""
BENCHMARK = """
[[benchmarks]]
name = "{name}"
uses = "{uses}"
parameters = {parameters}
"""
ON_A_DISK = Path(__file__).resolve().parents[2] / "build"
"""Temporary folders may be in memory."""
Result = TypeVar("Result")
ROOT = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@dataclass(frozen=True)
class Run:
    """A study that runs, and the folder of its results."""

    controller: subprocess.Popen[bytes]
    out: Path

    def wait_for(self, condition: Callable[[], Result | None]) -> Result:
        deadline = time.monotonic() + 120
        while True:
            result = condition()
            if result:
                return result
            assert self.controller.poll() is None, "the trial ended before"
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.1)

    def looks(self) -> int:
        """How often the sampler has looked at processes, which it does more seldom where that takes long."""
        files = (self.out / "trials").rglob("telemetry-*.jsonl")
        return sum(
            line.endswith(b"}") and b'"trial":{' in line for file in files for line in file.read_bytes().split(b"\n")
        )

    def lasts_for(self, looks: int) -> None:
        until = self.looks() + looks
        self.wait_for(lambda: self.looks() >= until)

    def measuring(self) -> str | None:
        """The benchmark whose load is being measured, or was measured last."""
        outputs = [
            file for file in (self.out / "trials").rglob("load-run.stdout") if b'"phase":"measure"' in file.read_bytes()
        ]
        if not outputs:
            return None
        return self.benchmark_of(max(outputs, key=lambda file: file.stat().st_mtime_ns))

    def benchmark_of(self, file: Path) -> str:
        """By the trial whose folder a file is in."""
        intents = [one["intent"] for one in json.loads((self.out / "plan.json").read_text())["trials"]]
        return next(str(one["benchmark"]["name"]) for one in intents if one["id"] in file.parts)

    def verdicts(self) -> dict[str, dict[str, dict[str, str]]]:
        """By benchmark and check."""
        said, _ = self.controller.communicate(timeout=300)
        assert self.controller.returncode == 0, said
        rows = json.loads(nephoscope("status", self.out, "--json").stdout)
        assert {row["state"] for row in rows} == {"finished"}, said
        folders = {row["benchmark"]: self.out / row["folder"] / "verdict.json" for row in rows}
        return {name: {one["check"]: one for one in json.loads(file.read_text())} for name, file in folders.items()}


def processes() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(folder.name), (folder / "cmdline").read_bytes()


def server_of(run: Run) -> int:
    """The server's first process: the only one that has this data folder on its command line."""
    return next(pid for pid, line in processes() if b"postgres\0" in line and str(run.out).encode() in line)


def program_of(run: Run, *argv: str) -> int | None:
    tree = set(below(run.controller.pid))
    return next((pid for pid, line in processes() if pid in tree and line.startswith("\0".join(argv).encode())), None)


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    tree = below(pid)
    send(tree, signal.SIGSTOP)
    try:
        yield
    finally:
        send(tree, signal.SIGCONT)


def send(tree: list[int], number: int) -> None:
    """To each process of them that is still there."""
    for each in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)


@contextlib.contextmanager
def quota(pid: int) -> Iterator[None]:
    """Of a hundredth of a CPU, around a server alone: so little that no machine is too busy to let it be used up."""
    with control_group("cpu", f"quota-{pid}") as group:
        group.set(("cpu.cfs_quota_us", 1000), ("cpu.max", "1000 100000"))
        group.take(pid)
        yield


@contextlib.contextmanager
def slow_disk(pid: int) -> Iterator[None]:
    """At most 100 reads a second of the disk that results are on."""
    disk = whole_disk(ON_A_DISK)
    with control_group("blkio", f"disk-{pid}") as group:
        group.set(("blkio.throttle.read_iops_device", f"{disk} 100"), ("io.max", f"{disk} riops=100"))
        group.take(pid)
        yield


def whole_disk(folder: Path) -> str:
    """Numbers of the disk of a folder; limits are of whole disks."""
    device = folder.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    return (block.parent if (block / "partition").exists() else block).joinpath("dev").read_text().strip()


def restart(run: Run, server: int) -> None:
    """In order, as `pg_ctl restart --mode fast` does it, and down for a second or more."""
    argv = Path(f"/proc/{server}/cmdline").read_text().split("\0")[:-1]
    os.kill(server, signal.SIGINT)
    run.wait_for(lambda: not dict(processes()).get(server))
    run.lasts_for(1)
    subprocess.Popen(as_server_user(argv), stderr=subprocess.DEVNULL)


def crash(run: Run, server: int) -> None:
    """One backend is killed, so the server ends all of them and starts again."""
    tree = below(server)
    os.kill(next(pid for pid, line in processes() if pid in tree and b" nephoscope_trial" in line), signal.SIGKILL)


def reload_settings(_run: Run, server: int) -> None:
    data = Path(f"/proc/{server}/cwd").readlink()
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write("synchronous_commit = off\n")
    os.kill(server, signal.SIGHUP)


def holds(hold: Callable[[int], AbstractContextManager[None]]) -> Callable[[Run, int], None]:
    """For two looks of the sampler, of which one is surely within it."""

    def disturb(run: Run, pid: int) -> None:
        with hold(pid):
            run.lasts_for(2)

    return disturb


SELECTS = ("point-select", '{ rows = 1000, ramp_s = 0.2, duration_s = 3, pace = "constant", rate_per_s = 500 }')
FIO = (
    "fio",
    '{ file_size_mib = 16, jobs = [{ name = "r", mode = "randread", block_size_kib = 4, duration_s = 3 }] }',
)
STRESS_NG = ("stress-ng", "{ duration_s = 4 }")
PROGRAMS = {"fio": ("fio", "--name=r"), "stress-ng": ("stress-ng", "--matrix")}


@dataclass(frozen=True)
class Row:
    """What is done in mid-trial to a benchmark, and which check must reject it for which reason."""

    benchmark: tuple[str, str]
    disturb: Callable[[Run, int], None]
    check: str
    reason: str

    def begun(self, name: str, run: Run) -> int | None:
        """The process to disturb, once its trial measures."""
        program = PROGRAMS.get(self.benchmark[0])
        if program:
            return program_of(run, *program)
        return server_of(run) if run.measuring() == name else None


ROWS = {
    "server-stopped": Row(SELECTS, holds(stopped), "not-stopped", "stopped by a signal"),
    "fio-stopped": Row(FIO, holds(stopped), "not-stopped", "stopped by a signal"),
    "stress-ng-stopped": Row(STRESS_NG, holds(stopped), "effective-cpus", "missing"),
    "settings-reloaded": Row(SELECTS, reload_settings, "database-unchanged", "synchronous_commit"),
    "server-crashed": Row(SELECTS, crash, "connections-kept", "connection"),
    "server-restarted": Row(SELECTS, restart, "database-unchanged", "start"),
}
ROWS_AS_ROOT = {
    "server-frozen": Row(SELECTS, holds(frozen), "not-stopped", "was frozen"),
    "server-under-a-quota": Row(SELECTS, holds(quota), "cgroup-limit", "a CPU quota was used up"),
    "disk-limited": Row(FIO, holds(slow_disk), "cgroup-limit", "limits of its control groups on disks changed"),
}


@pytest.mark.parametrize(
    "rows", [pytest.param(ROWS, id="by a user"), pytest.param(ROWS_AS_ROOT, id="by root", marks=ROOT)]
)
@needs("postgres", "nephoscope-load", "stress-ng", "fio")
def test_trials_that_were_disturbed_are_rejected(rows: dict[str, Row]) -> None:
    ON_A_DISK.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ON_A_DISK) as folder:
        study, out = Path(folder, "disturbed.toml"), Path(folder, "out")
        parts = (
            BENCHMARK.format(name=name, uses=row.benchmark[0], parameters=row.benchmark[1])
            for name, row in rows.items()
        )
        study.write_text(STUDY + "".join(parts))
        run = Run(start_nephoscope("run", study, "--out", out, "--wait-for-quiet", "0", program=IMPATIENT), out)
        waiting = dict(rows)
        while waiting:
            name, pid = run.wait_for(partial(next_begun, run, waiting))
            waiting.pop(name).disturb(run, pid)
        verdicts = run.verdicts()
    for name, row in rows.items():
        verdict = verdicts[name][row.check]
        assert (verdict["verdict"], row.reason in verdict["reason"]) == ("invalid", True), (name, verdict)


def next_begun(run: Run, waiting: dict[str, Row]) -> tuple[str, int] | None:
    begun = ((name, row.begun(name, run)) for name, row in waiting.items())
    return next(((name, pid) for name, pid in begun if pid is not None), None)


HOSTS = """
name = "paused"
replicates = 1
repeat_rejected = 0

[[configurations]]
name = "hosts"
provider = "emulated"
database_machine = { type = "host" }
load_machine = { type = "host" }
database = { connections = 2 }

[[machine_types]]
name = "host"
vcpus = 1
memory_gib = 1
disk_gib = 6
"""
PAUSED_S = 1.5


@dataclass(frozen=True)
class Pause:
    """Which host stands still during a load of which pace, and which check must reject the trial."""

    host: str
    pace: str
    check: str

    @property
    def benchmark(self) -> str:
        return f"{{ rows = 1000, ramp_s = 0.2, duration_s = 6, pace = {self.pace} }}"


PAUSES = {
    "load-closed": Pause("load", '"closed"', "generator-bound"),
    "load-constant": Pause("load", '"constant", rate_per_s = 200', "generator-bound"),
    "server-constant": Pause("database-1", '"constant", rate_per_s = 200', "not-stopped"),
}


def host_under_load(run: Run, waiting: dict[str, Pause]) -> tuple[str, list[int]] | None:
    """The benchmark that measures, and every process in the network namespace of the host that it waits for."""
    for lease in (run.out / "trials").rglob("lease.json"):
        name = run.benchmark_of(lease)
        if name in waiting:
            key = hashlib.sha256(json.loads(lease.read_text())["cluster"].encode()).hexdigest()[:6]
            if any(measures(pid) for pid in pids_in(f"nph-{key}-load")):
                return name, pids_in(f"nph-{key}-{waiting[name].host}")
    return None


def pids_in(namespace: str) -> list[int]:
    """None while there is no such network."""
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def measures(pid: int) -> bool:
    """Whether it is a load generator that has told of its first second, and not that of a calibration."""
    with contextlib.suppress(OSError):
        if b"nephoscope-load\0exec" in Path(f"/proc/{pid}/cmdline").read_bytes():
            written = Path(f"/proc/{pid}/fd/1").read_bytes()
            return b'"kind":"point_select"' in written and b'"phase":"measure"' in written
    return False


@pytest.mark.slow
@pytest.mark.root
@needs("postgres", "nephoscope-load", "sshd")
def test_trials_whose_hosts_stood_still_are_rejected(tmp_path: Path) -> None:
    study, out = tmp_path / "paused.toml", tmp_path / "out"
    parts = (BENCHMARK.format(name=name, uses="point-select", parameters=row.benchmark) for name, row in PAUSES.items())
    study.write_text(HOSTS + "".join(parts))
    run = Run(start_nephoscope("run", study, "--out", out, "--wait-for-quiet", "0", program=IMPATIENT), out)
    waiting = dict(PAUSES)
    while waiting:
        name, pids = run.wait_for(partial(host_under_load, run, waiting))
        del waiting[name]
        with control_group("freezer", f"paused-{name}") as group:
            for pid in pids:
                group.take(pid)
            group.set(("freezer.state", "FROZEN"), ("cgroup.freeze", 1))
            time.sleep(PAUSED_S)
            group.set(("freezer.state", "THAWED"), ("cgroup.freeze", 0))
    verdicts = run.verdicts()
    rejected = {name: verdicts[name][row.check]["verdict"] for name, row in PAUSES.items()}
    assert rejected == dict.fromkeys(PAUSES, "invalid"), verdicts
