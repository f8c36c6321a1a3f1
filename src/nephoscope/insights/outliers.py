"""Outliers: values worth a second look. They are kept."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.rows import Statistic
from nephoscope.model.words import enumeration

NAME = "outliers"
MAX_NAMED = 3
"""Of the statistics of a benchmark that have outliers; the others are counted."""


def outliers(lookup: Lookup) -> list[Draft]:
    """One note for each benchmark that has outliers among its headline values; its trials are the outliers."""
    rows = [row for row in lookup.headline_statistics if row.outliers]
    return [_note(lookup, list(many)) for _, many in groupby(rows, key=attrgetter("benchmark"))]


def _note(lookup: Lookup, rows: Sequence[Statistic]) -> Draft:
    """The first are those with the largest share of outliers."""
    ordered = sorted(rows, key=lambda row: (-len(row.outliers) / row.n, row.metric, row.configuration))
    flagged = sum(len(row.outliers) for row in rows)
    numbers: dict[str, float] = {"flagged": flagged, "more": len(rows) - MAX_NAMED}
    words: dict[str, str] = {}
    parts = []
    for key, row in keyed(ordered[:MAX_NAMED]):
        numbers |= {f"flagged_{key}": len(row.outliers), f"n_{key}": row.n}
        words |= {f"title_{key}": lookup.title(row.benchmark, row.metric), f"name_{key}": row.configuration}
        parts.append(f"{{flagged_{key}:count}} of {{n_{key}:count}} values of {{title_{key}}} on {{name_{key}}}")
    if len(rows) > MAX_NAMED:
        parts.append("values of {more:count} other " + plural(len(rows) - MAX_NAMED, "median"))
    return say(
        NAME,
        "note",
        "{benchmark_name}: {flagged:count} "
        + plural(flagged, "value is an outlier", "values are outliers")
        + " by the modified z-score ("
        + enumeration(parts)
        + "). Outliers are kept in all statistics.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.outliers],
        benchmark=rows[0].benchmark,
        benchmark_name=rows[0].benchmark,
        **words,
    )
