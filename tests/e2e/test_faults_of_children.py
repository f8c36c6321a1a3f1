"""Faults of a study on this machine: children that are killed or stopped or run out of memory, a clock that is set,
folders that become read-only or are copied.

Each fault fails or rejects the trial that it hits, by name, and no other.
"""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command_line import IMPATIENT, nephoscope, start_nephoscope
from tests.support.memory_limit import limited_group
from tests.support.real_parts import needs

SUPPORT = Path(__file__).parents[1] / "support"
MARK = "NEPHOSCOPE_FAULTS"
"""Environment variable that children inherit, so that other tests' are not hit."""
STRESS = '[[benchmarks]]\nuses = "stress-ng"\nparameters = { stressor = "matrix", duration_s = 4 }\n'
SELECTS = '[[benchmarks]]\nuses = "point-select"\nparameters = { rows = 1000, ramp_s = 0, duration_s = 4 }\n'
FIO = """[[benchmarks]]
uses = "fio"
parameters.file_size_mib = 16
parameters.jobs = [{ name = "r", mode = "randread", block_size_kib = 4, duration_s = 4 }]
"""
HEAD = 'name = "faults"\nreplicates = 2\nrepeat_rejected = 0\n[[configurations]]\nname = "here"\n'


def study_in(folder: Path, benchmark: str) -> Path:
    file = folder / "faults.toml"
    file.write_text(HEAD + benchmark)
    return file


