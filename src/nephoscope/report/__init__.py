"""Statistics and sentences -> HTML, CSV, Parquet; computes nothing."""

from nephoscope.report.files import write_report
from nephoscope.report.page import render_html

__all__ = ["render_html", "write_report"]
