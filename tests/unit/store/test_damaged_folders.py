"""Whatever is damaged in a results folder: one sentence with the file and what to do, and no traceback."""

import asyncio
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from nephoscope.app.cli import main
from nephoscope.app.stages import evaluation, imports
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.machines.fake import Answer
from nephoscope.model.errors import DamagedFile, StorageFailed
from nephoscope.model.names import Named
from nephoscope.model.records import Measurement, Plan
from nephoscope.model.rows import TrialRow
from nephoscope.run.study import run_study
from nephoscope.store import files
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Configuration
from tests.support.fake_world import rehearsal
from tests.support.inspector_data import write_machine
from tests.support.made_results import made_results
from tests.support.stored_anew import as_stored_without_digests

DEEP = "[" * 200_000


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_results(tmp_path_factory.mktemp("good") / "r", {"slow": [100.0], "fast": [200.0]}).path


def imported(parent: Path) -> Path:
    """Results of somebody else, published without digests."""
    write_machine(parent / "data", "aws/m5a.large")
    write_machine(parent / "data", "hcloud/cx22", rate=90)
    folder = ResultsFolder(parent / "r")
    imports.import_results("spare-cores", parent / "data", folder)
    for attempt in folder.every_attempt():
        as_stored_without_digests(attempt)
    return folder.path


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def a_file(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.write_text("x")


def not_text(path: Path) -> None:
    path.write_bytes(b"name = \xff\xfe")


def of_thousands_of_digits(path: Path) -> None:
    path.write_text(f"name = {'1' * 5_000}\n")


def deep(path: Path) -> None:
    path.write_text(DEEP)


def unknown_state(path: Path) -> None:
    path.write_text('{"state":"paused","at_unix_ms":1,"attempt":1}\n')


def a_wildcard(path: Path) -> None:
    path.write_text("*\n")


def empty(path: Path) -> None:
    path.write_text("")


def of_two_lines(path: Path) -> None:
    path.write_text("0123abcd\n4567abcd\n")


def of_another_study(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "study": "payroll"}))


def of_any_study(path: Path) -> None:
    """The study file beside it agrees."""
    path.write_text(json.dumps({**json.loads(path.read_text()), "study": "*"}))
    study = path.with_name("study.toml")
    study.write_text(re.sub(r'(?m)^name = "[^"]+"', 'name = "*"', study.read_text(), count=1))


ATTEMPTS = "trials/*/attempts"
DAMAGE: Sequence[tuple[str, Callable[[Path], None], str]] = (
    ("study.toml", not_text, "status"),
    ("study.toml", a_folder, "status"),
    ("study.toml", of_thousands_of_digits, "clean"),
    ("study.toml", Path.unlink, "status"),
    ("claims.toml", not_text, "report"),
    ("claims.toml", a_folder, "report"),
    ("prices.csv", a_folder, "report"),
    ("plan.json", deep, "status"),
    ("plan.json", a_folder, "run"),
    ("plan.json", Path.unlink, "status"),
    ("source.json", deep, "status"),
    ("trials", a_file, "status"),
    ("looks", a_file, "run"),
    ("report", a_file, "report"),
    ("fleet-id", not_text, "run"),
    ("fleet-id", a_wildcard, "run"),
    ("fleet-id", a_wildcard, "clean"),
    ("fleet-id", empty, "clean"),
    ("fleet-id", of_two_lines, "clean"),
    ("fleet-id", a_folder, "clean"),
    ("plan.json", of_another_study, "clean"),
    ("plan.json", of_another_study, "run"),
    ("plan.json", of_any_study, "clean"),
    ("lock", a_folder, "run"),
    ("analysis.json", a_folder, "analyze"),
    (f"{ATTEMPTS}/1/status.json", deep, "status"),
    (f"{ATTEMPTS}/1/status.json", a_folder, "status"),
    (f"{ATTEMPTS}/1", a_file, "status"),
    (ATTEMPTS, a_file, "status"),
    ("trials/*/states.jsonl", unknown_state, "run"),
)