def children(mark: Path, pattern: str) -> set[int]:
    """Ids of processes that a marked controller began, by their command line."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment and re.search(pattern, line) and "setpriv" not in line:
            found.add(int(process.name))
    return found


def running_children(running: subprocess.Popen[bytes], mark: Path, pattern: str) -> set[int]:
    """Waits for children that still run after a second: others ask for a version."""
    hit: set[int] = set()
    while not hit:
        assert running.poll() is None, running.communicate()
        seen = children(mark, pattern)
        time.sleep(1)
        hit = seen & children(mark, pattern)
    return hit


@needs("postgres", "nephoscope-load", "fio")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "child", "number", "name"),
    [
        (STRESS, "stress-ng --", signal.SIGKILL, "tool_failed"),
        (FIO, "fio --", signal.SIGKILL, "tool_failed"),
        (SELECTS, "nephoscope-load(?! telemetry)", signal.SIGKILL, "tool_failed"),
        (STRESS, "nephoscope-load telemetry", signal.SIGKILL, "tool_failed"),
        (STRESS, "nephoscope-load telemetry", signal.SIGSTOP, "invalid"),
    ],
)
def test_a_child_that_is_killed_or_stopped_is_told_and_hits_one_trial(
    benchmark: str, child: str, number: int, name: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    running = start_nephoscope(
        "run", study_in(tmp_path, benchmark), "--out", out, environment={MARK: str(tmp_path)}, program=IMPATIENT
    )
    for process in running_children(running, tmp_path, child):
        os.kill(process, number)
    said, _ = running.communicate(timeout=180)
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    first, second = sorted(rows, key=lambda row: row["started_unix_ms"])
    if name == "invalid":
        assert (first["state"], first["verdict"]) == ("finished", "invalid"), said
        assert any(reason.startswith("sampler-cost: local: not recorded") for reason in first["reasons"]), first
    else:
        assert first["state"] == "failed", said
        assert first["reasons"][0].startswith(f"{name}: "), first
    assert second["state"] == "finished"
    assert children(tmp_path, "") == set()


@needs("nephoscope-load", "fio", "stress-ng", "cc")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "child", "step_s", "reason"),
    [
        (STRESS, "stress-ng --", 3600, "clock-step: local: its clock jumped by +3600"),
        (STRESS, "stress-ng --", -3600, "output_unreadable: stress-ng YAML: "),  # it ran for less than no time
        (FIO, "fio --", -3600, "clock-step: local: its clock jumped by -3600"),
    ],
)
def test_a_clock_that_is_set_during_a_trial_is_told_and_hits_one_trial(
    benchmark: str, child: str, step_s: int, reason: str, tmp_path: Path
) -> None:
    shim, offset = tmp_path / "stepped_clock.so", tmp_path / "offset"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, SUPPORT / "stepped_clock.c"], check=True)
    offset.write_bytes(struct.pack("q", 0))
    environment = {"LD_PRELOAD": str(shim), "STEPPED_CLOCK": str(offset), MARK: str(tmp_path)}
    study, out = study_in(tmp_path, benchmark), tmp_path / "out"
    running = start_nephoscope("run", study, "--out", out, environment=environment, program=IMPATIENT)
    running_children(running, tmp_path, child)
    with offset.open("r+b") as file:
        file.write(struct.pack("q", step_s))
    said, _ = running.communicate(timeout=180)
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    (hit,) = [row for row in rows if any(why.startswith(reason) for why in row["reasons"])]
    (other,) = [row for row in rows if row is not hit]
    assert hit["state"] == "failed" or hit["verdict"] == "invalid", said
    assert other["state"] == "finished"
    assert not any(why.startswith("clock-step") for why in other["reasons"])


@needs("fio")
@pytest.mark.slow
@pytest.mark.root
def test_a_child_that_the_kernel_ends_for_lack_of_memory_is_told_and_hits_one_trial(tmp_path: Path) -> None:
    fio = shutil.which("fio")
    programs, out = tmp_path / "programs", tmp_path / "out"
    programs.mkdir()
    with limited_group(f"nephoscope-{os.getpid()}", 4 << 20) as joins:
        # The first job joins a group that is too small for it.
        (programs / "fio").write_text(
            f'#!/bin/sh\ncase "$*" in *--name=r*) mkdir {tmp_path}/once 2>/dev/null && echo $$ >{joins};; esac\n'
            f'exec {fio} "$@"\n'
        )
        (programs / "fio").chmod(0o755)
        ran = nephoscope(
            *("run", study_in(tmp_path, FIO), "--out", out),
            environment={"PATH": f"{programs}:{os.environ['PATH']}"},
            program=IMPATIENT,
        )
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    first, second = sorted(rows, key=lambda row: row["started_unix_ms"])
    assert first["state"] == "failed", ran.stderr
    assert first["reasons"][0].startswith("tool_failed: "), first
    assert second["state"] == "finished"


@pytest.mark.slow
@pytest.mark.root
def test_a_controller_that_the_kernel_ends_for_lack_of_memory_is_as_good_as_killed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with limited_group(f"nephoscope-{os.getpid()}", 1 << 20) as joins:
        running = start_nephoscope(
            "run", study_in(tmp_path, STRESS), "--out", out, environment={MARK: str(tmp_path)}, program=IMPATIENT
        )
        running_children(running, tmp_path, "stress-ng --")
        joins.write_text(str(running.pid))
        running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL
    assert children(tmp_path, "") == set()
    assert nephoscope("run", out, program=IMPATIENT).exit_code == 0
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    assert [row["state"] for row in rows] == ["finished"] * 2


@pytest.mark.slow
def test_a_folder_that_was_copied_after_a_kill_goes_on_in_its_new_place(tmp_path: Path) -> None:
    out, copy = tmp_path / "out", tmp_path / "elsewhere" / "copy"
    running = start_nephoscope("run", study_in(tmp_path, STRESS), "--out", out, program=IMPATIENT)
    while not list(out.glob("trials/*/attempts/1/status.json")):
        assert running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.communicate()
    before = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    shutil.copytree(out, copy)
    done = nephoscope("run", copy, program=IMPATIENT)
    assert done.exit_code == 0, done.stderr
    rows = json.loads(nephoscope("status", copy, "--json").stdout)
    assert [row["state"] for row in rows] == ["finished"] * 2
    assert nephoscope("verify", copy).exit_code == 0
    assert {path: (out / path).read_bytes() for path in before} == before


@pytest.mark.slow
@pytest.mark.root
def test_a_folder_that_becomes_read_only_ends_the_study_with_its_own_exit_code_and_it_resumes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(out)], check=True)
    try:
        study = study_in(tmp_path, STRESS)
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
        ended = nephoscope("run", study, "--out", out, program=IMPATIENT)
        assert ended.exit_code == 6, ended.stderr
        assert "the file system is read-only" in ended.stderr
        subprocess.run(["mount", "-o", "remount,rw", str(out)], check=True)
        assert nephoscope("run", study, "--out", out, program=IMPATIENT).exit_code == 0
    finally:
        subprocess.run(["umount", str(out)], check=True)
