"""What the texts of the published reports say is what their stored extracts of public data support."""

from pathlib import Path

import pytest
from website.examples import ROOT, published_folder
from website.extract import packed

from nephoscope.app.stages import evaluation
from nephoscope.model.rows import ClaimRow, TrialRow
from nephoscope.report.author import require_complete
from tests.support.shared_data import shared

STORED = ROOT / "docs" / "examples"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param("postgres-gcp-2026", "spare-cores", marks=pytest.mark.slow),
        ("postgresbench-2026", "postgresbench"),
    ],
)
def test_the_text_of_a_report_refers_to_numbers_that_are_there_and_its_claims_hold(
    name: str, form: str, tmp_path: Path
) -> None:
    analysed = evaluation.analyze(published_folder(STORED / name, form, tmp_path))
    assert analysed[ClaimRow]
    assert [row.claim for row in analysed[ClaimRow] if not row.holds or row.expected is None] == []
    require_complete(analysed)


def test_the_warning_that_machines_are_too_few_counts_the_runs_of_both_scales(tmp_path: Path) -> None:
    analysed = evaluation.analyze(published_folder(STORED / "postgresbench-2026", "postgresbench", tmp_path))
    (warning,) = (one for one in analysed.insights if one.rule == "shared_machines")
    assert len(warning.trials) == len(analysed[TrialRow]) == 45


@pytest.mark.slow
def test_the_extract_is_what_the_script_makes_of_the_published_data() -> None:
    stored = STORED / "postgres-gcp-2026" / "data.tar.xz"
    assert packed(shared("inspector-postgres/data")) == stored.read_bytes()
