"""A report on disk, for tests that open it."""

from pathlib import Path

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.report.files import report_files


def write_report(study: AnalysedStudy, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in report_files(study).items():
        (folder / name).write_bytes(content)
