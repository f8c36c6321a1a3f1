"""A study beside bursts of load, 30 % of the time: it ends in time, keeps every attempt, and says what can be used."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command_line import nephoscope
from tests.support.real_parts import needs

pytestmark = [needs("postgres", "nephoscope-load", "stress-ng"), pytest.mark.slow]

STUDY = """
name = "bursts"
replicates = 3

[[configurations]]
name = "local-1cpu"
database_machine = { cpus = 1 }

[[configurations]]
name = "local-all"
database_machine = { cpus = "all" }

[[benchmarks]]
uses = "stress-ng"
parameters = { duration_s = 5 }

[[benchmarks]]
uses = "point-select"
parameters = { rows = 10_000, ramp_s = 0.5, duration_s = 5 }
"""
ON_S, OFF_S = 3.0, 7.0
START_S = 20.0
"""To start Python and PostgreSQL, and to end them."""
BURSTS = """
import subprocess, sys, time
program, count, on_s, off_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
while True:
    busy = [subprocess.Popen([program], stdout=subprocess.DEVNULL) for _ in range(count)]
    time.sleep(on_s)
    for process in busy:
        process.kill()
        process.wait()
    time.sleep(off_s)
"""


@contextmanager
def bursts(folder: Path) -> Iterator[str]:
    """Loads every CPU now and then; gives the name of the program that does."""
    program = folder / "burster"
    shutil.copy(shutil.which("yes") or "/usr/bin/yes", program)
    argv = [sys.executable, "-c", BURSTS, str(program), str(os.cpu_count() or 1), str(ON_S), str(OFF_S)]
    process = subprocess.Popen(argv, start_new_session=True)
    try:
        yield program.name
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def test_a_study_beside_bursts_of_load_ends_in_time_and_says_what_can_be_used(tmp_path: Path) -> None:
    study, out = tmp_path / "bursts.toml", tmp_path / "out"
    study.write_text(STUDY)
    with bursts(tmp_path) as burster:
        begun_s = time.monotonic()
        ran = nephoscope("run", study, "--out", out, timeout_s=600)
        took_s = time.monotonic() - begun_s
    assert ran.exit_code == 0, ran.stderr
    planned_s = json.loads((out / "plan.json").read_text())["expected_duration_s"]
    sys.stdout.write(f"planned {planned_s:.0f} s, took {took_s:.0f} s\n{ran.stderr}")
    assert took_s <= 2 * planned_s + START_S
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    assert {row["state"] for row in rows} == {"finished"}
    repeated = [row for row in rows if row["attempts"] > 1]
    out_of_time = "not repeated: with more repeats the study could take over twice as long as planned" in ran.stderr
    assert repeated or out_of_time, "bursts that last as long as half a trial disturb some"
    reasons: list[str] = []
    for row in repeated:
        attempts = sorted((out / "trials" / row["trial"] / "attempts").iterdir())
        assert len(attempts) == row["attempts"]
        first = json.loads((attempts[0] / "verdict.json").read_text())
        refusals = [one for one in first if one["check"] == "foreign-load" and one["verdict"] == "invalid"]
        assert refusals
        reasons += [one["reason"] for one in refusals]
    assert not repeated or any(burster in reason for reason in reasons), reasons
    usable = sum(row["verdict"] == "valid" for row in rows)
    assert f"usable: {usable} of {len(rows)} trials" in ran.stderr
    for row in rows:
        if row["verdict"] != "valid":
            cell = re.escape(f"{row['benchmark']} on {row['configuration']}: ")
            assert re.search(rf"^{cell}\d of 3 usable \(.*", ran.stderr, re.MULTILINE)
    assert nephoscope("report", out).exit_code == 0
    page = (out / "report" / "evidence.html").read_text(encoding="utf-8")
    assert usable == len(rows) or f"Usable: {usable} of {len(rows)} trials." in page