@pytest.mark.parametrize(("name", "damage", "command"), DAMAGE, ids=lambda one: getattr(one, "__name__", str(one)))
def test_damage_is_told_in_one_sentence_with_the_file_and_what_to_do(
    good: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    damage: Callable[[Path], None],
    command: str,
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(good, folder)
    (min((folder / "trials").iterdir()) / "states.jsonl").touch()
    path = min(folder.glob(name), default=folder / name)
    damage(path)
    assert main([command, str(folder)]) in {2, 6}
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("error: ")
    assert str(path) in said[0]
    assert said[1].startswith("hint: ")
    assert len(said) == 2


def test_a_folder_whose_name_is_no_number_is_no_attempt(good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    shutil.copytree(good, folder)
    (min(folder.glob(ATTEMPTS)) / "²").mkdir()
    assert [row.attempts for row in evaluation.status(ResultsFolder(folder))] == [1, 1]


def test_a_damaged_file_that_has_a_digest_costs_its_trial_and_nothing_else(good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    shutil.copytree(good, folder)
    for name in ("verdict.json", "started.json", "trial.json"):
        deep(min(path for path in folder.rglob(name)))
        assert main(["status", str(folder)]) == 0
        assert {row.state for row in evaluation.analyze(ResultsFolder(folder))[TrialRow]} == {"altered", "finished"}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_run_whose_folder_is_moved_stops_and_writes_nothing_at_the_old_place(tmp_path: Path, replaced: bool) -> None:
    study = rehearsal(tmp_path / "r")
    moved: list[Path] = []

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        ended = len(list((tmp_path / "r").glob(f"{ATTEMPTS}/1/status.json")))
        if argv[1] != "--version" and not moved and ended == 2:
            moved.append((tmp_path / "r").rename(tmp_path / "elsewhere"))
            if replaced:
                (tmp_path / "r").mkdir()
        return fake_program(argv, stdin)

    study.provider.programs = {PROGRAM: program}
    with study.folder.lock(), pytest.raises(StorageFailed, match=r"/r was moved or removed while") as caught:
        asyncio.run(run_study(study.folder, study.world))
    assert "to resume" in caught.value.hint
    assert not list((tmp_path / "r").rglob("*"))
    assert not study.provider.existing
    again = rehearsal(tmp_path / "elsewhere")
    assert asyncio.run(run_study(again.folder, again.world)).finished == 24


def test_a_definition_that_the_plan_does_not_have_is_told_where_no_digest_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = imported(tmp_path)
    path = min(folder.glob("trials/*/trial.json"))
    name = json.loads(path.read_text())["benchmark"]["name"]
    path.write_text(path.read_text().replace(f'"{name}"', '"redis-other"'))
    assert main(["status", str(folder)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path} belongs to trial ")


def test_a_value_in_another_unit_is_told_where_no_digest_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = imported(tmp_path)
    for path in folder.glob("trials/*/attempts/1/measurements.jsonl"):
        path.write_text(path.read_text().replace('"unit":"share"', '"unit":"sh,re"', 1))
        if '"sh,re"' in path.read_text():
            break
    assert main(["analyze", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "has values in sh,re and in share" in said
    assert "nephoscope verify" in said


def test_a_configuration_without_its_name_is_told_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = imported(tmp_path)
    path = min(folder.glob("trials/*/trial.json"))
    trial = json.loads(path.read_text())
    trial["configuration"]["na"] = trial["configuration"].pop("name")
    path.write_text(json.dumps(trial))
    assert main(["status", str(folder)]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert "configuration: there is no name" in said


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("database", None),
        ("database", []),
        ("database.copies", {}),
        ("database.copies", True),
        ("database.settings", {"shared_buffers": 1}),
        ("database_machine", "x"),
        ("database_machine.mount_options", True),
        ("database_machine.volumes", "x"),
        ("database_machine.volumes", [["kind"]]),
        ("database_machine.type", {}),
        ("database_machine.count", "x"),
        ("database.connections", "x"),
        ("labels", None),
        ("region", ["x"]),
    ],
)
def test_a_configuration_of_other_types_is_damage(tmp_path: Path, where: str, wrong: object) -> None:
    folder = imported(tmp_path)
    path = folder / "plan.json"
    plan = json.loads(path.read_text())
    *above, last = where.split(".")
    for trial in plan["trials"]:
        table = trial["intent"]["configuration"]
        for key in above:
            table = table[key]
        table[last] = wrong
    path.write_text(json.dumps(plan))
    with pytest.raises(DamagedFile, match=f"configuration: {last!r} is not what a study has there"):
        evaluation.analyze(ResultsFolder(folder))


def test_what_a_study_may_have_is_no_damage_and_its_numbers_are_numbers() -> None:
    """A new table, list or number of a configuration has to be named where stored ones are read."""
    known = Configuration.model_json_schema(by_alias=False)
    examples = {"object": {"count": 1}, "array": [], "string": "x", "number": 0.5, "integer": 1, "boolean": True}
    reader, seen = TypeAdapter(Named), 0
    for part in (known, *known["$defs"].values()):
        for name, field in part["properties"].items():
            kinds = [known["$defs"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
                     for one in field.get("anyOf", [field])]  # fmt: skip
            types = {str(one["type"]) for one in kinds if "type" in one} - {"null"}
            for kind in types:
                chosen = name in {"labels", "settings", "start_flags", "host_keys"}
                table = {"name": "a", name: {"x": "y"} if chosen else "a" if name == "name" else examples[kind]}
                assert reader.validate_python(table) == table, name
            if types and types <= {"number", "integer"}:
                seen += 1
                with pytest.raises(ValidationError, match=name):
                    reader.validate_python({"name": "a", name: "x"})
    assert seen > 20


@pytest.mark.parametrize("lines", [False, True])
def test_a_file_full_of_errors_is_refused_at_its_first(tmp_path: Path, lines: bool) -> None:
    path = tmp_path / "file"
    if lines:
        path.write_text("0\n" * 100_000)
    else:
        path.write_text(f'{{"schema": "nephoscope/plan/1", "trials": [{"0," * 100_000}0]}}')
    with pytest.raises(DamagedFile) as refused:
        files.read_lines(path, Measurement) if lines else files.read(path, Plan)
    cause = refused.value.__cause__
    assert isinstance(cause, ValidationError)
    assert cause.error_count() < 20  # a kilobyte each
