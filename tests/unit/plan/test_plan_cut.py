"""A part of a study: chapters and machine types, with the trials that the whole study has."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from nephoscope.app.stages.planning import cut_out, load, plan
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.analysed import PartOfStudy
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.plan.cut import Cut, part_held
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Study

TEXT = """
name = "parts"
replicates = 2

[defaults]
provider = "fake"
database = { system = "fake" }

[[matrix]]
name = "{type:slug}"
axes.type = ["m6i.2xlarge", "m6i.8xlarge", "Standard_D8s_v5"]
database_machine = { type = "{type}", cpus = 2 }

[[benchmarks]]
uses = "fake"

[[benchmarks]]
uses = "fake"
name = "orders"
configurations = ["m6i.2xlarge", "standard-d8s-v5"]
parameters = { database = true }
"""
CELLS = 2 * (3 + 2)


def study() -> Study:
    return load(TEXT, "parts.toml")


def planned(*only: str, types: tuple[str, ...] = ()) -> Plan:
    return plan(study(), part=cut_out(study(), Cut(only, types)))


def chosen(part: Plan) -> set[tuple[str, str]]:
    return {(row.intent.configuration_name, row.intent.benchmark.name) for row in part.trials}


def test_chapters_and_patterns_of_types_choose() -> None:
    assert len(planned().trials) == CELLS
    assert {benchmark for _, benchmark in chosen(planned("cpu"))} == {"fake"}
    for chapter in ("database", "oltp"):
        assert {benchmark for _, benchmark in chosen(planned(chapter))} == {"orders"}
    assert len(planned("cpu", "oltp").trials) == CELLS
    assert {name for name, _ in chosen(planned(types=("M6I.*",)))} == {"m6i.2xlarge", "m6i.8xlarge"}
    for pattern in ("d8s*", "Standard_D8s_v?"):
        assert {name for name, _ in chosen(planned(types=(pattern,)))} == {"standard-d8s-v5"}
    assert chosen(planned("oltp", types=("m6i.*",))) == {("m6i.2xlarge", "orders")}


def test_a_trial_is_the_same_in_each_part() -> None:
    whole = {row.intent.id: row for row in planned().trials}
    for part in (planned("oltp"), planned("cpu", types=("*.8xlarge",))):
        assert all(whole[row.intent.id] == row for row in part.trials)


def test_a_part_knows_what_of_its_study_it_leaves_out() -> None:
    def held(part: Plan) -> PartOfStudy | None:
        return part_held(study(), part, BENCHMARKS)

    assert held(planned()) is None
    cpu = held(planned("cpu", types=("m6i.*",)))
    assert cpu is not None
    assert (cpu.configurations, cpu.of_configurations, cpu.benchmarks, cpu.of_benchmarks) == (2, 3, 1, 2)
    assert (cpu.cells, cpu.of_cells, cpu.providers, cpu.chapters) == (2, 5, [], ["oltp"])


@pytest.mark.parametrize(
    ("cut", "message", "hint"),
    [
        (Cut(("netwrk",)), "there is no chapter 'netwrk'", "did you mean network?"),
        (Cut(("disks",)), "there is no chapter 'disks'", "there are: cpu, memory"),
        (Cut(("cpu", "network")), "no benchmark of this study belongs to the chapter network", "cpu, database, oltp"),
        (Cut(types=("m6i.*", "m7i.*")), "no configuration of this study has a machine type like 'm7i.*'", "d8s_v5"),
        (Cut(("oltp",), ("*.8xlarge",)), "nothing is left to measure", "choose more chapters"),
    ],
)
def test_what_fits_nothing_is_an_error_that_says_what_there_is(cut: Cut, message: str, hint: str) -> None:
    with pytest.raises(InputError) as raised:
        plan(study(), part=cut_out(study(), cut))
    assert message in raised.value.message
    assert hint in raised.value.hint


def test_without_types_there_is_nothing_to_choose_by() -> None:
    with pytest.raises(InputError) as raised:
        cut_out(
            load('name = "s"\n[[configurations]]\nname = "a"\n[[benchmarks]]\nuses = "fio"\n', "s"), Cut((), ("a",))
        )
    assert raised.value.hint == "its configurations name no machine types: drop --types"


def finished(out: Path) -> set[str]:
    return {planned.intent.id for planned, trial in ResultsFolder(out).planned() if trial.finished()}


def test_the_parts_of_a_study_share_a_folder(tmp_path: Path) -> None:
    file, out = tmp_path / "parts.toml", tmp_path / "out"
    file.write_text(TEXT)

    def run(*options: str) -> str:
        done = CliRunner().invoke(app, ["run", str(file), "--out", str(out), *options])
        assert done.exit_code == 0, done.output
        return done.stderr

    assert "4 of 4 trials finished: 4 valid" in run("--only", "oltp")
    assert "2 of 2 trials finished: 2 valid" in run("--only", "cpu", "--types", "*.8xlarge")
    first = finished(out)
    assert len(first) == 6
    states = {one: ResultsFolder(out).trial(one).states() for one in first}
    assert "10 of 10 trials finished: 10 valid" in run()
    assert finished(out) == {row.intent.id for row in planned().trials}
    assert {one: ResultsFolder(out).trial(one).states() for one in first} == states, "nothing was measured twice"
    assert "4 of 4 trials finished: 4 valid" in run("--only", "oltp")
    assert len(ResultsFolder(out).plan().trials) == CELLS, "a part drops nothing of the whole"


def test_a_part_leaves_what_is_planned_besides_alone(tmp_path: Path) -> None:
    file, out = tmp_path / "parts.toml", tmp_path / "out"
    file.write_text(TEXT)
    ResultsFolder(out).write_plan(TEXT, planned())
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(out), "--only", "oltp"])
    assert done.exit_code == 0, done.output
    assert finished(out) == {row.intent.id for row in planned("oltp").trials}
    refused = CliRunner().invoke(app, ["run", str(out), "--only", "oltp"])
    assert isinstance(refused.exception, InputError)
