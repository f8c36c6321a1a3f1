"""Lower bounds: what a tool could not tell, and that it is in no comparison."""

from itertools import groupby
from operator import attrgetter

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, say
from nephoscope.model.rows import LowerBoundRow
from nephoscope.model.words import enumeration

NAME = "lower_bounds"
MAX_NAMED = 4
"""Of those of a benchmark; the others are counted."""


def lower_bounds(lookup: Lookup) -> list[Draft]:
    """One warning for each benchmark that has some."""
    rows = sorted(lookup.study.lower_bounds, key=attrgetter("benchmark", "metric", "configuration"))
    return [_warning(lookup, list(many)) for _, many in groupby(rows, key=attrgetter("benchmark"))]


def _warning(lookup: Lookup, rows: list[LowerBoundRow]) -> Draft:
    numbers: dict[str, float] = {"more": len(rows) - MAX_NAMED}
    words: dict[str, str] = {}
    parts = []
    for key, row in keyed(rows[:MAX_NAMED]):
        numbers[f"above_{key}"] = row.value.written
        words |= {f"title_{key}": lookup.title(row.benchmark, row.metric), f"unit_{key}": row.unit}
        words |= {f"name_{key}": row.configuration}
        parts.append(f"{{title_{key}}} on {{name_{key}}} {row.value.sign} {{above_{key}:limit}} {{unit_{key}}}")
    if len(rows) > MAX_NAMED:
        parts.append("{more:count} more")
    return say(
        NAME,
        "warning",
        "{benchmark_name}: "
        + enumeration(parts)
        + ". The tool's histogram ends there: how much longer it took is not known, and no mean, ratio or rank has it.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        benchmark_name=rows[0].benchmark,
        **words,
    )
