"""Does a database do more with more machines, and how close is that to linear growth?"""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, quantity_style, say
from nephoscope.model.rows import GrowthRow
from nephoscope.model.words import enumeration

NAME = "growth"
ONE_WRITER = frozenset({"postgres"})
"""Databases in which one machine takes all writes and the others hold replicas."""
_ENDINGS = {
    "linear": ": growth is linear.",
    "sub-linear": ": it grows, but less than linearly.",
    "none": ": it does not grow with the number of machines.",
    "not decided": ": these data do not show whether growth is linear.",
}


def growth(lookup: Lookup) -> list[Draft]:
    """One sentence for each rate that was measured on different numbers of machines."""
    return [_sentence(lookup, row) for row in lookup.study.growth]


def _sentence(lookup: Lookup, row: GrowthRow) -> Draft:
    numbers: dict[str, float] = {"exponent": row.exponent}
    parts = []
    for key, (machines, median) in keyed(zip(row.machines, row.medians, strict=True)):
        numbers |= {f"machines_{key}": machines, f"median_{key}": median}
        parts.append(f"{{median_{key}:{quantity_style(row.unit)}}} on {{machines_{key}:count}}")
    interval = "too few trials for an interval"
    if row.low is not None and row.high is not None and row.coverage is not None:
        numbers |= {"low": row.low, "high": row.high, "coverage": 100 * row.coverage}
        interval = "{coverage:coverage} interval {low:signed} to {high:signed}"
    copies = " One machine takes all writes; the others hold replicas." if _keeps_copies(row) else ""
    return say(
        NAME,
        "answer",
        "{benchmark_name}, {group}: {title} is "
        + enumeration(parts)
        + " machines, which grows as the number of machines to the power of {exponent:signed} ("
        + interval
        + ")"
        + _ENDINGS[row.growth]
        + copies,
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        benchmark_name=row.benchmark,
        group=row.group,
        title=lookup.title(row.benchmark, row.metric),
    )


def _keeps_copies(row: GrowthRow) -> bool:
    return row.system in ONE_WRITER and row.growth in {"none", "sub-linear", "not decided"}
