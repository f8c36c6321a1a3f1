"""The report's files: index.html and the rows behind it as CSV and Parquet. Pure; `store` writes them."""

from nephoscope.analysis.tables import to_csv, to_parquet
from nephoscope.report.page import render_html
from nephoscope.results import AnalysedStudy, Comparison, MeasurementRow, Statistic

PAGE = "index.html"


def report_files(study: AnalysedStudy) -> dict[str, bytes]:
    """File name -> content; equal studies, equal bytes."""
    return {
        PAGE: render_html(study).encode(),
        "measurements.csv": to_csv(study.measurements, MeasurementRow),
        "measurements.parquet": to_parquet(study.measurements, MeasurementRow),
        "statistics.csv": to_csv(study.statistics, Statistic),
        "statistics.parquet": to_parquet(study.statistics, Statistic),
        "comparisons.csv": to_csv(study.comparisons, Comparison),
        "comparisons.parquet": to_parquet(study.comparisons, Comparison),
    }
