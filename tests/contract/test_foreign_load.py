"""Whose the machine's CPU time is, by the real sampler beside real processes.

Other tests may run at the same time, and they are others too. So nothing here requires that the machine is quiet: what
others used is compared with what their processes used, and with what a process that the test starts itself has used.
"""

import asyncio
import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.telemetry import parse_telemetry
from nephoscope.model.records import TelemetrySample
from nephoscope.run.clock import SystemClock
from tests.support.real_parts import needs
from tests.support.sshd import require_sshd, sshd

pytestmark = needs("nephoscope-load")

_WATCH = '"$0" telemetry --interval-ms 250 --trial "$1" --limit-cpus 0.05 & it=$!; eval "$2"; kill $it; wait $it'
BURN = [sys.executable, "-c", "while True: pass"]
SHORT_ONES = ["sh", "-c", "while :; do /bin/true; done"]
LOUDEST = 10
"""As many processes as a sample names: see `accounts.rs` of the load generator."""
MISSED = 0.6
"""Share of a process's CPU time that must be found: the first and the last part of a second are not sampled."""
NOISE_CPUS = 0.2
"""Clocks and moments of reading differ, by one tick of 10 ms or two for each CPU and sample."""
TRIES = 5
"""What is blamed on others by mistake is blamed in each; what other tests do beside it is not."""


def watched(work: str, *, inside: Sequence[str] = (), trial: str = "parent") -> list[TelemetrySample]:
    """What the sampler writes while a shell, which is the trial, does something."""
    argv = [*inside, "sh", "-c", _WATCH, load_program(), trial, work]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=60)
    samples = parse_telemetry(done.stdout.decode())
    assert len(samples) >= 4, done.stderr
    return samples


@contextmanager
def other(argv: Sequence[str], start_s: float, used: list[float], *, lasts_s: float | None = None) -> Iterator[None]:
    """A process that is not below the shell of the trial, until the block ends if not for `lasts_s`.

    `used` receives its CPU time.
    """
    ended, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        time.sleep(start_s)
        load = subprocess.Popen(argv)
        select.select([ended], [], [], lasts_s)
        load.send_signal(signal.SIGKILL)
        load.wait()
        os._exit(0)
    try:
        yield
    finally:
        os.close(end)
        os.close(ended)
        _, _, usage = os.wait4(child, 0)
        used.append(usage.ru_utime + usage.ru_stime)


def foreign_s(samples: Sequence[TelemetrySample]) -> float:
    return sum((one.foreign_cpus or 0.0) * one.duration_s for one in samples)


def named_s(samples: Sequence[TelemetrySample]) -> float:
    return sum(one.foreign_named_s or 0.0 for one in samples)


def unseen_cpus(samples: Sequence[TelemetrySample]) -> float:
    """CPUs that others used as far as none of their processes accounts for it: what the trial is blamed with."""
    return (foreign_s(samples) - named_s(samples)) / sum(one.duration_s for one in samples)


@pytest.mark.parametrize(
    ("load", "start_s", "name"), [(BURN, 1.0, "python"), (SHORT_ONES, 0.3, "sh")], ids=["late", "many short processes"]
)
def test_load_of_others_is_found_and_named(load: list[str], start_s: float, name: str) -> None:
    crowded = False
    for _ in range(3):
        used: list[float] = []
        with other(load, start_s, used):
            samples = watched("sleep 4")  # what follows the last reading is not found
        assert foreign_s(samples) >= MISSED * used[0] > 0
        assert named_s(samples) >= MISSED * used[0]
        named = [sample.foreign_processes for sample in samples if sample.foreign_processes]
        if any(one.name.startswith(name) for processes in named for one in processes):
            return
        crowded |= bool(named) and len(named[-1]) == LOUDEST  # by other tests' processes that are louder
    assert crowded, f"no sample of three tries names {name}"


def test_load_that_ends_before_the_processes_are_read_is_found() -> None:
    """Where reading them is slow, it happens once in seconds, and what has ended by then has no name any more."""
    used: list[float] = []
    with other(BURN, 0.0, used, lasts_s=0.8):
        samples = watched("sleep 2")
    assert foreign_s(samples) >= MISSED * used[0] > 0


