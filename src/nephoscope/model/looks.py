"""Looks at a study that stops when its questions are answered: what is stored after each block."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.questions import View
from nephoscope.model.records import PlannedTrial
from nephoscope.model.written import Scope

RULE = 5
"""Of the looks that are taken now: 1 weighed the spread of dropped configurations as any other, and 2 left sets that
were larger by three or more if the spread was only a little wider than in a study in full; before 5, machines of 30,
32 and 36 vCPUs were three sizes."""
QuestionState = Literal["open", "decided", "tie", "out of reach", "undecided"]
OUTCOMES: Mapping[QuestionState, str] = {
    "decided": "decided",
    "tie": "ended in a tie",
    "out of reach": "could not be decided with the replicates left",
    "undecided": "not decided by the last block",
}


class QuestionAtLook(Frozen):
    """One question as a look found it, or as an earlier look closed it."""

    kind: Literal["best", "contrast"]
    benchmark: str
    metric: str
    view: View
    basis: str | None = Field(description="basis of the prices, for the view per dollar")
    about: str = Field(description="the scope of a best one ('overall'), or 'volume kind: io2 / gp3' of a contrast")
    state: QuestionState = Field(
        description="decided: answered; tie: all that are left differ by less than the margin; out of reach: the "
        "blocks left would hardly change the answer; undecided: the blocks have ended"
    )
    closed_after: int | None = Field(description="the block of the look that closed it; None: it is open")
    configurations: list[str] = Field(
        description="those that it is still about, sorted: they may be the best, or are a side of the contrast"
    )
    chance: float = Field(description="that the blocks left when it was last tested would decide more of it")

    @property
    def key(self) -> tuple[str, str, str, str, str, str]:
        """What makes it the same question at the next look."""
        return self.kind, self.benchmark, self.metric, self.view, self.basis or "", self.about

    @property
    def scope(self) -> Scope | None:
        """Of a best one; None: it is a contrast."""
        return Scope.read(self.about) if self.kind == "best" else None


class Look(Frozen):
    """looks/NN.json: the questions of a study after a block, and what is still measured. Written before the next block.

    It can be made again from the trials that it names and the looks before it.
    """

    schema_: Literal["nephoscope/look/1"] = Field(default="nephoscope/look/1", alias="schema")
    rule: int = Field(
        ge=1,
        description="number of the rule that took it: a look of an earlier rule stands, and is not checked",
    )
    block: int = Field(ge=1, description="the last block that it saw")
    last: int = Field(ge=1, description="the last block of the plan")
    level: float = Field(description="two-sided level of every test of this look")
    last_level: float = Field(description="level that is kept for the last look")
    questions: list[QuestionAtLook]
    measured: dict[str, list[str]] = Field(
        description="benchmark -> configurations that an open question needs: only these have trials in the next block"
    )
    planned: dict[str, list[str]] = Field(description="benchmark -> configurations of the plan, sorted")
    trials: list[str] = Field(description="'trial/attempt' of every trial whose numbers it used, sorted")
    inputs_digest: str = Field(description="SHA-256 of these numbers")

    @property
    def findings(self) -> tuple[object, ...]:
        """What it says, without chances, whose last digits may depend on the processor."""
        said = [(row.key, row.state, row.closed_after, row.configurations) for row in self.questions]
        return self.block, self.measured, self.inputs_digest, said

    def outcomes(self) -> dict[str, int]:
        """How many questions were closed for which reason, in words."""
        counts = Counter(row.state for row in self.questions)
        return {words: counts[state] for state, words in OUTCOMES.items() if counts[state]}


def not_needed(trials: Iterable[PlannedTrial], looks: Collection[Look]) -> dict[str, int]:
    """Planned trials that no open question needs -> the block after which that was known.

    Args:
        trials: of the plan.
        looks: in any order. The trials of a block follow from the last look before it.
    """
    by_block = sorted(looks, key=lambda look: look.block)
    found: dict[str, int] = {}
    for planned in trials:
        intent = planned.intent
        before = [look for look in by_block if look.block < intent.block]
        if before and intent.configuration_name not in before[-1].measured.get(intent.benchmark.name, []):
            found[intent.id] = before[-1].block
    return found
