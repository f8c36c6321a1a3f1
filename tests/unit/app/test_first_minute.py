"""What a person meets first: bare commands, completion, and mistakes that are told before anything starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.stages.advice import require_cpus, warnings_with_lines
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import EnvironmentProblem, InputError, StorageFailed
from nephoscope.store.folder import ResultsFolder
from nephoscope.study import suggest
from nephoscope.study.load import load_study, load_with_lines
from nephoscope.study.model import Configuration, Database
from tests.support.fake_world import STUDY


@pytest.mark.parametrize("arguments", [[], ["prices"], ["import"]])
def test_a_bare_command_prints_its_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "Usage: " in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("shell", "environment", "expected"),
    [
        ("bash", {"COMP_WORDS": "nephoscope re", "COMP_CWORD": "1"}, ["report"]),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "nephoscope run --max-u", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
            ["--max-usd"],
        ),
    ],
)
def test_shells_complete_commands_and_options(shell: str, environment: dict[str, str], expected: list[str]) -> None:
    """A candidate a line: a description must not wrap."""
    program = "import sys; sys.argv[0] = 'nephoscope'; from nephoscope.app.cli import main; sys.exit(main())"
    asked = {**os.environ, **environment, "_NEPHOSCOPE_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=asked, check=False)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == expected


def test_results_go_to_new_empty_or_own_folders_only(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "mine").mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / "mine" / name).touch()
    (tmp_path / "ours" / "trials").mkdir(parents=True)
    for name in ("prices.csv", "fleet-id", "queue.sqlite-wal"):
        (tmp_path / "ours" / name).touch()
    for place in ("new", "new/below", "ours", "."):
        (tmp_path / "plan.json").touch()  # a results folder may hold other files
        assert ResultsFolder.for_results(tmp_path / place).path == tmp_path / place
    for place in ("file", "file/below"):
        with pytest.raises(InputError, match="file is a file"):
            ResultsFolder.for_results(tmp_path / place)
    with pytest.raises(InputError, match=r"it is not empty: it holds a\.txt, b\.txt, c\.txt and 1 more"):
        ResultsFolder.for_results(tmp_path / "mine")


def test_a_folder_without_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(StorageFailed, match=f"no permission to write to {tmp_path}"):
        ResultsFolder.for_results(tmp_path / "new")


def test_run_starts_nothing_in_a_foreign_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.odt").touch()
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == InputError.exit_code
    assert "it holds letter.odt" in capsys.readouterr().err
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["letter.odt"]


BEYOND = """\
name = "beyond"
[[configurations]]
name = "big"
database_machine = { cpus = 64 }
[[configurations]]
name = "priced"
priced_as = { provider = "aws", region = "us-east-1", type = "m6i.gigantic" }
[[configurations]]
name = "priced-too"
database_machine = { cpus = 1 }
[configurations.priced_as]
provider = "aws"
region = "us-east-1"
type = "m6i.gigantic"
[[benchmarks]]
uses = "tpcb"
"""


def test_a_plan_warns_with_lines() -> None:
    study, lines = load_with_lines(BEYOND, "s.toml", BENCHMARKS)
    warned = warnings_with_lines(lines, "s.toml", study, 2)
    assert [line.split(": ")[0] for line in warned] == ["s.toml:4", "s.toml:7"]
    assert "requests 64 CPUs, but only 2 may be used" in warned[0]
    assert "m6i.gigantic: not in the price book: set price_usd_per_hour" in warned[1]
    with pytest.raises(EnvironmentProblem, match="requests 64 CPUs"):
        require_cpus(study, 63)
    require_cpus(study, 64)


def test_a_hundred_warnings_are_ten() -> None:
    many = "".join(f'[[configurations]]\nname = "c{n}"\ndatabase_machine = {{ cpus = 99 }}\n' for n in range(100))
    text = 'name = "many"\n' + many + '[[benchmarks]]\nuses = "tpcb"\n'
    study, lines = load_with_lines(text, "s.toml", BENCHMARKS)
    warned = warnings_with_lines(lines, "s.toml", study, 2)
    assert (len(warned), warned[-1]) == (11, "90 more like the last one")


def test_nicknames_mean_what_exists() -> None:
    allowed = {
        "uses": set(BENCHMARKS),
        "provider": set(Configuration.model_json_schema()["properties"]["provider"]["enum"]),
        "system": set(Database.model_json_schema()["properties"]["system"]["enum"]),
    }
    for key, nicknames in suggest._NICKNAMES.items():
        assert set(nicknames) <= allowed[key]
        assert not set(" ".join(nicknames.values()).split()) & allowed[key]


@pytest.mark.parametrize(
    ("key", "word", "said"),
    [
        ("uses", "pgbench", 'did you mean "tpcb"?'),
        ("uses", "TPC-C", 'did you mean "tpcc"?'),
        ("uses", "sysbench", 'did you mean "oltp-read-write" or "sysbench-fileio"?'),
        ("uses", "zzzz", ""),
    ],
)
def test_other_peoples_names_are_understood(key: str, word: str, said: str) -> None:
    assert suggest.meant_by(key, word, BENCHMARKS) == said


def test_gce_is_gcp() -> None:
    with pytest.raises(InputError, match=r'"gce" is not allowed; did you mean "gcp"\?'):
        load_study(STUDY.replace('provider = "fake"', 'provider = "gce"'), "s.toml", BENCHMARKS)
