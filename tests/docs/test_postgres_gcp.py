"""The stored extract of PostgreSQL on Google Cloud supports what the report's text says of it."""

import tarfile
from pathlib import Path

import pytest
from website.examples import POSTGRES_GCP
from website.extract import packed

from nephoscope.app.stages import evaluation, imports
from nephoscope.model.rows import ClaimRow
from nephoscope.report.author import require_complete
from nephoscope.store.folder import ResultsFolder
from tests.support.shared_data import shared


@pytest.mark.slow
def test_the_text_of_the_report_refers_to_numbers_that_are_there_and_its_claims_hold(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "results")
    with tarfile.open(POSTGRES_GCP / "data.tar.xz") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    imports.import_results("spare-cores", tmp_path / "data", folder)
    with (folder.path / "study.toml").open("a", encoding="utf-8") as study:
        study.write((POSTGRES_GCP / "report.toml").read_text(encoding="utf-8"))
    (folder.path / "claims.toml").write_bytes((POSTGRES_GCP / "claims.toml").read_bytes())
    analysed = evaluation.analyze(folder)
    assert analysed[ClaimRow]
    assert [row.claim for row in analysed[ClaimRow] if not row.holds or row.expected is None] == []
    require_complete(analysed)


@pytest.mark.slow
def test_the_extract_is_what_the_script_makes_of_the_published_data() -> None:
    assert packed(shared("inspector-postgres/data")) == (POSTGRES_GCP / "data.tar.xz").read_bytes()
