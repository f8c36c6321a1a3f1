"""Statistics and sentences -> HTML, CSV, Parquet; computes nothing."""

from nephoscope.report.files import report_files
from nephoscope.report.page import render_html

__all__ = ["render_html", "report_files"]
