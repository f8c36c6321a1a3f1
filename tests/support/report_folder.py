"""A report on disk, for tests that open it."""

from pathlib import Path

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.report.files import report_files
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Page


def write_report(study: AnalysedStudy, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in report_files(study).files.items():
        (folder / name).write_bytes(content)


def main_page(study: AnalysedStudy) -> str:
    """index.html."""
    return render_pages(study).html[Page.MAIN]


def evidence_page(study: AnalysedStudy) -> str:
    """evidence.html."""
    return render_pages(study).html[Page.EVIDENCE]
