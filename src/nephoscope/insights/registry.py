"""All rules by name. To add one, add a function to the file of its subject and a line here; tests pick it up."""

from collections.abc import Mapping
from typing import Protocol

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.advertised import advertised
from nephoscope.insights.best import answer, leaders, price_leaders
from nephoscope.insights.contrasts import contrasts, families, growth, operation_costs, per_cpu, storage
from nephoscope.insights.durability import durability
from nephoscope.insights.machines import (
    colocated,
    encryption,
    exchanged,
    machines,
    provider_caps,
    shared_machines,
    unobserved,
    versions,
)
from nephoscope.insights.missing import altered, claims, exclusions, gaps, looks, lower_bounds, usable
from nephoscope.insights.noise import noise, order, outliers, precision, replicates, unsteady
from nephoscope.insights.predictors import consistency, predictors
from nephoscope.insights.prices import price_age, price_doubts, transfer
from nephoscope.insights.scope import scoped
from nephoscope.insights.steal import gate, steal
from nephoscope.insights.words import Draft
from nephoscope.model.missing import MissingPart, contained
from nephoscope.model.rows import Insight


class Rule(Protocol):
    """One rule; its module in `insights` says what it reports. It never claims more than the verdict."""

    def __call__(self, lookup: Lookup) -> list[Draft]:
        """Its sentences in a stable order; empty when it has nothing to report."""
        ...


RULES: Mapping[str, Rule] = {
    "answer": answer,
    "leaders": leaders,
    "price_leaders": price_leaders,
    "contrasts": contrasts,
    "storage": storage,
    "families": families,
    "per_cpu": per_cpu,
    "operation_costs": operation_costs,
    "growth": growth,
    "predictors": predictors,
    "consistency": consistency,
    "gaps": gaps,
    "altered": altered,
    "exclusions": exclusions,
    "lower_bounds": lower_bounds,
    "claims": claims,
    "order": order,
    "shared_machines": shared_machines,
    "machines": machines,
    "versions": versions,
    "encryption": encryption,
    "durability": durability,
    "replicates": replicates,
    "steal": steal,
    "looks": looks,
    "steadiness": unsteady,
    "gate": gate,
    "noise": noise,
    "colocated": colocated,
    "unobserved": unobserved,
    "price_age": price_age,
    "price_doubts": price_doubts,
    "outliers": outliers,
    "caps": provider_caps,
    "advertised": advertised,
    "transfer": transfer,
    "usable": usable,
    "precision": precision,
    "exchanged": exchanged,
}
"""In the order in which a report shows them: answers, then what to doubt, the worst first, then the rest."""


def insights_of(lookup: Lookup, missing: list[MissingPart]) -> list[Insight]:
    """The sentences of all rules, in order; equal lookup give equal sentences.

    A rule that raises says nothing, and is added to `missing`.
    """
    insights: list[Insight] = []
    for name, rule in RULES.items():
        with contained(missing, "insight", name):
            insights += [draft.insight() for draft in scoped(rule(lookup), lookup)]
    return insights
