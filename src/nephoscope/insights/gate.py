"""What the checks changed: medians with and without the trials that they reject."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, quantity_style, say
from nephoscope.model.rows import GateRow

NAME = "gate"
NOTABLE_PERCENT = 5.0
"""A median that the checks move by more than this is named: three times the usual equivalence margin."""
MAX_NAMED = 8


def gate(lookup: Lookup) -> list[Draft]:
    """One sentence with counts and the medians that changed most."""
    rows = lookup.study.gate
    if not rows:
        return []
    moved = [row for row in rows if row.change_percent is not None and abs(row.change_percent) > NOTABLE_PERCENT]
    gone = [row for row in rows if row.median_after is None]
    by_size = sorted(moved, key=lambda row: (-abs(row.change_percent or 0), row.configuration, row.metric))
    numbers: dict[str, float] = {
        "rows": len(rows),
        "moved": len(moved),
        "gone": len(gone),
        "notable": NOTABLE_PERCENT,
    }
    words: dict[str, str] = {}
    named = [_named(row, key, numbers, words, lookup) for key, row in keyed(by_size[:MAX_NAMED])]
    return [
        say(
            NAME,
            "answer",
            "The checks removed trials from {rows:count} "
            + plural(len(rows), "median", "medians")
            + " of headline metrics: {moved:count} changed by more than {notable:limit} %"
            + (", and {gone:count} " + plural(len(gone), "has", "have") + " no valid trial left." if gone else ".")
            + (" The largest changes: " + "; ".join(named) + "." if named else ""),
            numbers=numbers,
            trials=[trial for row in rows for trial in row.trials],
            **words,
        )
    ]


def _named(row: GateRow, key: str, numbers: dict[str, float], words: dict[str, str], lookup: Lookup) -> str:
    style = quantity_style(row.unit)
    numbers |= {f"before_{key}": row.median_before, f"from_{key}": row.n_before, f"to_{key}": row.n_after}
    numbers[f"after_{key}"] = row.median_after or 0.0
    words |= {f"name_{key}": row.configuration, f"benchmark_{key}": row.benchmark}
    words[f"metric_{key}"] = lookup.title(row.benchmark, row.metric)
    return (
        f"{{metric_{key}}} in {{benchmark_{key}}} on {{name_{key}}}: from {{before_{key}:{style}}} to "
        f"{{after_{key}:{style}}} (n = {{from_{key}:count}} before, {{to_{key}:count}} after)"
    )
