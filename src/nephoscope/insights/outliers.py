"""Outliers: values worth a second look. They are kept."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import plural, say
from nephoscope.model.rows import Insight

NAME = "outliers"


def outliers(findings: Findings) -> list[Insight]:
    """One note per headline statistic with outliers; its trials are the outliers."""
    return [
        say(
            NAME,
            "note",
            "{metric}: {flagged:count} of {n:count} values "
            + plural(len(row.outliers), "is an outlier", "are outliers")
            + " (modified z-score). Outliers are kept in all statistics.",
            numbers={"flagged": len(row.outliers), "n": row.n},
            trials=row.outliers,
            benchmark=row.benchmark,
            metric=f"{findings.title(row.benchmark, row.metric)} in {row.benchmark} on {row.configuration}",
        )
        for row in findings.headline_statistics()
        if row.outliers
    ]
