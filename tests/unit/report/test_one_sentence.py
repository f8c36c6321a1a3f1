"""An answer is one sentence, whoever prints it: both pages, `run`, `analyze`, and `status` once it is analysed."""

import html
import tarfile
from pathlib import Path

import pytest

from nephoscope.analysis.answers import answered, questions_of
from nephoscope.analysis.lookup import Lookup
from nephoscope.app.cli import main
from nephoscope.app.stages import evaluation
from nephoscope.insights.answers import Writer
from nephoscope.insights.names import names_of
from nephoscope.store.folder import ResultsFolder

STORED = Path(__file__).parents[2] / "data" / "results-0.1"


@pytest.mark.parametrize("name", ["rehearsed", "imported"])
def test_every_page_and_command_gives_an_answer_in_the_same_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephoscope.app.commands.study.is_watched", lambda: True)
    with tarfile.open(STORED / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / name
    printed = []
    for command in ("run", "analyze", "status") if name == "rehearsed" else ("analyze", "status"):
        assert main([command, str(folder)]) == 0
        said = capsys.readouterr()
        printed.append(" ".join((said.err if command == "run" else said.out).split()))
    assert main(["report", str(folder)]) == 0
    pages = [folder / "report" / page for page in ("index.html", "evidence.html")]
    printed += [html.unescape(page.read_text()) for page in pages]
    lookup = Lookup(evaluation.analysed(ResultsFolder(folder)))
    answers = [found for each in questions_of(lookup, lookup.study.benchmarks) if (found := answered(each))]
    assert answers
    for answer in answers:
        sentence = Writer(answer, names_of(lookup)).sentence
        assert [sentence in text for text in printed] == [True] * len(printed), sentence
    if name == "rehearsed":
        assert "Simulated, not measured: - " in printed[0]
    (folder / "trials").rename(folder / "elsewhere")
    assert evaluation.stored_answers(ResultsFolder(folder)) == []
