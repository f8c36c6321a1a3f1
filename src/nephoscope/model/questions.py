"""Rows of the questions a study answers: which configuration is best, and what one thing changes."""

from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, Omission
from nephoscope.model.rows import ComparisonVerdict, disagreement, sides_exchanged
from nephoscope.model.sentence import NO_SENTENCE, Sentence
from nephoscope.model.subjects import Subject
from nephoscope.model.written import Scope, Written


@dataclass(frozen=True, order=True)
class Behind(Written):
    """One of few that are excluded where most may be the best."""

    configuration: str
    change_percent: float
    """Its level against the median of the levels of those that may be the best: -12.5 is an eighth lower."""

    def __str__(self) -> str:
        """'rack1-07: -12.5 %'."""
        return f"{self.configuration}: {self.change_percent:+.3g} %"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        configuration, found, change = stored.rpartition(": ")
        if not found or not change.endswith(" %"):
            raise ValueError(f"{stored!r} names no configuration that is behind")
        return cls(configuration, float(change.removesuffix(" %")))


View = Literal["plain", "per CPU", "per dollar"]
Method = Literal["within blocks", "without blocks", "rank sums", "none"]
"""How an answer was found; none: every configuration has too few values for any claim."""


class Headline(Frozen):
    """The question that a report answers first."""

    benchmark: str = Field(description="the study's name for it")
    metric: str | None = Field(default=None, description="default: the first that the benchmark is ranked by")
    view: Literal["plain", "per CPU"] = Field(default="plain", description="per CPU: divided by the CPUs under test")
    scope: str = Field(
        default="overall", description="'overall', 'cloud: aws' or 'size: 8 vCPUs': the configurations that compete"
    )


class BestRow(Frozen):
    """Which configurations of a leaderboard may be the best. best.parquet."""

    benchmark: str
    metric: str
    direction: Direction
    view: View
    basis: str | None = Field(description="basis of the prices, for the view per dollar")
    scope: Scope = Field(description="'overall', 'cloud: aws', or 'size: 8 vCPUs'")
    of: int = Field(ge=2, description="configurations that compete")
    best: list[str] = Field(
        description="those that may be the best, best level first: every other one with enough values is certainly "
        "worse than one of these"
    )
    excluded: int = Field(ge=0, description="number of configurations that are certainly not the best")
    open: list[str] = Field(description="those with too few values for any claim: unknown, and no candidates")
    left_out: list[Omission] = Field(description="'configuration: reason' for those that do not compete")
    tied: bool = Field(description="there are several best ones, and each two differ by less than the margin")
    close: list[str] = Field(
        description="others that were shown to differ from the only winner by less than the margin"
    )
    alpha: float = Field(description="error rate of this question")
    method: Method
    n_least: int = Field(ge=0, description="the smallest number of values of a configuration")
    n_most: int = Field(ge=0)
    cv_percent: float | None = Field(description="spread of single values that the answer rests on; None: not known")
    degrees_of_freedom: float | None = Field(description="what that spread is known from; the least of all")
    detectable_percent: float | None = Field(
        description="smallest difference from the best that excludes a configuration with a chance of 80 %"
    )
    margin_percent: float = Field(description="the study's equivalence margin")
    trials: list[str] = Field(description="those of the configurations that may be the best")
    subject: Subject
    reason: Sentence = Field(
        default=NO_SENTENCE,
        description="what the answer is as delivered and in quiet trials, if they differ: then it is open between both",
    )
    note: Sentence = Field(
        default=NO_SENTENCE, description="what steal rejected, if that is over 10 % of a configuration's trials"
    )
    behind: list[Behind] = Field(
        default=[],
        description="where only few are excluded and most may be the best: these, the furthest first, as "
        "'configuration: -12.5 %' of the median level of those that may be it",
    )
    by_median: list[str] = Field(
        default=[],
        description="those of `best` that the test of levels excludes, but whose median is better than that of every "
        "other one: levels and medians disagree",
    )


