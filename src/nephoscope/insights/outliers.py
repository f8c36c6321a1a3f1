"""Values to look at twice; they are kept."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import plural, say
from nephoscope.model.rows import Insight

NAME = "outliers"


def outliers(findings: Findings) -> list[Insight]:
    """One note per headline statistic with flagged values; the trials are those flagged."""
    return [
        say(
            NAME,
            "note",
            "{place}: {flagged:count} of {n:count} values "
            + plural(len(row.outliers), "lies", "lie")
            + " far from the others (modified z-score). Nothing is dropped.",
            numbers={"flagged": len(row.outliers), "n": row.n},
            trials=row.outliers,
            benchmark=row.benchmark,
            place=f"{findings.title(row.benchmark, row.metric)} in {row.benchmark} on {row.configuration}",
        )
        for row in findings.headline_statistics()
        if row.outliers
    ]
