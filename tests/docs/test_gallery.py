"""The gallery: only reports whose answers follow, and no two definitions in one table."""

import io
import zipfile
from pathlib import Path

import pytest
from website import gallery
from website.examples import laptop

from nephoscope.analysis.published import BUNDLE
from nephoscope.model.errors import DamagedFile

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def bundle() -> bytes:
    """That of the stored study of a laptop."""
    return laptop()[BUNDLE]


def entry(folder: Path, content: bytes, said: str = 'by = "Ada <Lovelace>"\n') -> Path:
    folder.mkdir()
    (folder / BUNDLE).write_bytes(content)
    (folder / gallery.ENTRY).write_text(said, encoding="utf-8")
    return folder


def rewritten(bundle: bytes, name: str, old: str, new: str) -> bytes:
    """The bundle with one text of one file replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for one in before.infolist():
            content = before.read(one)
            if one.filename.endswith(f"/{name}"):
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            after.writestr(one, content)
    return out.getvalue()


def test_two_studies_of_one_definition_share_a_table_and_another_definition_does_not(
    tmp_path: Path, bundle: bytes
) -> None:
    fewer_rows = rewritten(bundle, "analysis.json", '"rows": 100000', '"rows": 50000')
    entries = [entry(tmp_path / "a", bundle), entry(tmp_path / "b", bundle), entry(tmp_path / "c", fewer_rows)]
    gallery.main(tmp_path / "gallery.html", *entries)
    page = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    sections = [part for part in page.split("<section")[1:] if "Point selects" in part]
    assert sorted(part.count("<tr data-") for part in sections) == [2, 4]
    assert "Ada &lt;Lovelace&gt;" in page
    assert "<Lovelace>" not in page


def test_the_rows_of_a_table_are_those_of_the_report_best_first(tmp_path: Path, bundle: bytes) -> None:
    gallery.main(tmp_path / "gallery.html", entry(tmp_path / "a", bundle))
    page = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    (part,) = [part for part in page.split("<section")[1:] if "Point selects" in part]
    assert part.index("local-all") < part.index("local-1cpu")


def test_an_entry_whose_answers_do_not_follow_is_refused(tmp_path: Path, bundle: bytes) -> None:
    forged = rewritten(bundle, "comparisons.csv", "better", "worse")
    with pytest.raises(SystemExit, match=r"is not taken:\ncomparisons, row"):
        gallery.main(tmp_path / "gallery.html", entry(tmp_path / "a", forged))


def test_simulated_numbers_are_refused(tmp_path: Path, bundle: bytes) -> None:
    simulated = rewritten(bundle, "analysis.json", '"simulated": false', '"simulated": true')
    with pytest.raises(SystemExit, match="its numbers are simulated"):
        gallery.main(tmp_path / "gallery.html", entry(tmp_path / "a", simulated))


def test_a_folder_without_a_bundle_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(SystemExit, match=r"a has no bundle\.zip"):
        gallery.main(tmp_path / "gallery.html", tmp_path / "a")


@pytest.mark.parametrize(
    "said",
    ["", "by = 3", "by = ''", "title = {}\nby = 'Ada'", "by = 'Ada", "by = 'Ada'\nlink = 'https://example.com'"],
)
def test_an_entry_that_does_not_say_who_measured_is_named(tmp_path: Path, bundle: bytes, said: str) -> None:
    with pytest.raises(SystemExit, match=r"a/entry\.toml: .*it needs `by"):
        gallery.main(tmp_path / "gallery.html", entry(tmp_path / "a", bundle, said))


def test_what_nobody_can_see_in_an_entry_is_written_out(tmp_path: Path, bundle: bytes) -> None:
    gallery.main(tmp_path / "gallery.html", entry(tmp_path / "a", bundle, 'by = "Ada\\u202Eecalevol"\n'))
    page = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    assert "\u202e" not in page
    assert r"Ada\u202eecalevol" in page


def test_a_bundle_with_two_files_of_one_name_is_refused(tmp_path: Path, bundle: bytes) -> None:
    file = tmp_path / "bundle.zip"
    file.write_bytes(bundle)
    with zipfile.ZipFile(file, "a") as archive:
        name = next(one for one in archive.namelist() if one.endswith("/best.csv"))
        archive.writestr("z/best.csv", archive.read(name))
    with pytest.raises(DamagedFile, match=r"two files of one name: laptop/best\.csv, z/best\.csv"):
        gallery.main(tmp_path / "gallery.html", entry(tmp_path / "a", file.read_bytes()))
