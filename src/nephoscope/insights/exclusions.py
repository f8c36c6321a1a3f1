"""How many trials are not valid, and why."""

from collections import defaultdict

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.gaps import LEFT_OUT
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import enumeration

NAME = "exclusions"


def exclusions(lookup: Lookup) -> list[Draft]:
    """One sentence about all trials that ran; each excluded trial is counted under one reason."""
    excluded: dict[str, list[str]] = defaultdict(list)
    ran = [row for row in lookup.study.trials if row.state not in LEFT_OUT]
    for row in ran:
        if not row.counts:
            excluded[_reason(row)].append(row.trial)
    total = len(ran)
    if not total:
        return []
    if not excluded:
        those = "trials" if total == len(lookup.study.trials) else "trials that ran"
        ending = "The only trial that ran is valid." if total == 1 else f"All {{total:count}} {those} are valid."
        trials = [row.trial for row in ran]
        return [say(NAME, "note", ending, numbers={"total": total}, trials=trials)]
    ids = [trial for many in excluded.values() for trial in many]
    numbers: dict[str, float] = {"total": total, "excluded": len(ids)}
    words: dict[str, str] = {}
    parts: list[str] = []
    by_number = sorted(excluded.items(), key=lambda item: (-len(item[1]), item[0]))
    for key, (reason, trials) in keyed(by_number):
        numbers[f"count_{key}"], words[f"reason_{key}"] = len(trials), reason
        parts.append(f"{{count_{key}:count}} {{reason_{key}}}")
    template = (
        "{excluded:count} of {total:count} "
        + plural(total, "trial")
        + plural(len(ids), " is", " are")
        + " not valid and excluded from all statistics: "
    )
    return [say(NAME, "warning", template + enumeration(parts) + ".", numbers=numbers, trials=ids, **words)]


def _reason(row: TrialRow) -> str:
    if row.state != "finished":
        return row.state
    checks = sorted({*row.rejected_by})
    if row.verdict is VerdictKind.INVALID:
        return f"rejected by {enumeration(checks)}" if checks else "rejected"
    return f"with an unknown verdict from {enumeration(checks)}" if checks else "without a verdict"
