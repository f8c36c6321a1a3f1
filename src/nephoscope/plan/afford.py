"""The part of a study that answers the most questions for so many dollars. Pure.

A question is a pair of configurations that one benchmark compares. Within a benchmark, the cheapest configurations
give the most pairs for the money. Between benchmarks, the one with the most pairs per dollar comes first, with as many
configurations as the rest of the budget pays; then the next one, until nothing more fits.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.words import dollars
from nephoscope.plan.order import Cell
from nephoscope.study.model import Study


@dataclass(frozen=True)
class _Extent:
    """A benchmark on some of its configurations."""

    benchmark: str
    configurations: tuple[str, ...]
    usd: float

    @property
    def pairs_per_usd(self) -> float:
        return math.comb(len(self.configurations), 2) / self.usd if self.usd else math.inf


@dataclass(frozen=True)
class _Choice:
    """A part of a study."""

    study: Study
    usd: float
    """What its trials cost in the plan of the whole, where they share clusters with others."""


def affordable(study: Study, plan_of: Callable[[Study], Plan], budget_usd: float) -> Study:
    """The chosen part of a study; see the module for the rule. Its own plan never costs more than the budget.

    Trials that share a cluster with others in the plan of the whole pay for it alone once the others are left out. So a
    part may cost more than its trials do there, and the largest sum is sought whose choice still fits.

    Args:
        study: the study, or a part of it.
        plan_of: the plan of a part, with the price of every trial.
        budget_usd: for all replicates of what is chosen.

    Raises:
        InputError: a configuration has no price, or the budget does not pay for one pair under any benchmark.
    """
    costs_usd = _costs_usd(plan_of(study))
    best: Study | None = None
    low_usd, high_usd, aim_usd = 0.0, budget_usd, budget_usd
    for _ in range(_MAX_TRIES):
        choice = _choice(study, costs_usd, aim_usd)
        if choice is not None and (plan_of(choice.study).price_usd or 0.0) > budget_usd:
            high_usd = choice.usd
        else:
            best = best if choice is None else choice.study
            low_usd = aim_usd
        if high_usd - low_usd < _CLOSE_SHARE * budget_usd:
            break
        aim_usd = (low_usd + high_usd) / 2
    return best or _of_one_benchmark(_only(study, costs_usd), plan_of, budget_usd)


_MAX_TRIES = 10
_CLOSE_SHARE = 0.01
"""Of the budget: sums this close to each other are not told apart."""


def _of_one_benchmark(study: Study, plan_of: Callable[[Study], Plan], budget_usd: float) -> Study:
    """The most pairs under one benchmark, at the prices that it has without the others.

    Raises:
        InputError: the budget does not pay for one pair.
    """
    labels = [one.label for one in study.benchmarks]
    alone = {label: _costs_usd(plan_of(_only(study, [label])))[label] for label in labels}
    extents = [one for label, of in alone.items() if (one := _extent(label, of, budget_usd))]
    for extent in sorted(extents, key=lambda one: (len(one.configurations), one.pairs_per_usd), reverse=True):
        part = _with(study, {extent.benchmark: extent.configurations})
        if (plan_of(part).price_usd or 0.0) <= budget_usd:
            return part
    least_usd = min((sum(sorted(of.values())[:2]) for of in alone.values() if len(of) > 1), default=None)
    if least_usd is None:
        raise InputError("--budget chooses pairs of configurations, but no benchmark here runs on two of them")
    raise InputError(
        f"{dollars(budget_usd)} do not pay for a comparison: the cheapest one costs {dollars(least_usd)}",
        hint="raise --budget, or lower `replicates`",
    )


def _only(study: Study, labels: Collection[str]) -> Study:
    return study.model_copy(update={"benchmarks": [one for one in study.benchmarks if one.label in labels]})


def _choice(study: Study, costs_usd: Mapping[str, Mapping[str, float]], aim_usd: float) -> _Choice | None:
    """What so much pays at these prices; None: not one pair."""
    chosen: dict[str, _Extent] = {}
    left_usd = aim_usd
    while best := max(
        (one for label, of in costs_usd.items() if label not in chosen and (one := _extent(label, of, left_usd))),
        key=lambda one: (one.pairs_per_usd, one.benchmark),
        default=None,
    ):
        chosen[best.benchmark] = best
        left_usd -= best.usd
    if not chosen:
        return None
    return _Choice(_with(study, {label: one.configurations for label, one in chosen.items()}), aim_usd - left_usd)


def _costs_usd(planned: Plan) -> dict[str, dict[str, float]]:
    """Benchmark -> configuration -> all replicates."""
    if planned.price_usd is None:
        raise InputError(
            f"--budget needs a price for every configuration ({'; '.join(map(str, planned.unpriced[:3]))})",
            hint="set price_usd_per_hour, or leave out these configurations by --types",
        )
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in planned.trials:
        found[row.intent.benchmark.name][row.intent.configuration_name] += row.price_usd or 0.0
    return found


def _extent(benchmark: str, costs_usd: Mapping[str, float], left_usd: float) -> _Extent | None:
    """As many configurations as the money pays, the cheapest first; None: not even two."""
    names: list[str] = []
    spent_usd = 0.0
    for name, usd in sorted(costs_usd.items(), key=lambda item: (item[1], item[0])):
        if spent_usd + usd > left_usd:
            break
        names.append(name)
        spent_usd += usd
    return _Extent(benchmark, tuple(names), spent_usd) if len(names) > 1 else None


def _with(study: Study, chosen: Mapping[str, Sequence[str]]) -> Study:
    kept = {name for names in chosen.values() for name in names}
    entries = [
        one.model_copy(update={"configurations": list(chosen[one.label])})
        for one in study.benchmarks
        if one.label in chosen
    ]
    configurations = [one for one in study.configurations if one.name in kept]
    return study.model_copy(update={"benchmarks": entries, "configurations": configurations})


@dataclass(frozen=True)
class LeftOut:
    """A benchmark that a part of a study runs on fewer configurations than the study, or not at all."""

    chapter: str
    benchmark: str
    configurations: int
    """On which it still runs."""
    of_configurations: int


def left_out(whole: Iterable[Cell], chosen: Plan, chapters: Mapping[str, str]) -> list[LeftOut]:
    """What a part leaves out, in the order of the study.

    Args:
        whole: everything that was asked for.
        chosen: plan of the part.
        chapters: of each benchmark, by its name, in the order of the study.
    """
    asked = Counter(label for _, label in whole)
    kept = Counter(
        label for _, label in {(row.intent.configuration_name, row.intent.benchmark.name) for row in chosen.trials}
    )
    return [LeftOut(chapters[one], one, kept[one], asked[one]) for one in chapters if kept[one] < asked[one]]
