"""Somebody's report, one of its configurations measured again, and both compared: all that is needed is bundle.zip."""

import shutil
import tomllib
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.analysis import published as published_study
from nephoscope.app.cli import main
from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import load, plan
from nephoscope.model.errors import DamagedFile, InputError
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results

STEADY = [1000.0, 1001.0, 999.0, 1002.0, 998.0, 1000.5]
AUTHORS = """
[report]
authors = ["Somebody else"]
headline = { benchmark = "fake" }

[[contrasts]]
name = "why"
left = ["a"]
right = ["b"]
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with its report."""
    folder = made_results(tmp_path_factory.mktemp("theirs"), {"a": STEADY, "b": [1.2 * one for one in STEADY]})
    (folder.path / "study.toml").write_text(folder.study_text() + AUTHORS)
    evaluation.report(folder)
    return folder.path


def bundle_of(published: Path) -> Path:
    return published / "report" / "bundle.zip"


@pytest.mark.parametrize("where", [lambda path: path, lambda path: path / "report", bundle_of])
def test_a_report_is_compared_with_as_its_results_folder_is(
    where: Callable[[Path], Path], published: Path, tmp_path: Path
) -> None:
    mine = made_results(tmp_path / "mine", {"b": [1.1 * one for one in STEADY]})
    expected = evaluation.compare(published, mine, None)
    assert [row.configuration for row in expected.rows] == ["b"]
    assert evaluation.compare(where(published), mine, None) == expected


def test_the_study_of_one_row_plans_its_trials_as_they_were(published: Path, tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    assert main(["init", "--reproduce", str(bundle_of(published)), "b", str(file)]) == 0
    text = file.read_text()
    written = tomllib.loads(text)
    assert [one["name"] for one in written["configurations"]] == ["b"]
    assert {"report", "contrasts"} & written.keys() == set()
    theirs = [row.intent for row in ResultsFolder(published).plan().trials if row.intent.configuration_name == "b"]
    mine = [row.intent for row in plan(load(text, "again.toml")).trials]
    assert [(one.benchmark, one.configuration) for one in mine] == [
        (one.benchmark, one.configuration) for one in theirs
    ]


def test_a_study_that_ran_smaller_is_repeated_as_small(tmp_path: Path) -> None:
    text = 'name = "small"\nreplicates = 1\n[[configurations]]\nname = "here"\n[[benchmarks]]\nuses = "stress-ng"\n'
    study = load(text, "small.toml")
    folder = made_results(tmp_path / "small", {"here": [1.0]}, uses="stress-ng")
    folder.write_plan(text, plan(study, scale=0.5))
    file = tmp_path / "again.toml"
    assert main(["init", "--reproduce", str(folder.path), "here", str(file)]) == 0
    (entry,) = tomllib.loads(file.read_text())["benchmarks"]
    assert entry["parameters"]["scale"] == 0.5


def test_a_name_that_is_not_there_names_the_nearest(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--reproduce", str(published), "bb", "x.toml"]) == 2
    assert "has no configuration 'bb'" in capsys.readouterr().err


def without(name: str, archive: Path, copy: Path, instead: bytes | None = None) -> Path:
    """A copy of an archive without the files of this name, or with another content of them."""
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            if not entry.filename.endswith(f"/{name}"):
                target.writestr(entry, source.read(entry))
            elif instead is not None:
                target.writestr(entry.filename, instead)
    return copy


def test_what_would_unpack_to_too_much_is_not_unpacked(published: Path) -> None:
    with pytest.raises(DamagedFile, match="would unpack to more than 1,000 bytes"):
        published_study.read(bundle_of(published), most_bytes=1000)


def test_files_that_together_would_unpack_to_too_much_are_not_unpacked(published: Path) -> None:
    with zipfile.ZipFile(bundle_of(published)) as archive:
        sizes = [entry.file_size for entry in archive.infolist() if entry.filename.endswith(("s.csv", "analysis.json"))]
    with pytest.raises(DamagedFile, match="would unpack to more than"):
        published_study.read(bundle_of(published), most_bytes=max(sizes))


@pytest.mark.parametrize("packed_by", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_file_that_is_longer_than_its_archive_says_takes_no_memory(
    published: Path, tmp_path: Path, packed_by: int
) -> None:
    copy, whole_bytes = tmp_path / "bundle.zip", 48 << 20
    with zipfile.ZipFile(bundle_of(published)) as source, zipfile.ZipFile(copy, "w", packed_by) as target:
        for entry in source.infolist():
            is_long = entry.filename.endswith("/costs.csv")
            target.writestr(entry.filename, bytes(whole_bytes) if is_long else source.read(entry))
    copy.write_bytes(copy.read_bytes().replace(whole_bytes.to_bytes(4, "little"), (10).to_bytes(4, "little")))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"costs\.csv|not packed by deflate"):
        published_study.read(copy)
    assert tracemalloc.get_traced_memory()[1] < whole_bytes
    tracemalloc.stop()


def cut_off(archive: Path, copy: Path) -> Path:
    copy.write_bytes(archive.read_bytes()[:-100])
    return copy


BROKEN: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "no analysis": (lambda theirs, copy: without("analysis.json", theirs, copy), "an earlier nephoscope wrote it"),
    "another document": (lambda theirs, copy: without("analysis.json", theirs, copy, b"{}"), "analysis.json"),
    "newer": (
        lambda theirs, copy: without("analysis.json", theirs, copy, b'{"schema": "nephoscope/analysis/9"}'),
        "newer",
    ),
    "another table": (
        lambda theirs, copy: without("trials.csv", theirs, copy, b"x,y\n1,2\n"),
        "the table trials of this report is of another version",
    ),
    "cut off": (cut_off, "is not the bundle.zip of a report"),
    "no archive": (lambda theirs, copy: Path(shutil.copy(theirs.parent / "index.html", copy)), "is not the bundle.zip"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bundle_that_cannot_be_read_is_an_error_with_its_name(
    kind: str, published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, why = BROKEN[kind]
    copy = spoil(bundle_of(published), tmp_path / "bundle.zip")
    assert main(["init", "--reproduce", str(copy), "b", str(tmp_path / "again.toml")]) != 0
    said = capsys.readouterr().err
    assert why in said
    assert "Traceback" not in said
    assert not (tmp_path / "again.toml").exists()