class ContrastRow(Frozen):
    """One question about what pairs of configurations differ in. contrasts.parquet."""

    question: str = Field(description="what differs: 'volume kind', 'CPU vendor', 'shared_buffers'")
    left: str = Field(description="its value on the left: 'io2'")
    right: str
    declared: bool = Field(description="the study file asks it; otherwise its configurations hold it")
    benchmark: str
    metric: str
    direction: Direction
    view: View
    basis: str | None = Field(description="basis of the prices, for the view per dollar")
    pairs: int = Field(ge=1, description="pairs of configurations with enough values for a claim")
    pairs_agreeing: int = Field(ge=0, description="pairs whose own ratio is on the same side of equality")
    pairs_left_out: int = Field(ge=0, description="pairs with too few values")
    ratio: float = Field(description="left / right: the geometric mean over the pairs")
    low: float | None = Field(description="end of the ratio's interval; None: too few values for one")
    high: float | None
    coverage: float | None
    p_value: float
    verdict: ComparisonVerdict
    alpha: float = Field(description="error rate of this question")
    method: Method
    margin_percent: float = Field(description="the study's equivalence margin")
    detectable_percent: float | None = Field(description="smallest difference that shows with a chance of 80 %")
    lefts: list[str] = Field(description="the configuration on the left of each pair")
    trials: list[str]
    subject: Subject
    delivered: ComparisonVerdict | None = Field(
        default=None, description="the verdict over all trials that count; None: none of them lost CPU time"
    )
    quiet: ComparisonVerdict | None = Field(default=None, description="the verdict over the quiet ones of these trials")
    reason: Sentence = Field(
        default=NO_SENTENCE,
        description="why it is unresolved if not by its interval: as delivered and in quiet trials differ",
    )
    note: Sentence = Field(
        default=NO_SENTENCE, description="what steal rejected, if that is over 10 % of a side's trials"
    )
    rights: list[str] = Field(description="the configuration on the right of each pair, in the order of `lefts`")

    def mirrored(self) -> "ContrastRow":
        """The same answer with left and right exchanged."""
        delivered, quiet = self.delivered and self.delivered.opposite, self.quiet and self.quiet.opposite
        return self.model_copy(
            update={
                **sides_exchanged(self),
                "verdict": self.verdict.opposite,
                "delivered": delivered,
                "quiet": quiet,
                "reason": disagreement(delivered, quiet),
                "lefts": self.rights,
                "rights": self.lefts,
            }
        )

    def as_costs(self) -> "ContrastRow":
        """An answer of the view per dollar with ratios of what a unit costs, left / right; the verdict stays."""
        ends = {"low": self.high, "high": self.low}
        inverse = {name: None if end is None else 1 / end for name, end in ends.items()}
        return self.model_copy(update={"ratio": 1 / self.ratio, **inverse})


class RankIntervals(Frozen):
    """The simultaneous intervals behind the ranks of one headline metric, for every pair of its configurations.

    All gaps of levels lie within their estimate plus and minus `half_widths` at once, as surely as the ranks. That
    holds for any part of the configurations, too, and after each value is divided by a constant of its configuration.
    """

    benchmark: str
    metric: str
    configurations: list[str] = Field(description="those that compete, sorted")
    levels: list[float] = Field(description="mean logarithm of each, negated if less is better: higher is better")
    half_widths: list[float | None] = Field(
        description="of the gaps between the first and all later ones, then the second and all later ones, and so on; "
        "None: the pair is not decided"
    )
    signs_only: bool = Field(
        description="a metric in steps: `half_widths` is 0 for pairs that are decided, by an unknown amount"
    )

    def gap(self, first: str, second: str) -> tuple[float, float] | None:
        """How far the first is above the second on logarithms, and half the width of its interval.

        None: one of them does not compete, or the pair is not decided.
        """
        if first not in self.configurations or second not in self.configurations:
            return None
        one, other = self.configurations.index(first), self.configurations.index(second)
        low, high, count = min(one, other), max(one, other), len(self.configurations)
        half = self.half_widths[low * count - low * (low + 1) // 2 + high - low - 1]
        return None if half is None else (self.levels[one] - self.levels[other], half)
