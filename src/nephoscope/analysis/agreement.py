"""When a verdict stands on machines that lose CPU time to others: it must hold as delivered and in quiet trials."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.model.rows import ComparisonVerdict, disagreement
from nephoscope.model.words import named_or_counted

MAX_NAMED = 3
"""More configurations than this are counted instead of named in a reason."""


@dataclass(frozen=True)
class Agreement:
    """The verdict that stands, and why it is not the one as delivered; empty: it is."""

    verdict: ComparisonVerdict
    reason: str


def agree(delivered: ComparisonVerdict, quiet: ComparisonVerdict | None) -> Agreement:
    """The verdict on which all trials and the quiet ones agree, else `unresolved`.

    A machine that is faster when nothing disturbs it and delivers less is neither better nor worse: the answer depends
    on the neighbours. Quiet trials that are too few to decide do not confirm a verdict either.

    Args:
        delivered: over all trials that count.
        quiet: over those that lost little CPU time; None: no trial of either side lost more, so both are the same.
    """
    if quiet is None or quiet is delivered:
        return Agreement(delivered, "")
    return Agreement(ComparisonVerdict.UNRESOLVED, disagreement(delivered, quiet))


def why_open(
    delivered: Sequence[str], quiet: Sequence[str], *, too_few: Sequence[str], never: Sequence[str], of: int
) -> str:
    """What both views say of the best where they differ, and who was judged by one view only; empty: neither.

    Args:
        delivered: configurations that may be the best, over all trials that count.
        quiet: those that may be the best in quiet trials.
        too_few: those with too few quiet values for any claim.
        never: those without any quiet trial: what they delivered stands for both views.
        of: number of configurations that compete.
    """
    parts = []
    if {*delivered} != {*quiet}:
        parts.append(f"as delivered {_may_be(delivered, of)}, but in quiet trials {_may_be(quiet, of)}")
        kept = sorted({*too_few} - {*delivered})
        if kept:
            parts.append(
                f"too few trials of {named_or_counted(kept, MAX_NAMED)} were quiet to exclude "
                + ("it" if len(kept) == 1 else "them")
            )
    if never:
        parts.append(
            f"no trial of {named_or_counted(never, MAX_NAMED)} was quiet, so what "
            + ("it" if len(never) == 1 else "they")
            + " delivered counts in both views"
        )
    return "; ".join(parts)


def _may_be(names: Sequence[str], of: int) -> str:
    if len(names) == 1:
        return f"{names[0]} is the best"
    if len(names) == of or len(names) > MAX_NAMED:
        return f"any of {len(names)} may be the best"
    return f"{', '.join(names[:-1])} or {names[-1]} may be the best"
