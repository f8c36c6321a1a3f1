"""Texts from results folders and imports are plain wherever they are printed, and names follow the rules of a study."""

import hashlib
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nephoscope.app.cli import main
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import DamagedFile
from nephoscope.model.text import MOST, as_written, hidden, inert, line, visible
from nephoscope.store import files
from tests.support.foreign_text import AFTER, BEFORE, poison, problems

pytestmark = pytest.mark.whole

STORED = Path(__file__).parents[2] / "data" / "results-0.1"
HOSTILE = f"{BEFORE}x{AFTER}"


def unpack(name: str, folder: Path) -> None:
    """A stored folder of an earlier state of this version."""
    with tarfile.open(STORED / f"{name}.tar.xz") as archive:
        archive.extractall(folder.parent / "unpacked", filter="data")
    (folder.parent / "unpacked" / name).rename(folder)


def seal(folder: Path) -> None:
    """Digests that fit again, as whoever changes files of a folder would store them."""
    for status in folder.rglob("attempts/*/status.json"):
        document = json.loads(status.read_text())
        for name in document["files"]:
            path = status.parent / name
            path = path if path.exists() else status.parents[2] / name
            document["files"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
        status.write_text(json.dumps(document))


def outputs(folder: Path) -> dict[str, str]:
    """Every text that `report` wrote, those of the bundle too."""
    there = {path.name: path.read_bytes() for path in (folder / "report").iterdir()}
    with zipfile.ZipFile(folder / "report" / "bundle.zip") as archive:
        there |= {f"bundle/{Path(name).name}": archive.read(name) for name in archive.namelist()}
    return {name: content.decode() for name, content in there.items() if name.endswith((".html", ".csv", ".json"))}


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[str]]:
    """The exit code, and what is wrong with what a command printed."""
    capsys.readouterr()
    code = main([str(one) for one in arguments])
    said = capsys.readouterr()
    kind = ".json" if "--json" in arguments or "json" in arguments else ".csv" if "csv" in arguments else ""
    return code, [*problems(f"stdout{kind}", said.out), *problems("stderr", said.err)]


@pytest.mark.parametrize("name", ["imported", "rehearsed"])
def test_no_text_of_a_foreign_folder_is_more_than_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder, ours = tmp_path / "foreign", tmp_path / "ours"
    markdown, page = tmp_path / "summary.md", tmp_path / "changes.html"
    for copy in (folder, ours):
        unpack(name, copy)
    assert len(poison(folder)) > 10
    commands: list[list[str | Path]] = [
        ["report", folder],
        ["status", folder],
        ["status", folder, "--json"],
        ["compare", ours, folder, "--markdown", markdown, "--html", page],
        ["compare", folder, ours, "--markdown", "-"],
        ["query", folder, "select * from trials", "--format", "csv"],
        ["query", folder, "select * from statistics", "--format", "json"],
        ["query", folder, "select * from trials"],
        ["verify", folder],
    ]
    for arguments in commands:
        code, wrong = run(capsys, *arguments)
        altered = 8 if arguments[0] == "verify" else 0  # its files are not those that the trials wrote
        assert (code, wrong) == (altered, []), arguments
    written = {**outputs(folder), "summary.md": markdown.read_text(), page.name: page.read_text()}
    assert [wrong for file, text in written.items() for wrong in problems(file, text)] == []


def test_no_text_of_an_imported_file_is_more_than_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {"cloud": "aws", "machine_type": HOSTILE, "num_cpus": HOSTILE}
    row = {"test": HOSTILE, "unit": HOSTILE, "value": 1.5, "labels": labels, "run_uri": HOSTILE, "timestamp": 1e9}
    file, folder = tmp_path / "samples.json", tmp_path / "imported"
    file.write_text("".join(json.dumps({**row, "metric": f"{HOSTILE}{i}"}) + "\n" for i in range(2)))
    assert run(capsys, "import", "perfkit", file, "--out", folder) == (0, [])
    assert run(capsys, "report", folder) == (0, [])
    assert [wrong for name, text in outputs(folder).items() for wrong in problems(name, text)] == []


def study(document: dict[str, Any], name: str) -> None:
    document["study"] = name


def configuration(document: dict[str, Any], name: str) -> None:
    (document.get("trials") or [{"intent": document}])[0]["intent"]["configuration"]["name"] = name


def benchmark(document: dict[str, Any], name: str) -> None:
    if "benchmarks" in document:
        document["benchmarks"][0]["name"] = name
    else:
        (document.get("trials") or [{"intent": document}])[0]["intent"]["benchmark"]["name"] = name


def machine(document: dict[str, Any], name: str) -> None:
    document["machines"]["database"] = name


NAMES = ["", ".", "..", "../x", "a/b", "a\\b", "a\x1bb", "a\nb", "a\u202eb", "a" * 300, "*"]


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("plan.json", study),
        ("plan.json", configuration),
        ("plan.json", benchmark),
        ("source.json", benchmark),
        ("trial.json", study),
        ("trial.json", configuration),
        ("trial.json", benchmark),
        ("started.json", machine),
    ],
)
def test_a_stored_name_that_no_study_may_have_is_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, change: Callable[[dict[str, Any], str], None]
) -> None:
    folder = tmp_path / "foreign"
    unpack("imported", folder)
    path = next(iter(sorted(folder.rglob(file))))
    whole = json.loads(path.read_text())
    for name in NAMES:
        document = json.loads(json.dumps(whole))
        change(document, name)
        path.write_text(json.dumps(document))
        seal(folder)
        for arguments in (["analyze", folder], ["report", folder], ["status", folder], ["compare", folder, folder]):
            code = main([str(one) for one in arguments])
            said = capsys.readouterr().err
            assert (code, file in said) == (2, True), (arguments, name, said)
            assert not list(problems("stderr", said))


def test_an_analysis_of_such_a_name_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "foreign"
    unpack("imported", folder)
    assert run(capsys, "analyze", folder) == (0, [])
    path = folder / "analysis.json"
    whole = path.read_bytes()
    files.parsed(whole, path, AnalysedStudy)
    for name in NAMES:
        with pytest.raises(DamagedFile, match="study: "):
            files.parsed(json.dumps({**json.loads(whole), "study": name}).encode(), path, AnalysedStudy)


@given(st.text())
@example("a\U000e0100")
@example("\u05f5\U000e0100")
@example("\u3164")
def test_a_line_is_one_line_and_all_of_it_can_be_seen(text: str) -> None:
    shown = line(text)
    assert not hidden(shown)
    assert not hidden(visible(text))
    assert not {"\n", "\t", "\r"} & set(shown)
    assert len(shown) <= MOST
    assert line(shown) == shown
    shown.encode()


@given(st.text(alphabet=st.sampled_from("=+-@;' 1a\uff1d")))
def test_no_cell_is_a_formula_and_the_text_comes_back(text: str) -> None:
    text = line(text)
    cell = inert(text)
    assert as_written(cell) == text
    parts = cell.lstrip().split(";")
    assert all(part[:1] not in set("=+-@\uff1d") for part in parts) or parts == [text.lstrip()]
