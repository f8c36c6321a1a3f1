import html
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from nephoscope.model.errors import FolderInUse, InputError
from nephoscope.store import lock
from tests.support.command_line import IMPATIENT, NEPHOSCOPE, here, nephoscope
from tests.support.fake_world import STUDY
from tests.support.logs_of_2019 import cpu_log, write_run

COMMANDS = ("plan", "run", "status", "parse", "parse-output", "analyze", "report", "doctor", "demo", "init")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


def test_every_command_teaches_itself() -> None:
    top = nephoscope("--help")
    assert top.exit_code == 0
    assert "Exit codes: 0 done" in top.stdout
    for command in COMMANDS:
        assert f" {command} " in top.stdout
        said = CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, "--help"])
        assert said.exit_code == 0
        assert f"Example: nephoscope {command}" in " ".join(said.stdout.split())


def test_logs_of_2019_are_judged_as_a_table_and_as_json(tmp_path: Path) -> None:
    said = nephoscope("import", "cloud-report-2019", "--help")
    assert "Example: nephoscope import cloud-report-2019" in " ".join(said.stdout.split())
    write_run(tmp_path, "aws/c5.4xlarge/20190912/0", {"cpu.log": cpu_log()})
    write_run(tmp_path, "aws/c5.4xlarge/20190905/1", {"cpu.log": cpu_log(effective=4, cache_kib=46080)})
    said = nephoscope("import", "cloud-report-2019", tmp_path)
    assert said.exit_code == 0
    assert "effective-cpus 1, cpu-cache 1" in said.stdout
    assert "aws/c5.4xlarge/20190905/1 cpu-cache: a last-level cache of 46080 KiB" in said.stdout
    assert said.stdout.endswith("2 runs: 1 valid, 1 invalid, 0 unknown\n")
    assert "Apache-2.0" in said.stderr
    record = json.loads(nephoscope("import", "cloud-report-2019", tmp_path, "--json").stdout)
    assert [run["verdict"] for run in record["runs"]] == ["invalid", "valid"]
    said = nephoscope("import", "cloud-report-2019", tmp_path / "aws" / "c5.4xlarge")
    assert said.exit_code == 2
    assert "hint: expected PROVIDER/TYPE/DATE/RUN/" in said.stderr


