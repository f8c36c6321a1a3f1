"""What is to be reached, and whether the rounds decide it. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

NOTHING = "–"

EQUAL_LOSS = 0.05
"""Two runs are compared if the shares of CPU time that they lost to others differ by at most this. No process is
charged for what others used, but it finds caches cold afterwards, and more to do at once: what it does costs more."""

LITTLE_LOSS = 0.02
"""A round is quiet if neither run lost more than this: the kernel's own threads use up to a percent."""

MIN_QUIET_ROUNDS = 3
"""So many decide a bar that the other rounds leave open."""


@dataclass(frozen=True)
class Spread:
    """The median of the rounds, and their extremes."""

    median: float
    least: float
    most: float

    def text(self, digits: int = 0) -> str:
        """'156 (152..160)'."""
        return f"{self.median:,.{digits}f} ({self.least:,.{digits}f}..{self.most:,.{digits}f})"


def spread(values: Sequence[float]) -> Spread | None:
    """Of the rounds; None of none."""
    return Spread(median(values), min(values), max(values)) if values else None


class Verdict(StrEnum):
    """On a bar."""

    MET = "met"
    MISSED = "**missed**"
    UNDECIDED = "undecided"
    """Rounds disagree, and too few of them were quiet."""
    NOT_MEASURED = "not measured"
    BEYOND = "beyond this machine"
    """It was shown in the same round that the machine cannot do what the bar asks for."""
    NONE = "no bar, for comparison"


@dataclass(frozen=True)
class Ratio:
    """One measure of two runs of a round."""

    value: float
    lost: float | None
    """The larger share of the two runs; None: unknown."""

    @property
    def is_quiet(self) -> bool:
        """A kernel that does not tell is given the benefit of the doubt."""
        return self.lost is None or self.lost <= LITTLE_LOSS


@dataclass(frozen=True)
class Ratios:
    """Of all rounds in which both runs were made."""

    equal: tuple[Ratio, ...]
    """Of rounds in which both lost about the same."""
    unequal: int = 0
    """Rounds that are left out, since one run lost more than the other."""

    def spread(self) -> Spread | None:
        """Of the rounds in which both lost about the same."""
        return spread([ratio.value for ratio in self.equal])

    def quiet(self) -> list[float]:
        """Of the quiet rounds."""
        return [ratio.value for ratio in self.equal if ratio.is_quiet]


def ratios(pairs: Iterable[tuple[float, float | None, float | None]]) -> Ratios:
    """Of a ratio and the CPU time that both its runs lost, a round each."""
    equal, unequal = [], 0
    for value, one, other in pairs:
        if one is None or other is None:
            equal.append(Ratio(value, None))
        elif abs(one - other) <= EQUAL_LOSS:
            equal.append(Ratio(value, max(one, other)))
        else:
            unequal += 1
    return Ratios(tuple(equal), unequal)


@dataclass(frozen=True)
class Bar:
    """One line of what is to be reached."""

    what: str
    bar: str
    seen: str
    verdict: Verdict

    def row(self) -> str:
        """Of the table."""
        return f"| {self.what} | {self.bar} | {self.seen} | {self.verdict} |"


HEAD = ("| what | bar | seen | |", "|---|---|---|---|")


def of_spread(what: str, found: Spread | None, limit: float, unit: str, digits: int) -> Bar:
    """A bar that the median must not exceed, of what others on the machine do not change."""
    bar = f"≤ {limit:g} {unit}"
    if found is None:
        return Bar(what, bar, NOTHING, Verdict.NOT_MEASURED)
    return Bar(what, bar, found.text(digits), Verdict.MET if found.median <= limit else Verdict.MISSED)


def at_most(what: str, found: Ratios, limit: float, *, every: bool = False) -> Bar:
    """A bar that the median of the ratios must not exceed; with `every`, none of them."""
    where = " in every round" if every else ""
    return _of_ratios(what, f"≤ {limit:g} ×{where}", found, lambda value: value <= limit, every=every)


def at_least(what: str, found: Ratios, limit: float) -> Bar:
    """A bar that the median of the ratios must reach."""
    return _of_ratios(what, f"≥ {limit:g} ×", found, lambda value: value >= limit, every=False)


def within(what: str, found: Ratios, part: float) -> Bar:
    """A bar that the median of the ratios must not be farther from 1 than this."""
    return _of_ratios(what, f"1 ± {part:g}", found, lambda value: abs(value - 1) <= part, every=False)


def compared(what: str, found: Ratios) -> Bar:
    """No bar of its own, but what a bar above it may be judged by."""
    return Bar(what, "", _seen(found), Verdict.NONE if found.equal else _not_judged(found))


def _of_ratios(what: str, bar: str, found: Ratios, is_good: Callable[[float], bool], *, every: bool) -> Bar:
    verdict = judge(found, is_good, every=every) if found.equal else _not_judged(found)
    return Bar(what, bar, _seen(found), verdict)


def _not_judged(found: Ratios) -> Verdict:
    """Of no rounds that can be compared."""
    return Verdict.UNDECIDED if found.unequal else Verdict.NOT_MEASURED


def _seen(found: Ratios) -> str:
    """The rounds that are compared, and how many are not."""
    seen, rounds = found.spread(), found.unequal + len(found.equal)
    left_out = f"; {found.unequal} of {rounds} rounds of unequal loss" if found.unequal else ""
    return (seen.text(2) if seen else NOTHING) + left_out


def judge(found: Ratios, is_good: Callable[[float], bool], *, every: bool = False) -> Verdict:
    """Where all rounds agree, they decide; where they do not, only the quiet ones, if there are enough of them."""
    good = [is_good(ratio.value) for ratio in found.equal]
    if all(good):
        return Verdict.MET
    if not any(good):
        return Verdict.MISSED
    quiet = found.quiet()
    if every:
        return Verdict.UNDECIDED if all(map(is_good, quiet)) else Verdict.MISSED
    if len(quiet) < min(MIN_QUIET_ROUNDS, len(good)):
        return Verdict.UNDECIDED
    return Verdict.MET if is_good(median(quiet)) else Verdict.MISSED
