"""A real study on this machine: real PostgreSQL, real tools, and everything that can befall it."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.machines.telemetry import parse_telemetry
from tests.support.command_line import IMPATIENT, nephoscope, processes_naming, start_nephoscope
from tests.support.real_parts import needs

pytestmark = needs("postgres", "nephoscope-load", "stress-ng")

STUDY = """
name = "real"
replicates = {replicates}
repeat_rejected = 0

[[configurations]]
name = "local-1cpu"
database_machine = {{ cpus = 1 }}
database = {{ connections = 2, settings = {{ shared_buffers = "64MB" }} }}
"""


STRESS_NG = """
[[benchmarks]]
uses = "stress-ng"
parameters = { duration_s = 1 }
"""
TPCC = """
[[benchmarks]]
uses = "tpcc"
parameters = { warehouses = 1, ramp_s = 0.2, duration_s = 1 }
"""
LONGER = TPCC.replace("duration_s = 1", "duration_s = 4")
SELECTS = """
[[benchmarks]]
uses = "point-select"
parameters = { rows = 1000, ramp_s = 0.1, duration_s = 1 }
"""


def study_in(folder: Path, *benchmarks: str, replicates: int = 1) -> Path:
    file = folder / "real.toml"
    file.write_text(STUDY.format(replicates=replicates) + "".join(benchmarks))
    return file


def rows_of(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(nephoscope("status", out, "--json").stdout)
    return found


def no_process_left(out: Path) -> bool:
    for _ in range(200):
        if not processes_naming(str(out)) and not processes_naming("nephoscope-load telemetry"):
            return True
        time.sleep(0.1)
    return False


def wait_for(condition: Any, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_study_measures_checks_and_reports(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = nephoscope("run", study_in(tmp_path, STRESS_NG, TPCC, SELECTS), "--out", out, program=IMPATIENT)
    assert ran.exit_code == 0, ran.stderr
    assert [row["state"] for row in rows_of(out)] == ["finished"] * 3
    assert no_process_left(out)
    assert not (out / "scratch").exists()
    (run_output,) = [
        path
        for path in (out / "trials").rglob("load-run.stdout")
        if b'"kind":"tpcc"' in path.read_bytes().split(b"\n")[0]
    ]
    finished = json.loads(run_output.read_bytes().splitlines()[-1])
    conditions = {row["number"] for row in finished["conditions"] if row["holds"]}
    assert conditions >= set(range(1, 13)) - {11}
    loaded = json.loads((run_output.parent / "load-fixture.stdout").read_bytes().splitlines()[-1])
    assert {row["number"] for row in loaded["conditions"] if row["holds"]} >= set(range(1, 13))
    assert {row["name"] for row in finished["counters"] if row["agrees"]} >= {"sum_d_next_o_id"}
    for name in ("password", "PGPASSWORD"):
        hits = subprocess.run(["grep", "-rl", "--exclude-dir=report", name, str(out / "trials")], check=False)
        assert hits.returncode == 1, f"{name} stands in a result file"
    assert nephoscope("report", out).exit_code == 0
    page = (out / "report" / "evidence.html").read_text(encoding="utf-8")
    assert "co-located" in page


def test_killed_three_times_it_finishes_every_trial_once(tmp_path: Path) -> None:
    out, study = tmp_path / "out", study_in(tmp_path, STRESS_NG, TPCC, replicates=2)
    moments = random.Random(20)
    for _ in range(3):
        process = start_nephoscope("run", study, "--out", out, program=IMPATIENT)
        while not (out / "plan.json").exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(moments.uniform(1.5, 5.0))
        process.kill()
        process.communicate()
        assert no_process_left(out)
    raw_before = {path: path.stat().st_size for path in (out / "trials").rglob("raw/*") if path.is_file()}
    finished_before = {row["trial"]: row["attempt"] for row in rows_of(out) if row["state"] == "finished"}
    ran = nephoscope("run", study, "--out", out, program=IMPATIENT)
    assert ran.exit_code == 0, ran.stderr
    rows = rows_of(out)
    assert [row["state"] for row in rows] == ["finished"] * 4
    assert {row["trial"]: row["attempt"] for row in rows if row["trial"] in finished_before} == finished_before
    assert {path: path.stat().st_size for path in raw_before} == raw_before
    finished_marks = [
        path for path in (out / "trials").rglob("status.json") if json.loads(path.read_bytes())["state"] == "finished"
    ]
    assert len(finished_marks) == 4
    assert no_process_left(out)


@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_a_signal_leaves_a_clean_resumable_state(tmp_path: Path, number: int, exit_code: int) -> None:
    out, study = tmp_path / "out", study_in(tmp_path, SELECTS.replace("duration_s = 1", "duration_s = 2"))
    process = start_nephoscope("run", study, "--out", out, program=IMPATIENT)
    wait_for(lambda: list((out / "trials").rglob("load-run.stdout")) or process.poll() is not None)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == exit_code, said
    assert b"run the same command again to resume" in said
    assert no_process_left(out)
    states = [row["state"] for row in rows_of(out)]
    assert states.count("interrupted") == 1
    assert nephoscope("run", study, "--out", out, program=IMPATIENT).exit_code == 0
    assert {row["state"] for row in rows_of(out)} == {"finished"}


def below(process: int, *argv: str) -> int:
    """The process below another one whose command line begins so."""

    def parent(pid: int) -> int:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            pid = int(folder.name) if folder.name.isdigit() else 0
            if pid and (folder / "cmdline").read_bytes().startswith("\0".join(argv).encode()):
                above = pid
                while above > 1 and above != process:
                    above = parent(above)
                if above == process:
                    return pid
    raise AssertionError(f"{argv} does not run")


def test_a_trial_whose_load_generator_was_stopped_is_rejected(tmp_path: Path) -> None:
    out, study = tmp_path / "out", study_in(tmp_path, SELECTS.replace("duration_s = 1", "duration_s = 4"))
    process = start_nephoscope("run", study, "--out", out, program=IMPATIENT)

    def driving() -> bool:
        outputs = (out / "trials").rglob("load-run.stdout")
        return any(b'"phase":"measure"' in output.read_bytes() for output in outputs)

    wait_for(lambda: driving() or process.poll() is not None)
    generator = below(process.pid, load_program(), "exec")
    os.kill(generator, signal.SIGSTOP)
    time.sleep(1.0)
    os.kill(generator, signal.SIGCONT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    (row,) = rows_of(out)
    assert (row["state"], row["verdict"]) == ("finished", "invalid")
    verdicts = {one["check"]: one for one in json.loads((out / row["folder"] / "verdict.json").read_text())}
    assert verdicts["generator-bound"]["verdict"] == "invalid"
    assert "stopped or frozen" in verdicts["generator-bound"]["reason"]


@pytest.mark.slow
def test_a_server_that_dies_fails_its_trial_keeps_its_log_and_the_study_goes_on(tmp_path: Path) -> None:
    out, study = tmp_path / "out", study_in(tmp_path, LONGER, STRESS_NG)
    process = start_nephoscope("run", study, "--out", out, program=IMPATIENT)

    def driving() -> list[Path]:
        return [
            path
            for path in (out / "trials").rglob("load-run.stdout")
            if b'"kind":"tpcc"' in path.read_bytes() and path.read_bytes().count(b"\n") >= 2
        ]

    wait_for(lambda: driving() or process.poll() is not None)
    (pid_file,) = out.glob("scratch/*/postgres/data/postmaster.pid")
    os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 4, said
    (failed,) = [row for row in rows_of(out) if row["state"] != "finished"]
    assert failed["benchmark"] == "tpcc"
    assert failed["reasons"][0].startswith("target_lost: ")
    assert "hint: " in failed["reasons"][0]
    attempt = out / failed["folder"]
    assert (attempt / "raw" / "logs" / "postgres.log").exists()
    assert b'"event":"finished"' in (attempt / "raw" / "load-run.stdout").read_bytes()
    assert nephoscope("report", out).exit_code == 0


def test_a_setting_that_somebody_reloads_in_the_middle_rejects_the_trial_and_is_named(tmp_path: Path) -> None:
    out, study = tmp_path / "out", study_in(tmp_path, LONGER)
    process = start_nephoscope("run", study, "--out", out, program=IMPATIENT)
    wait_for(lambda: any(b'"measure"' in path.read_bytes() for path in (out / "trials").rglob("load-run.stdout")))
    (data,) = out.glob("scratch/*/postgres/data")
    with (data / "postgresql.auto.conf").open("a") as settings:
        settings.write("synchronous_commit = off\n")  # as ALTER SYSTEM does
    os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
    said, _ = process.communicate(timeout=120)
    (row,) = rows_of(out)
    assert row["verdict"] == "invalid", said
    (reason,) = [text for text in row["reasons"] if text.startswith("database-unchanged: ")]
    assert "synchronous_commit: on before the trial, off after it" in reason
    stored = {path.name: path.read_text() for path in (out / "trials").rglob("database-settings*.tsv")}
    assert "synchronous_commit\ton\n" in stored["database-settings.tsv"]
    assert "synchronous_commit\toff\n" in stored["database-settings-after.tsv"]


def shadowing(folder: Path, program: str, script: str) -> Mapping[str, str]:
    """An environment in which `program` is this script."""
    tool = folder / "bin" / program
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return {"PATH": f"{tool.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 0", marks=pytest.mark.slow),
        pytest.param("echo garbage; exit 0", marks=pytest.mark.slow),
        "head -c 1000 /dev/urandom; exit 0",
    ],
)
def test_a_tool_that_talks_nonsense_fails_its_trials_alone(tmp_path: Path, script: str) -> None:
    file = tmp_path / "only.toml"
    file.write_text(
        'name = "only"\nreplicates = 1\n[[configurations]]\nname = "here"\n[[benchmarks]]\nuses = "stress-ng"'
    )
    out = tmp_path / "out"
    ran = nephoscope("run", file, "--out", out, environment=shadowing(tmp_path, "stress-ng", script), program=IMPATIENT)
    assert ran.exit_code == 4
    (row,) = rows_of(out)
    assert row["state"] == "failed"
    assert row["reasons"][0].startswith("output_unreadable: ")
    assert nephoscope("analyze", out, "--json").exit_code == 0


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_study_with_its_own_exit_code_and_it_resumes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    file = tmp_path / "only.toml"
    file.write_text(
        'name = "only"\nreplicates = 2\n[[configurations]]\nname = "here"\n'
        '[[benchmarks]]\nuses = "stress-ng"\nparameters = { duration_s = 1 }'
    )
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(out)], check=True)
    try:
        ran = nephoscope("run", file, "--out", out, program=IMPATIENT)
        assert ran.exit_code == 6, ran.stderr
        assert "No space left on device" in ran.stderr
        assert "free some space" in ran.stderr
        subprocess.run(["mount", "-o", "remount,size=20m", str(out)], check=True)
        assert nephoscope("run", file, "--out", out, program=IMPATIENT).exit_code == 0
        assert {row["state"] for row in rows_of(out)} == {"finished"}
    finally:
        subprocess.run(["umount", str(out)], check=True)


@pytest.mark.slow
def test_load_of_others_that_starts_after_the_gate_rejects_the_trial_and_is_named(tmp_path: Path) -> None:
    """On all CPUs, so that none is outside the affinity mask; in most but not all of the trial."""
    out = tmp_path / "out"
    longer = SELECTS.replace("duration_s = 1", "duration_s = 6")
    study = study_in(tmp_path, longer)
    study.write_text(study.read_text().replace("database_machine = { cpus = 1 }\n", ""))
    burn = tmp_path / "burn.py"
    burn.write_text("while True: pass\n")
    running = start_nephoscope("run", study, "--out", out, program=IMPATIENT)
    wait_for(lambda: list((out / "trials").rglob("raw/telemetry-*.jsonl")))
    time.sleep(0.5)
    loops = [subprocess.Popen([sys.executable, str(burn)]) for _ in range(2)]
    time.sleep(5)
    for loop in loops:
        loop.kill()
        loop.wait()
    running.communicate(timeout=60)
    (file,) = out.rglob("verdict.json")
    (verdict,) = [row for row in json.loads(file.read_text()) if row["check"] == "foreign-load"]
    assert verdict["verdict"] == "invalid"
    assert "others used" in verdict["reason"]
    (telemetry,) = out.rglob("raw/telemetry-*.jsonl")
    samples = parse_telemetry(telemetry.read_text())
    named = {one.pid: one.name for sample in samples for one in sample.foreign_processes}
    # Beside other tests, not every loop is among the loudest.
    assert {name.split()[-1] for pid, name in named.items() if pid in {loop.pid for loop in loops}} == {"burn.py"}
