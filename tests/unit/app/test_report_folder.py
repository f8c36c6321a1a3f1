"""The folder of a report is what people publish: it holds what `report` wrote, and nothing of anybody else."""

import os
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.stages import evaluation
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    results = made_results(tmp_path / "r", {"slow": [100.0], "fast": [200.0]})
    assert evaluation.report(results).set_aside == ()
    return results


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_lies_in_the_reports_folder_is_moved_beside_and_named(
    folder: ResultsFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, secret = names(folder.report_dir), tmp_path / "secret"
    secret.write_text("mine")
    (folder.report_dir / "evil.html").write_text(EVIL)
    (folder.report_dir / ".htaccess").write_text("x")
    (folder.report_dir / "a\nb").write_text("x")
    (folder.report_dir / "notes").mkdir()
    (folder.report_dir / "notes" / "mine.txt").write_text("x")
    (folder.report_dir / "link.html").symlink_to(secret)
    os.mkfifo(folder.report_dir / "fifo")
    (folder.report_dir / "index.html").unlink()
    (folder.report_dir / "index.html").symlink_to(secret)
    assert main(["report", str(folder.path)]) == 0
    assert names(folder.report_dir) == ours
    assert not (folder.report_dir / "index.html").is_symlink()
    aside = folder.path / "report.set-aside"
    others = {"evil.html", ".htaccess", "a\nb", "notes", "link.html", "fifo", "index.html"}
    assert names(aside) == others
    assert (aside / "evil.html").read_text() == EVIL
    assert secret.read_text() == "mine"
    told = capsys.readouterr().err
    assert "held what this report did not write" in told
    assert str(aside / "evil.html") in told or "4 more" in told
    assert main(["report", str(folder.path)]) == 0
    assert capsys.readouterr().err == ""


def test_nothing_that_was_set_aside_is_overwritten(folder: ResultsFolder) -> None:
    for text in ("first", "second", "third"):
        (folder.report_dir / "evil.html").write_text(text)
        evaluation.report(folder)
    aside = folder.path / "report.set-aside"
    assert [(aside / f"evil.html{end}").read_text() for end in ("", ".2", ".3")] == ["first", "second", "third"]


def test_a_page_of_an_earlier_report_is_not_published_with_a_later_one(folder: ResultsFolder) -> None:
    for name in ("report.pdf", "gone.csv"):
        (folder.report_dir / name).write_text("of old data")
    (folder.report_dir / "changes.html").write_text("of old data")
    moved = evaluation.report(folder).set_aside
    assert {path.name for path in moved} == {"report.pdf", "gone.csv"}


def test_what_a_kill_left_of_a_write_is_removed(folder: ResultsFolder) -> None:
    (folder.report_dir / ".index.html.4711.tmp").write_text("half")
    assert evaluation.report(folder).set_aside == ()
    assert ".index.html.4711.tmp" not in names(folder.report_dir)


def test_a_folder_with_the_name_of_a_page_is_moved(folder: ResultsFolder) -> None:
    for name in ("changes.html", "missing-parts.json", "evidence.html"):
        (folder.report_dir / name).unlink(missing_ok=True)
        (folder.report_dir / name).mkdir()
    moved = evaluation.report(folder).set_aside
    assert [path.name for path in moved] == ["changes.html", "evidence.html", "missing-parts.json"]
    assert (folder.report_dir / "evidence.html").is_file()