@pytest.mark.root
def test_load_of_another_pid_namespace_is_found_though_no_process_is_visible() -> None:
    used: list[float] = []
    with other(BURN, 0.3, used, lasts_s=1.2):
        samples = watched("sleep 2", inside=["unshare", "--pid", "--fork", "--mount-proc"])
    assert foreign_s(samples) >= MISSED * used[0] > 0
    assert named_s(samples) == 0
    assert not any(sample.foreign_processes for sample in samples)


@pytest.mark.parametrize(
    "work",
    [
        "n=0; while [ $n -lt 600 ]; do /bin/true; n=$((n + 1)); done; sleep 1",
        "timeout 1.5 setsid sh -c 'while :; do :; done'",
        "dd if=/dev/zero of={file} bs=1M count=192 conv=fsync; sleep 1; rm -f {file}",
    ],
    ids=["many short processes", "a session of its own", "write-back by kernel threads"],
)
def test_the_work_of_the_trial_is_not_blamed_on_others(work: str, tmp_path: Path) -> None:
    """Other tests start and end short processes that nobody can count as well: the trial would be blamed every time."""
    tries = (unseen_cpus(watched(work.format(file=tmp_path / "written"))) for _ in range(TRIES))
    assert any(cpus < NOISE_CPUS for cpus in tries)


def test_jobs_over_ssh_are_the_trial_by_their_sessions(tmp_path: Path) -> None:
    """The job's folder has the number of its session, as on a host that is reached over SSH."""
    job = tmp_path / "jobs" / "one"
    job.mkdir(parents=True)
    supervised = ["setsid", "sh", "-c", f"echo $$ >{job}/sid; while :; do :; done"]

    def blamed_cpus() -> float:
        used: list[float] = []
        with other(supervised, 0.2, used, lasts_s=1.3):
            samples = watched("sleep 2", trial=f"jobs:{tmp_path}/jobs")
        assert used[0] > 0
        session = int((job / "sid").read_text())
        named = [process for sample in samples for process in sample.foreign_processes if process.pid == session]
        return math.inf if named else unseen_cpus(samples)

    assert any(blamed_cpus() < NOISE_CPUS for _ in range(TRIES))


async def _over_ssh(remote: SshRemote, folder: Path) -> tuple[str, float]:
    """What the sampler writes on a host while a job runs there for a second, and the CPU time that the job used."""
    log = folder / "telemetry.jsonl"
    argv = [load_program(), "telemetry", "--interval-ms", "250", "--trial", await remote.own_processes()]
    sampler = await remote.start(argv, log=log, pinned=False)
    job = "timeout 1 sh -c 'while :; do :; done'; sleep 0.5; times"
    done = await remote.execute(Command(["bash", "-c", job], timeout_s=30))
    await sampler.stop(signal=signal.SIGTERM, timeout_s=5)
    await remote.close()
    minutes, seconds = done.stdout.decode().split()[-2].rstrip("s").split("m")  # `times`: children, user mode
    return log.read_text(), 60 * float(minutes) + float(seconds)


def test_a_job_on_a_host_over_ssh_is_not_foreign(tmp_path: Path) -> None:
    require_sshd()

    def blamed_cpus(folder: Path) -> float:
        remote = SshRemote("host", server.address, SystemClock(), folder=str(folder / "there"), session="trial-1")
        written, used_s = asyncio.run(_over_ssh(remote, folder))
        counted = [trial["user_us"] / 1e6 for line in written.splitlines() if (trial := json.loads(line)["trial"])]
        assert counted[-1] >= MISSED * used_s > 0
        return unseen_cpus(parse_telemetry(written))

    folders = [tmp_path / str(number) for number in range(TRIES)]
    with sshd(tmp_path / "sshd") as server:
        for folder in folders:
            folder.mkdir()
        assert any(blamed_cpus(folder) < NOISE_CPUS for folder in folders)
