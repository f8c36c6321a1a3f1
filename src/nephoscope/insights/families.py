"""Families of machine types: what matched types show where a single type has too few runs for any statement."""

from collections.abc import Sequence
from itertools import groupby

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.numbers import Number, interval
from nephoscope.model.records import Direction
from nephoscope.model.rows import ComparisonVerdict, FamilyComparison
from nephoscope.model.words import NOT_DECIDED, enumeration

NAME = "families"
_DECIDED = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.TIE}
_VERDICTS = {
    ComparisonVerdict.BETTER: "better in",
    ComparisonVerdict.WORSE: "worse in",
    ComparisonVerdict.TIE: "a tie in",
    ComparisonVerdict.UNRESOLVED: f"{NOT_DECIDED} in",
}
"""In the order in which sentences give them."""


def families(lookup: Lookup) -> list[Draft]:
    """One sentence per pair of groups with at least one decided metric, and one note that counts open questions."""
    groups = [
        list(rows)
        for _, rows in groupby(
            sorted(lookup.study.family_comparisons, key=lambda row: (row.question, row.left, row.right)),
            key=lambda row: (row.question, row.left, row.right),
        )
    ]
    told = [_sentence(lookup, rows) for rows in groups if any(row.verdict in _DECIDED for row in rows)]
    open_rows = [row for row in lookup.study.family_comparisons if row.verdict is ComparisonVerdict.UNRESOLVED]
    return told + ([_open(lookup, open_rows)] if open_rows else [])


def _sentence(lookup: Lookup, rows: Sequence[FamilyComparison]) -> Draft:
    numbers: dict[str, Number] = {}
    words: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    sizes = {(row.n_left, row.n_right, row.blocks) for row in rows}
    for key, row in keyed(rows):
        numbers |= {f"ratio_{key}": interval(row.ratio, row.low, row.high)} | _sizes(row, key)
        words[f"metric_{key}"] = f"{lookup.title(row.benchmark, row.metric)}" + (" per vCPU" if row.per_cpu else "")
        ends = ", too few types for an interval"
        if row.low is not None and row.high is not None and row.coverage is not None:
            numbers[f"coverage_{key}"] = 100 * row.coverage
            ends = f", {{coverage_{key}:coverage}} interval {{ratio_{key}:ends:ratio}}"
        lower = "" if row.direction is Direction.HIGHER else ", lower is better"
        own = f", {_types(row, key)}" if len(sizes) > 1 else ""
        said = f"{{metric_{key}}} ({{ratio_{key}:ratio}}{ends}{lower}{own})"
        parts.setdefault(_VERDICTS[row.verdict], []).append(said)
    first = rows[0]
    numbers |= _sizes(first, "all") if len(sizes) == 1 else {}
    told = "; ".join(f"{verdict} {enumeration(parts[verdict])}" for verdict in _VERDICTS.values() if verdict in parts)
    return say(
        NAME,
        "answer",
        "{left_group} compared with {right_group}: "
        + told
        + ". Matched types: {matched_by}"
        + (f"; {_types(first, 'all')}." if len(sizes) == 1 else "."),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        left_group=first.left,
        right_group=first.right,
        matched_by=first.matched_by,
        **words,
    )


def _sizes(row: FamilyComparison, key: str) -> dict[str, float]:
    return {f"left_{key}": row.n_left, f"right_{key}": row.n_right, f"blocks_{key}": row.blocks}


def _types(row: FamilyComparison, key: str) -> str:
    blocks = f"{{blocks_{key}:count}} {plural(row.blocks, 'block')}"
    return f"n = {{left_{key}:count}} and {{right_{key}:count}} types in {blocks}"


def _open(lookup: Lookup, rows: Sequence[FamilyComparison]) -> Draft:
    few = [row for row in rows if row.low is None]
    kinds = sorted({row.question for row in rows})
    return say(
        NAME,
        "note",
        "{open:count} of {all:count} "
        + plural(len(lookup.study.family_comparisons), "question")
        + " about families of machine types "
        + plural(len(rows), "is", "are")
        + " not decided ({kinds}): {few:count} "
        + plural(len(few), "has", "have")
        + " too few matched types for any claim; for the others, the data fit both equality and a difference of more "
        "than {margin:limit} % after correction for the number of questions.",
        numbers={
            "open": len(rows),
            "all": len(lookup.study.family_comparisons),
            "few": len(few),
            "margin": lookup.study.equivalence_margin_percent,
        },
        trials=[trial for row in rows for trial in row.trials],
        kinds=enumeration(kinds),
    )
