"""The author's logo: a picture of the results folder at the head of the report, and no other file."""

import base64
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.model.errors import DamagedFile, InputError
from nephoscope.report.author import MAX_BYTES
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"><script>alert(1)</script></svg>'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    return made_results(tmp_path_factory.mktemp("logo") / "r", {"slow": [100.0], "fast": [200.0]})


@pytest.fixture
def folder(made: ResultsFolder) -> ResultsFolder:
    for file in made.path.glob("logo*"):
        file.unlink()
    return made


def with_logo(folder: ResultsFolder, name: str) -> ResultsFolder:
    study = folder.path / "study.toml"
    before = study.read_text().split("\n[report]")[0]
    study.write_text(f'{before}\n[report]\norganisation = "A & B"\nlogo = "{name}"\n')
    return folder


@pytest.mark.parametrize(("name", "content", "kind"), [("logo.svg", SVG, "svg+xml"), ("logo.png", PNG, "png")])
def test_it_is_part_of_the_page(folder: ResultsFolder, name: str, content: bytes, kind: str) -> None:
    (folder.path / name).write_bytes(content)
    page = evaluation.report(with_logo(folder, name)).path.read_text(encoding="utf-8")
    address = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
    assert f'<img class="logo" src="{address}" alt="A &amp; B">' in page
    assert "<script>alert(1)" not in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "which is not in"),
        (b"root:x:0:0", "does not begin as a file of the type image/png does"),
        (PNG + bytes(MAX_BYTES), "bytes, but every page carries it"),
    ],
)
def test_what_is_no_picture_fails_the_report_and_says_why(
    folder: ResultsFolder, content: bytes | None, words: str
) -> None:
    if content is not None:
        (folder.path / "logo.png").write_bytes(content)
    with pytest.raises(InputError, match=words):
        evaluation.report(with_logo(folder, "logo.png"))


def test_it_leads_to_no_file_outside_of_the_folder(folder: ResultsFolder, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    (folder.path / "logo.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DamagedFile, match="link"):
        evaluation.report(with_logo(folder, "logo.png"))
    with pytest.raises(InputError, match="logo"):
        evaluation.report(with_logo(folder, "../secret.png"))
