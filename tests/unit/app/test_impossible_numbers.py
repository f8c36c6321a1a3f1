"""Any number that JSON can hold, in any stored file, leads to an answer or to a named damage; never to a traceback."""

import copy
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nephoscope.app.cli import main
from nephoscope.app.stages import evaluation, imports
from nephoscope.benchmarks.fake import Fake
from nephoscope.model.errors import InputError, NephoscopeError, OutputUnreadable
from nephoscope.model.quantities import may_be
from nephoscope.model.records import Measurement
from nephoscope.model.rows import Comparison
from nephoscope.run.derive import derive
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from tests.support.inspector_data import write_sqlite
from tests.support.made_results import made_results
from tests.support.stored_anew import stored_anew

ODD = (
    *("1e308", "-1e308", "1e200", "1e30", "-1", "0", "-0.0", "1e-320", "-5e-324", "1e999", "NaN", "-Infinity"),
    *("9" * 400, "-" + "9" * 5_000, str(2**63), "[" * 2_000 + "]" * 2_000),
)
DERIVED = ("analysis.json", "index.json", "verified.json")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    folder = tmp_path_factory.mktemp("good") / "r"
    return made_results(folder, {"slow": [100.0, 101.0, 103.0], "fast": [200.0, 201.0, 203.0]})


def numbers(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the numbers of a document are."""
    if isinstance(content, dict | list):
        for key, part in content.items() if isinstance(content, dict) else enumerate(content):
            yield from numbers(part, (*path, key))
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield path


def with_number(line: str, path: tuple[str | int, ...], number: str) -> str:
    content = copy.deepcopy(json.loads(line))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "number"
    return json.dumps(content).replace('"number"', number)


def places(folder: ResultsFolder) -> Iterator[tuple[Path, int, tuple[str | int, ...]]]:
    """File, line and path of every number that is stored of one trial, and of the plan's first."""
    attempt = next(iter(folder.every_attempt()))
    for file in (folder.plan_path, *sorted(attempt.folder.parents[1].rglob("*.json*"))):
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        for number, line in enumerate(lines):
            for path in numbers(json.loads(line)):
                if not (path and path[0] == "trials" and path[1] != 0):
                    yield file, number, path


# Few, as each is a whole analysis.
@settings(max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_number_in_any_stored_file_leads_to_an_answer_or_to_a_named_damage(
    results: ResultsFolder, tmp_path: Path, data: st.DataObject
) -> None:
    folder = ResultsFolder(tmp_path / "r")
    shutil.rmtree(folder.path, ignore_errors=True)
    shutil.copytree(results.path, folder.path)
    file, number, path = data.draw(st.sampled_from(list(places(folder))))
    odd = data.draw(st.sampled_from(ODD) | st.floats().map(json.dumps) | st.integers().map(str))
    text = file.read_text()
    lines = text.splitlines() if file.suffix == ".jsonl" else [text]
    lines[number] = with_number(lines[number], path, odd)
    file.write_text("\n".join(lines) + "\n")
    attempt = next(iter(results.every_attempt()))
    if attempt.folder.name in file.parts and file.name != "status.json":
        with suppress(NephoscopeError):
            stored_anew(ResultsFolder(folder.path).trial(attempt.folder.parents[1].name).attempts()[0])
    for command in (["status"], ["analyze"]):
        assert main([*command, str(folder.path)]) in {0, 2, 4}


@pytest.mark.parametrize("odd", ["1e308", "1e200", "1e-320", "-1.5", "1e19"])
def test_a_value_that_a_metric_cannot_have_is_named_with_file_and_metric(
    results: ResultsFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: str
) -> None:
    shutil.copytree(results.path, tmp_path / "r")
    attempt = next(iter(ResultsFolder(tmp_path / "r").every_attempt()))
    file = attempt.folder / "measurements.jsonl"
    file.write_text(with_number(file.read_text(), ("value",), odd) + "\n")
    stored_anew(attempt)
    for command in ("analyze", "report"):
        assert main([command, str(tmp_path / "r")]) == 2
        told = capsys.readouterr().err
        assert "measurements.jsonl:1 is damaged: value: rate cannot be" in told
        assert repr(float(odd)) in told


@pytest.mark.parametrize("times", ["duration_s = 1e12", "ramp_s = 9223372036854775807"])
def test_a_study_that_never_ends_is_refused_by_its_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: str
) -> None:
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "s"\nreplicates = 1\n[[configurations]]\nname = "a"\ndatabase = { connections = 1 }\n'
        f'[[benchmarks]]\nuses = "point-select"\nparameters = {{ {times} }}\n'
    )
    assert main(["plan", str(study)]) == InputError.exit_code
    assert "point-select" in capsys.readouterr().err


EXTREMES = st.sampled_from([1e-18, 1e18, 0.0, 1.0, 100.0, 101.0]) | st.floats(1e-18, 1e18)


@settings(max_examples=settings().max_examples // 4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(EXTREMES, min_size=1, max_size=5), min_size=1, max_size=4))
def test_values_that_a_metric_can_have_are_analysed_however_far_apart(
    tmp_path: Path, values: list[list[float]]
) -> None:
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    folder = made_results(tmp_path / "r", {f"c{number}": many for number, many in enumerate(values)})
    evaluation.analyze(folder)


def test_an_interval_ends_where_two_values_cannot_differ_further(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "r", {"a": [1e-18, 1e18, 1.0], "b": [1e18, 1e-18, 1.0]})
    rows = evaluation.analyze(folder)[Comparison]
    assert rows
    assert all(row.high is None or row.high <= 1.001e36 for row in rows)
    assert evaluation.report(folder).path.exists()


@given(st.floats(), st.sampled_from(["s", "1/s", "B/s", "1", "°C"]))
def test_a_measurement_is_finite_and_its_square_too(value: float, unit: str) -> None:
    if may_be(value, unit):
        kept = Measurement(metric="m", unit=unit, value=value).value
        assert kept == 0 or 0 < kept * kept < float("inf")
    else:
        with pytest.raises(ValueError, match=r"m cannot be|finite number"):
            Measurement(metric="m", unit=unit, value=value)


def test_a_tool_that_prints_what_cannot_be_is_unreadable(
    results: ResultsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*_: object) -> list[Measurement]:
        return [Measurement(metric="rate", unit="1/s", value=1e200)]

    monkeypatch.setattr(Fake, "parse", printed)
    attempt: Attempt = next(iter(results.every_attempt()))
    with pytest.raises(OutputUnreadable, match=r"fake printed what cannot be: rate cannot be 1e\+200 1/s"):
        derive(attempt, results.plan().trials[0].intent, Fake())


@pytest.mark.parametrize("change", ["server set vcpus = 'many'", f"server set memory_amount = {2**62}"])
def test_an_import_names_a_value_that_cannot_be(tmp_path: Path, change: str) -> None:
    path = write_sqlite(tmp_path / "sc.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"update {change}")
    with pytest.raises(InputError, match="holds a value that cannot be"):
        imports.import_results("spare-cores", path, ResultsFolder(tmp_path / "out"))
