"""`nephoscope place`: a table, or an error that says why there is none, without a network."""

import json
import socket
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nephoscope.app.cli import app
from nephoscope.app.stages import evaluation
from nephoscope.insights.standing import sentence
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.store.folder import ResultsFolder
from tests.unit.analysis.test_standing import KNOWN, analysed, with_memory


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no network here")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def place(monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy, *options: str) -> Result:
    monkeypatch.setattr(ResultsFolder, "existing", lambda path: path)
    monkeypatch.setattr(evaluation, "analysed", lambda _: study)
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["place", "results", *options])


def ran(version: str, **parameters: str) -> AnalysedStudy:
    return analysed({"like-c5": version, "half": version}, **parameters)


def test_it_prints_where_machines_stand_with_source_and_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    done = place(monkeypatch, ran(KNOWN))
    assert done.exit_code == 0, done.output
    said = done.stdout
    assert "like-c5" in said
    assert "c5.2xlarge" in said
    assert sentence(ran(KNOWN).standing) in said.replace("\n", " ")
    assert "Among 1,871 machine types" in said
    assert "CC BY-SA 4.0" in said


def test_memory_alone_places_a_machine_of_any_version_of_stress_ng(monkeypatch: pytest.MonkeyPatch) -> None:
    done = place(monkeypatch, with_memory(8))
    assert done.exit_code == 0, done.output
    said = " ".join((done.stdout + done.stderr).split())
    assert "n2-standard-8" in said
    assert "of 158 types of Google Cloud" in said
    assert "with membench 1.2.1 and 1.2.2, which is another program" in said
    assert "Not placed by CPU: the study has no benchmark stress-ng" in said


def test_scripts_notice_that_nothing_can_be_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    version = place(monkeypatch, ran("stress-ng, version 0.15.06")).exception
    assert isinstance(version, EnvironmentProblem)
    assert version.message.startswith("nothing can be placed: the public results are of other versions of stress-ng")
    assert version.hint.endswith("put it first on PATH and run the study again")
    method = place(monkeypatch, ran(KNOWN, method="fft")).exception
    assert isinstance(method, InputError)
    assert "ran another stressor or method" in method.message
    as_json = place(monkeypatch, ran(KNOWN, method="fft"), "--json")
    assert (json.loads(as_json.stdout)["rows"], type(as_json.exception)) == ([], InputError)
