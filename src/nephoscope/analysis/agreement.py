"""When a verdict stands on machines that lose CPU time to others: it must hold as delivered and in quiet trials."""

from dataclasses import dataclass

from nephoscope.model.rows import ComparisonVerdict

_WORDS = {
    ComparisonVerdict.BETTER: "better",
    ComparisonVerdict.WORSE: "worse",
    ComparisonVerdict.TIE: "equal",
    ComparisonVerdict.UNRESOLVED: "undecided",
}


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
    reason = f"{_WORDS[delivered]} as delivered, but {_WORDS[quiet]} in quiet trials"
    return Agreement(ComparisonVerdict.UNRESOLVED, reason)
