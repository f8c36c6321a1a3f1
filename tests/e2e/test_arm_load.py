"""The load generator built for Arm, under QEMU's emulation of one program, on this machine's real PostgreSQL."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.contract import Finished
from nephoscope.benchmarks.load.spec import LoadSpec, PostgresTarget, TpccWorkload
from tests.support.real_parts import needs
from tests.support.server import Server, server

ARM = Path(__file__).parents[2] / "build" / "programs" / "static-aarch64"
QEMU = "qemu-aarch64-static"
pytestmark = [
    pytest.mark.slow,
    needs("postgres", "nephoscope-load"),
    pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} not installed: apt install qemu-user-static"),
    pytest.mark.skipif(not ARM.exists(), reason="no load generator for Arm: make static ARCH=aarch64"),
    pytest.mark.skipif(platform.machine() == "aarch64", reason="this machine is Arm: nothing to emulate"),
]
HERE = (load_program(),)
WITH_LSE = (QEMU, "-cpu", "max", str(ARM))
WITHOUT_LSE = (QEMU, "-cpu", "cortex-a57", str(ARM))
"""Armv8.0, as a Raspberry Pi 4: it has no atomics of the Large System Extensions."""


def perform(program: Sequence[str], running: Server, action: Any, database: str, **more: Any) -> Finished:
    spec = LoadSpec(
        action=action,
        target=PostgresTarget(dsn=running.dsn(database)),
        workload=TpccWorkload(warehouses=1, timestamps="logical"),
        **{"seed": 11, "connections": 2, **more},
    )
    done = subprocess.run(
        [*program, "exec"],
        input=spec.model_dump_json(by_alias=True).encode(),
        capture_output=True,
        env={**os.environ, **running.endpoint.environment},
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return load_output.read(done.stdout).finished


def test_it_loads_the_rows_of_this_machine_runs_and_keeps_the_conditions(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        running.sql("CREATE DATABASE here")
        running.sql("CREATE DATABASE arm")
        here = perform(HERE, running, "load", "here", fingerprint=True)
        arm = perform(WITH_LSE, running, "load", "arm", fingerprint=True)
        assert len(arm.fingerprints) == 9
        assert arm.fingerprints == here.fingerprints
        assert all((table.rows, table.hash) == (table.expected_rows, table.expected) for table in arm.fingerprints)
        ran = perform(WITH_LSE, running, "run", "arm", ramp_s=1, duration_s=5)
    numbers = {condition.number for condition in arm.conditions if condition.holds}
    assert set(range(1, 13)) <= numbers
    assert all(condition.holds for condition in [*arm.conditions, *ran.conditions])
    assert ran.counters
    assert all(counter.agrees for counter in ran.counters)
    assert [line.name for line in arm.audit] == [line.name for line in here.audit]
    assert not [line for line in [*arm.audit, *ran.audit] if line.passed is False]


@pytest.mark.parametrize("program", [WITH_LSE, WITHOUT_LSE], ids=["lse", "no-lse"])
def test_its_kernel_computes_right_checksums_with_and_without_the_atomics_of_newer_cpus(program: Sequence[str]) -> None:
    command = [*program, "kernel", "--threads", "2", "--duration-s", "1"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert json.loads(done.stdout)["iterations"] > 0, "it exits with an error when a checksum is wrong"


def test_it_records_telemetry() -> None:
    line = subprocess.Popen(
        [*WITH_LSE, "telemetry", "--interval-ms", "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert line.stdout is not None
    try:
        first = json.loads(line.stdout.readline())
    finally:
        line.kill()
        line.wait()
    assert first


def test_it_starts_on_kernels_with_pages_of_64_kib_and_needs_no_libraries() -> None:
    """A kernel maps whole pages: segments whose alignment is less than a page would overlap."""
    said = subprocess.run(["readelf", "-lW", str(ARM)], capture_output=True, text=True, check=True).stdout
    segments = [line.split() for line in said.splitlines() if line.split()[:1] == ["LOAD"]]
    assert segments
    assert all(int(words[-1], 16) % 65536 == 0 for words in segments)
    assert "INTERP" not in said
