"""What the answer to "which one is the best?" is in words: one winner, several that may be it, or no answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from nephoscope.insights.words import keyed, plural
from nephoscope.model.numbers import Number
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction
from nephoscope.model.words import capitalised, enumeration
from nephoscope.stats.decide import POWER

MAX_NAMED = 12
"""More configurations than this are counted instead of named."""
RATE = "(error rate {alpha:limit} %)"


@dataclass(frozen=True)
class Told:
    """A template with its numbers and words, for `say`."""

    template: str
    numbers: dict[str, Number]
    words: dict[str, str]


def told(row: BestRow, *, best: str = "best {title}", value: str = "") -> Told:
    """The answer as sentences, without a capital at their start.

    Args:
        row: the answer.
        best: part of a template that names what is asked for; the caller gives the words of its title.
        value: part of a template that is added to the only winner, as ": {median:quantity:s}".
    """
    numbers: dict[str, Number] = {
        "of": row.of - (0 if row.method == "none" else len(row.open)),
        "alpha": 100 * row.alpha,
        "left": len(row.best),
        "excluded": row.excluded,
        "margin": row.margin_percent,
    }
    words = {"names": enumeration(row.best), "open_names": enumeration(row.open), "close": enumeration(row.close)}
    words["by_median"] = enumeration(row.by_median)
    words["reason"] = capitalised(row.reason)
    for key, one in keyed(row.behind):
        numbers[f"behind_{key}"], words[f"slow_{key}"] = abs(one.change_percent), one.configuration
    return Told(_answer(row, best, value) + _besides(row, numbers), numbers, words)


def _answer(row: BestRow, best: str, value: str) -> str:
    if row.method == "none":
        reason = "each was measured once" if row.n_most == 1 else "too few of them were measured more than once"
        return f"which of {{of:count}} configurations has the {best} cannot be decided: {reason}."
    if len(row.best) == 1 and row.excluded:
        close = ", but {close} " + plural(len(row.close), "is", "are") + " within ±{margin:limit} % of it"
        others = f"{{names}} has the {best} among {{of:count}} configurations{value} {RATE}"
        return others + (close if row.close else "") + "."
    if not row.excluded:
        why = "no difference is certain" + (" both as delivered and in quiet trials" if row.reason else "")
        return f"any of {{of:count}} configurations may have the {best} {RATE}: {why}."
    which = ": {names}" if len(row.best) <= MAX_NAMED else ""
    are = plural(row.excluded, "is", "are")
    side = "above" if row.direction is Direction.LOWER else "below"
    slow = [f"{{slow_{key}}}, {{behind_{key}:percent}} {side}" for key, _ in keyed(row.behind)]
    named = f": {enumeration(slow)} the median of the others" if slow else ""
    return (
        f"{{excluded:count}} of {{of:count}} configurations {are} clearly worse{named}; any of the remaining "
        f"{{left:count}} may have the {best}{which} {RATE}."
    )


def _besides(row: BestRow, numbers: dict[str, Number]) -> str:
    """What else there is to know about the answer."""
    parts = ""
    if row.reason:
        parts += " {reason}."
    if row.tied:
        parts += " Those that may be the best are a tie: any two of them differ by less than {margin:limit} %."
    elif len(row.best) > 1 and row.detectable_percent is not None and not row.reason:
        numbers |= {"detectable": row.detectable_percent, "power": 100 * POWER, "n_least": row.n_least}
        parts += (
            " With n = {n_least:count}, a configuration that is {detectable:percent} behind the best is found "
            "to be worse with a chance of {power:count} %."
        )
    if row.open and row.method != "none":
        numbers["unknown"] = len(row.open)
        which = "{open_names}" if len(row.open) <= MAX_NAMED else "{unknown:count} more"
        parts += f" Nothing is known about {which}, which " + plural(len(row.open), "has", "have")
        parts += " too few values."
    if row.by_median:
        parts += " By its median, {by_median} is ahead of the others: a few values make the difference, so no best is "
        parts += "named."
    if row.method == "rank sums":
        parts += " The values come in steps, so exact rank sums were used, which decide less."
    if row.left_out and row.view != "per dollar":
        numbers["out"] = len(row.left_out)
        parts += " {out:count} more " + plural(len(row.left_out), "configuration has", "configurations have")
        parts += " a zero or negative value and cannot be compared."
    return parts


def short(row: BestRow, key: str) -> tuple[str, Mapping[str, float], Mapping[str, str]]:
    """The answer in a few words, such as 'a, 1 unknown' or 'one of 2 (a and b)'; why, if steal left it open."""
    numbers = {f"left_{key}": float(len(row.best)), f"unknown_{key}": float(len(row.open))}
    words = {f"names_{key}": enumeration(row.best)}
    unknown = f", {{unknown_{key}:count}} unknown" if row.open else ""
    if row.method == "none":
        return "not decided", {}, {}
    reason = f" ({{reason_{key}}})" if row.reason else ""
    reasons = {f"reason_{key}": str(row.reason)} if row.reason else {}
    if len(row.best) == 1 and row.excluded:
        return f"{{names_{key}}}{unknown}{reason}", numbers, words | reasons
    if not row.excluded:
        return f"any of {{left_{key}:count}}{unknown}{reason}", numbers, reasons
    named = f" ({{names_{key}}})" if len(row.best) <= MAX_NAMED else ""
    return f"one of {{left_{key}:count}}{named}{unknown}{reason}", numbers, (words if named else {}) | reasons
