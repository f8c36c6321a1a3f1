"""`nephoscope place`: a table, or one sentence why there is none, without a network."""

import socket
from typing import Any

import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from nephoscope.app.stages import evaluation
from nephoscope.store.folder import ResultsFolder
from tests.unit.analysis.test_standing import KNOWN, analysed


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no network here")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def place(monkeypatch: pytest.MonkeyPatch, version: str) -> str:
    study = analysed({"like-c5": version, "half": version})
    monkeypatch.setattr(ResultsFolder, "existing", lambda path: path)
    monkeypatch.setattr(evaluation, "analysed", lambda _: study)
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["place", "results"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_prints_where_machines_stand_with_source_and_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    said = place(monkeypatch, KNOWN)
    assert "like-c5" in said
    assert "c5.2xlarge" in said
    assert "Among 1,871 machine types" in said
    assert "CC BY-SA 4.0" in said


def test_it_says_in_one_line_why_nothing_can_be_compared_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    said = place(monkeypatch, "stress-ng, version 0.15.06")
    assert said.startswith("Nothing can be placed: the public results are of other versions of stress-ng (0.17.08 and")
    assert said.endswith("put it first on PATH and run the study again.\n")
    assert said.count("\n") == 1