def test_the_whole_flow_on_fakes(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    planned = nephoscope("plan", study, "--json")
    assert planned.exit_code == 0
    assert len(json.loads(planned.stdout)["trials"]) == 24
    assert not out.exists()
    ran = nephoscope("run", study, "--out", out)
    assert ran.exit_code == 0, ran.stderr
    assert "[24/24]" in ran.stderr
    assert "24 of 24 trials finished: 24 valid, 0 rejected; 0 failed" in ran.stderr
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    assert [row["state"] for row in rows] == ["finished"] * 24
    for command in ("parse", "analyze", "report"):
        said = nephoscope(command, out)
        assert said.exit_code == 0, said.stderr
    assert said.stdout.strip() == str(out / "report" / "index.html")
    again = nephoscope("run", study, "--out", out)
    assert again.exit_code == 0
    assert "24 of 24 trials are already finished" in again.stderr


MICRO = """
name = "micro"
replicates = 1

[[configurations]]
name = "here"

[[benchmarks]]
uses = "stress-ng"
parameters = { edition = "cr2020", workers = 1, duration_s = 20 }
"""


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_a_scale_is_said_in_plan_progress_and_report(tmp_path: Path) -> None:
    file, out = tmp_path / "micro.toml", tmp_path / "out"
    file.write_text(MICRO)
    said = "scaled to 5 % of the edition's times: not comparable with published numbers"
    assert f"warning: {said}" in nephoscope("plan", file, "--scale", "0.05").stderr
    ran = nephoscope("run", file, "--out", out, "--scale", "0.05", program=IMPATIENT)
    assert ran.exit_code == 0, ran.stderr
    assert said in ran.stderr
    assert "replicate 1 · scaled to 5 %: " in ran.stderr
    assert nephoscope("report", out).exit_code == 0
    page = html.unescape((out / "report" / "evidence.html").read_text())
    assert said in page
    assert "cr2020 (fixed), with duration_s 20 instead of 60; workers 1 instead of cpus" in page


def test_data_is_on_stdout_without_colours_and_talk_on_stderr(study: Path, tmp_path: Path) -> None:
    for environment in ({}, {"NO_COLOR": "1"}):
        said = nephoscope("plan", study, environment=environment)
        assert "\x1b" not in said.stdout + said.stderr
    study.write_text(STUDY.replace("replicates = 6", "replicates = 1"))
    ran = nephoscope("run", study, "--out", tmp_path / "out")
    assert ran.stdout == ""


def test_a_typo_prints_line_key_and_suggestion(tmp_path: Path) -> None:
    file = tmp_path / "typo.toml"
    file.write_text(STUDY.replace("replicates = 6", "replicats = 6"))
    said = nephoscope("plan", file)
    assert said.exit_code == InputError.exit_code == 2
    assert re.search(r"typo\.toml:4: replicats: .*did you mean.*replicates", " ".join(said.stderr.split())), said.stderr
    assert said.stdout == ""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("replicates = 6", "replicates = 0", "replicates"),
        ('name = "large"', 'name = "small"', "small"),
        ("value = 1000.0", 'value = "many"', "value"),
        ('uses = "fake"\nparameters', 'uses = "fkae"\nparameters', "fake"),
    ],
)
def test_bad_input_is_refused_with_its_place(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(STUDY.replace(old, new, 1))
    said = here("run", file, "--out", tmp_path / "out")
    assert said.exit_code == 2
    assert "bad.toml:" in said.stderr
    assert expected in said.stderr
    assert not (tmp_path / "out").exists()


def test_few_replicates_are_allowed_and_warned_about(tmp_path: Path) -> None:
    file = tmp_path / "few.toml"
    file.write_text(STUDY.replace("replicates = 6", "replicates = 4"))
    said = here("plan", file)
    assert said.exit_code == 0
    assert "87.5" in said.stderr


@pytest.mark.parametrize("arguments", [["run"], ["nonsense"], ["plan", "no-such-file.toml"], ["status", "/nowhere"]])
def test_wrong_arguments_are_one_clear_error(arguments: list[str]) -> None:
    said = here(*arguments)
    assert said.exit_code == 2
    assert said.stderr.startswith("error: ")
    assert "Traceback" not in said.stderr


def test_a_wrong_option_of_run_is_told_before_the_plan(study: Path, tmp_path: Path) -> None:
    said = here("run", study, "--out", tmp_path / "out", "--until", "margin=1")
    assert said.exit_code == 2
    assert said.stderr.startswith("error: cannot read --until 'margin=1'")


def test_a_second_run_on_the_same_folder_refuses(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with lock.exclusive(out / "lock"):
        said = nephoscope("run", study, "--out", out)
    assert said.exit_code == FolderInUse.exit_code == 5
    assert "another nephoscope" in said.stderr


def test_a_folder_of_a_newer_schema_is_refused_and_untouched(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    study.write_text(STUDY.replace("replicates = 6", "replicates = 1"))
    here("run", study, "--out", out)
    plan = out / "plan.json"
    newer = plan.read_text().replace("nephoscope/plan/1", "nephoscope/plan/9")
    plan.write_text(newer)
    commands: list[list[str | Path]] = [["status", out], ["report", out], ["parse", out], ["run", study, "--out", out]]
    for command in commands:
        said = here(*command)
        assert said.exit_code == 2
        assert "written by a newer nephoscope" in said.stderr
    assert plan.read_text() == newer


def test_an_unreachable_dsn_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    file = tmp_path / "dsn.toml"
    file.write_text(
        f"""
        name = "dsn"
        replicates = 1
        [[configurations]]
        name = "mine"
        database = {{ dsn = "postgresql://somebody@127.0.0.1:{port}/db" }}
        [[benchmarks]]
        uses = "point-select"
        parameters = {{ rows = 10, ramp_s = 0, duration_s = 1 }}
        """
    )
    said = nephoscope("run", file, "--out", tmp_path / "out")
    assert said.exit_code == 3
    assert f"127.0.0.1:{port}" in said.stderr
    assert "does not answer" in said.stderr
    assert "hint:" in said.stderr
    assert json.loads(here("status", tmp_path / "out", "--json").stdout)[0]["state"] == "planned"


def test_init_writes_a_study_that_plans_and_never_overwrites(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert here("init", file).exit_code == 0
    assert here("plan", file).exit_code == 0
    text = file.read_text()
    said = here("init", file)
    assert said.exit_code == 2
    assert "already exists" in said.stderr
    assert file.read_text() == text


def test_doctor_looks_at_this_machine() -> None:
    said = nephoscope("doctor", "--json")
    findings = {row["what"]: row for row in json.loads(said.stdout)}
    assert said.exit_code == (3 if any(row["health"] == "bad" for row in findings.values()) else 0)
    assert {"frequency governor", "foreign load", "steal", "clock source", "free disk", "fio"} <= set(findings)
    assert all(row["hint"] for row in findings.values() if row["health"] != "good")


def test_a_study_outlives_the_reader_of_its_talk(study: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    out = tmp_path / "out"
    done = subprocess.run([*NEPHOSCOPE, "run", str(study), "--out", str(out)], stderr=write, timeout=300, check=False)
    os.close(write)
    assert done.returncode == 0
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    assert [row["state"] for row in rows] == ["finished"] * 24


def test_a_reader_that_has_enough_is_no_error(study: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*NEPHOSCOPE, "plan", str(study)], stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_brackets_in_a_path_are_text(tmp_path: Path) -> None:
    file = tmp_path / "[" / "@home]" / "[" / "red]mine.toml"
    file.parent.mkdir(parents=True)
    said = nephoscope("init", file)
    assert said.exit_code == 0, said.stderr
    assert str(file) in said.stderr
    study = file.with_name("[fake].toml")
    study.write_text(STUDY)
    assert nephoscope("doctor", study, "--folder", file.parent).exit_code == 0


def test_what_was_rejected_is_repeated_on_request_and_the_last_lines_say_how(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = STUDY.replace("replicates = 6", "replicates = 1\nrepeat_rejected = 1")
    study.write_text(text.replace('type = "tiny"', 'expect_cpu_model = "Xeon"'))
    repair = f"`nephoscope run {out} --retry-rejected --check cpu-model`"
    said = nephoscope("run", study, "--out", out).stderr
    assert f"fake on small: 0 of 1 usable (1 rejected by cpu-model). Repeat: {repair}.\n" in said
    assert said.splitlines()[-2] == "usable: 2 of 4 trials"
    assert [row["attempts"] for row in json.loads(nephoscope("status", out, "--json").stdout)].count(2) == 2
    again = nephoscope("run", out, "--retry-rejected", "--check", "cpu-model").stderr
    assert "2 of 4 trials are already finished" not in again
    assert [row["attempts"] for row in json.loads(nephoscope("status", out, "--json").stdout)].count(3) == 2
    assert f"Repeat: {repair}." in nephoscope("status", out).stdout
    said = nephoscope("run", out, "--scale", "0.1").stderr
    assert "is a results folder, which has its own study and plan" in said
    said = nephoscope("run", out, "--retry-rejected", "--check", "audit").stderr
    assert "trials that audit rejected are not repeated: a wrong result is a defect" in said


def test_a_budget_is_kept_status_says_what_was_spent_and_nothing_is_left(tmp_path: Path) -> None:
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(STUDY.replace('provider = "fake"', 'provider = "fake"\nprice_usd_per_hour = 36.0'))
    said = nephoscope("run", study, "--out", out, "--max-usd", "0.09")
    assert said.exit_code == 4
    assert "24 trials, about 4 min 00 s, one trial after another; $2.40" in said.stderr
    assert (
        "24 trials did not start because of the budget: $0.00 spent + $0.00 held + $0.10 quoted = $0.10, "
        "more than $0.09" in said.stderr
    )
    assert nephoscope("status", out, "--watch").stdout.split() == (
        [
            "0",
            "of",
            "24",
            "trials",
            "ended:",
            "24",
            "out",
            "of",
            "budget;",
            "about",
            "4",
            "min",
            "00",
            "s",
            "left;",
            "$0.00",
            "spent",
        ]
    )
    assert nephoscope("clean", out).stdout == "0 clusters created, 0 deleted now, 0 left\n"


HEAVY = (
    "nephoscope.app.stages",
    "nephoscope.benchmarks",
    "nephoscope.model.records",
    "nephoscope.importers.files",
    "nephoscope.prices.rows",
    "nephoscope.study",
    "asyncio",
    "numpy",
    "polars",
    "rich",
    "scipy",
)
"""What help and a typo must not wait for: packages and modules, each with all below it."""
HEAVIER = ("altair", "asyncssh", "duckdb", "numpy", "polars", "procrastinate", "psycopg", "scipy", "nephoscope.run")
"""What a plan must not wait for."""
LOADED = """
import json, sys
from nephoscope.app.cli import main

main(sys.argv[2:])
heavy = sys.argv[1].split()
found = [name for name in sys.modules if any(name == one or name.startswith(one + ".") for one in heavy)]
sys.stderr.write("\\n" + json.dumps(found))
"""


def loaded(heavy: tuple[str, ...], *arguments: str) -> list[str]:
    """Modules of `heavy` that a command loaded."""
    code = [sys.executable, "-c", LOADED, " ".join(heavy), *arguments]
    said = subprocess.run(code, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(said.stderr.splitlines()[-1])
    return found


def test_help_loads_no_stage_and_no_library_of_one() -> None:
    assert loaded((*HEAVY, "pydantic"), "--help") == []
    assert loaded(HEAVY, "import", "--help") == []
    assert loaded(HEAVY, "prices", "show", "--help") == []


def test_a_typo_loads_no_stage() -> None:
    assert loaded(tuple(name for name in HEAVY if name != "rich"), "plna", "x") == []


def test_a_plan_loads_nothing_that_measures_or_analyses() -> None:
    """But Polars, by which it looks whether the catalogue has a newer price than the book."""
    study = Path(__file__).parents[2] / "studies" / "cloud-report-2020.toml"
    heavier = tuple(name for name in HEAVIER if name != "polars")
    assert loaded(heavier, "plan", str(study), "--json") == []
    assert "nephoscope.benchmarks.registry" in loaded(("nephoscope.benchmarks",), "plan", str(study), "--json")


def test_a_plan_says_its_size_first_and_every_trial_where_asked(study: Path) -> None:
    said = nephoscope("plan", study)
    first, second, third, *_ = said.stdout.splitlines()
    assert first == "24 trials (2 configurations, 2 benchmarks, 6 replicates)"
    assert second.startswith("about 4 min 00 s, one trial after another; not priced (small and large: ")
    assert third == "Each cluster has 1 machine; --max-clusters sets how many run at the same time."
    rows = nephoscope("plan", study, "--rows").stdout.splitlines()
    trials = json.loads(nephoscope("plan", study, "--json").stdout)["trials"]
    assert rows[0].split() == ["#", "block", "configuration", "benchmark", "replicate", "takes", "trial"]
    assert [row.split()[-1] for row in rows[1:]] == [trial["intent"]["id"] for trial in trials]
