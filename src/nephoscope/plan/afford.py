"""The part of a study that answers the most questions for so many dollars. Pure.

A question is a pair of configurations that one benchmark compares. Within a benchmark, the cheapest configurations
give the most pairs for the money. Between benchmarks, the one with the most pairs per dollar comes first, with as many
configurations as the rest of the budget pays; then the next one, until nothing more fits.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.words import dollars
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


def affordable(study: Study, planned: Plan, budget_usd: float) -> Study:
    """The chosen part of a study; see the module for the rule.

    Args:
        study: the study, or a part of it.
        planned: its plan, with the price of every trial.
        budget_usd: for all replicates of what is chosen.

    Raises:
        InputError: a configuration has no price, or the budget does not pay for one pair under any benchmark.
    """
    costs_usd = _costs_usd(planned)
    chosen: dict[str, _Extent] = {}
    left_usd = budget_usd
    while best := max(
        (one for label, of in costs_usd.items() if label not in chosen and (one := _extent(label, of, left_usd))),
        key=lambda one: (one.pairs_per_usd, one.benchmark),
        default=None,
    ):
        chosen[best.benchmark] = best
        left_usd -= best.usd
    if not chosen:
        least_usd = min(sum(sorted(of.values())[:2]) for of in costs_usd.values())
        raise InputError(
            f"{dollars(budget_usd)} do not pay for a comparison: the cheapest one costs {dollars(least_usd)}",
            hint="raise --budget, or lower `replicates`",
        )
    return _with(study, {label: one.configurations for label, one in chosen.items()})


def _costs_usd(planned: Plan) -> dict[str, dict[str, float]]:
    """Benchmark -> configuration -> all replicates."""
    if planned.price_usd is None:
        raise InputError(
            f"--budget needs a price for every configuration ({'; '.join(planned.unpriced[:3])})",
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
