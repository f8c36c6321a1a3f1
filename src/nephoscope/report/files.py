"""The report's files: index.html, evidence.html and their data as CSV and Parquet. Pure; `store` writes them."""

from collections.abc import Mapping

from nephoscope.analysis.tables import TABLES as STORED
from nephoscope.analysis.tables import to_csv_and_parquet
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.frozen import Frozen
from nephoscope.report.bundle_files import BUNDLE, bundle
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Link

TABLES: Mapping[str, type[Frozen]] = {name: kind for name, kind in STORED.items() if name != "trials"}
"""The data behind the pages, by file name."""


CHANGES = "changes.html"
"""The page that compares a study with an earlier one."""


def report_files(study: AnalysedStudy, *, earlier: str | None = None, mark: str = "") -> dict[str, bytes]:
    """File name -> content; equal studies give equal bytes.

    Args:
        study: what the report is about.
        earlier: name of the study with which `CHANGES` compares it; None: there is no such page.
        mark: what every figure says before its subtitle, such as that its data is simulated.
    """
    tables = {name: to_csv_and_parquet(getattr(study, name), kind) for name, kind in STORED.items()}
    files = {
        str(page): html.encode()
        for page, html in render_pages(study, changes=Link(earlier, CHANGES) if earlier else None, mark=mark).items()
    }
    for name in TABLES:
        files[f"{name}.csv"], files[f"{name}.parquet"] = tables[name]
    files[BUNDLE] = bundle(study, {name: csv for name, (csv, _) in tables.items()})
    return files
