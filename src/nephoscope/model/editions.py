"""What changed from one analysed study to another, such as the reports of two years or two builds of a database."""

from typing import Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.questions import View
from nephoscope.model.records import Direction
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.model.sentence import NO_SENTENCE, Sentence
from nephoscope.model.subjects import Subject
from nephoscope.model.written import Scope

ChangeMethod = Literal["values", "rank sums", "none"]
AnswerChange = Literal["same", "changed", "not decided"]


class EditionCard(Frozen):
    """One headline metric over all configurations that changed in the same way, after / before."""

    benchmark: str
    subject: Subject
    metric: str
    title: str
    unit: str
    direction: Direction
    differs: list[str] = Field(description="what differs: 'shared_buffers: 128MB → 1GB'; empty: nothing declared does")
    configurations: list[str] = Field(description="their names in the later study")
    agreeing: int = Field(description="configurations whose own ratio is on the same side of equality")
    n_before: int = Field(description="values of the configuration with the fewest")
    n_after: int
    before: float | None = Field(description="its level; None: several configurations have none in common")
    after: float | None
    ratio: float = Field(description="geometric mean over the configurations")
    low: float | None = Field(description="end of its interval; None: too few values for one")
    high: float | None
    coverage: float | None = Field(description="of the intervals of all cards together")
    method: ChangeMethod
    verdict: ComparisonVerdict
    reason: Sentence = Field(default=NO_SENTENCE, description="why it is not decided, if steal is the reason")
    margin_percent: float = Field(description="equivalence margin of the later study")


class EditionRow(EditionCard):
    """One headline metric of one configuration; its interval holds together with those of all rows."""

    configuration: str
    configuration_before: str
    basis: str
    month_before_usd: float | None
    month_after_usd: float | None
    price_ratio: float | None
    cost_ratio: float | None = Field(
        description="of what a unit of the metric costs: price / performance; None: no price, or less is better"
    )
    cost_low: float | None
    cost_high: float | None
    cost_verdict: ComparisonVerdict | None = Field(description="better: a unit costs less than before")


class BestChange(Frozen):
    """Which configurations may be the best of a leaderboard, in both studies."""

    benchmark: str
    metric: str
    title: str
    view: View
    basis: str | None
    scope: Scope
    before: list[str]
    after: list[str]
    of_before: int
    of_after: int
    outcome: AnswerChange


class ContrastChange(Frozen):
    """One question about what pairs of configurations differ in, in both studies."""

    question: str
    left: str
    right: str
    benchmark: str
    metric: str
    title: str
    view: View
    basis: str | None
    ratio_before: float
    low_before: float | None
    high_before: float | None
    verdict_before: ComparisonVerdict
    ratio_after: float
    low_after: float | None
    high_after: float | None
    verdict_after: ComparisonVerdict
    outcome: AnswerChange

    def as_costs(self) -> "ContrastChange":
        """An answer of the view per dollar with ratios of what a unit costs, left / right; verdicts stay."""
        ends = {"low_before": self.high_before, "high_before": self.low_before}
        ends |= {"low_after": self.high_after, "high_after": self.low_after}
        inverse = {name: None if end is None else 1 / end for name, end in ends.items()}
        ratios = {"ratio_before": 1 / self.ratio_before, "ratio_after": 1 / self.ratio_after}
        return self.model_copy(update={**ratios, **inverse})


class LeftOut(Frozen):
    """A result that was not compared."""

    configuration: str
    benchmark: str
    metric: str
    in_before: bool = Field(description="the earlier study has it")
    reason: Sentence


class Editions(Frozen):
    """Two studies compared."""

    before: str = Field(description="title of the earlier study")
    after: str
    cards: list[EditionCard]
    rows: list[EditionRow]
    best: list[BestChange]
    contrasts: list[ContrastChange]
    also_different: list[str] = Field(description="what no study file declares: versions, settings in force, CPUs")
    left_out: list[LeftOut]
    simulated: bool = Field(default=False, description="both studies are rehearsals: a program drew every number")

    def apart(self, card: EditionCard) -> list[EditionRow]:
        """Configurations of a card with several that are certainly better or worse where the card is not."""
        if len(card.configurations) == 1:
            return []
        decided = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE} - {card.verdict}
        return [
            row
            for row in self.rows
            if (row.benchmark, row.metric) == (card.benchmark, card.metric)
            and row.configuration in card.configurations
            and row.verdict in decided
        ]
