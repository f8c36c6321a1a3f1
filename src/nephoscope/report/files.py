"""`write_report`: index.html and the rows behind it as CSV and Parquet."""

from pathlib import Path

from nephoscope.analysis.results import AnalysedStudy, Comparison, MeasurementRow, Statistic
from nephoscope.analysis.tables import to_csv, to_parquet
from nephoscope.report.page import render_html


def write_report(study: AnalysedStudy, folder: Path) -> None:
    """Writes the report into `folder`, which is made; what stands there under the same names is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(render_html(study), encoding="utf-8", newline="\n")
    tables = {
        "measurements": (to_csv(study.measurements, MeasurementRow), to_parquet(study.measurements, MeasurementRow)),
        "statistics": (to_csv(study.statistics, Statistic), to_parquet(study.statistics, Statistic)),
        "comparisons": (to_csv(study.comparisons, Comparison), to_parquet(study.comparisons, Comparison)),
    }
    for name, (csv, parquet) in tables.items():
        (folder / f"{name}.csv").write_bytes(csv)
        (folder / f"{name}.parquet").write_bytes(parquet)
