"""All rules by name. To add one, add its file and a line here; tests over the registry pick it up."""

from collections.abc import Mapping
from typing import Protocol

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights import (
    altered,
    answer,
    caps,
    claims,
    colocated,
    consistency,
    contrasts,
    encryption,
    exchanged,
    exclusions,
    families,
    gaps,
    gate,
    growth,
    leaders,
    looks,
    lower_bounds,
    machines,
    noise,
    order,
    outliers,
    per_cpu,
    precision,
    predictors,
    price_age,
    price_leaders,
    replicates,
    shared_machines,
    steadiness,
    steal,
    storage,
    transfer,
    unobserved,
    usable,
    versions,
)
from nephoscope.insights.scope import scoped
from nephoscope.insights.words import Draft
from nephoscope.model.missing import MissingPart, contained
from nephoscope.model.rows import Insight


class Rule(Protocol):
    """One rule; its module in `insights` says what it reports. It never claims more than the verdict."""

    def __call__(self, lookup: Lookup) -> list[Draft]:
        """Its sentences in a stable order; empty when it has nothing to report."""
        ...


RULES: Mapping[str, Rule] = {
    answer.NAME: answer.answer,
    leaders.NAME: leaders.leaders,
    price_leaders.NAME: price_leaders.price_leaders,
    contrasts.NAME: contrasts.contrasts,
    storage.NAME: storage.storage,
    transfer.NAME: transfer.transfer,
    families.NAME: families.families,
    per_cpu.NAME: per_cpu.per_cpu,
    growth.NAME: growth.growth,
    predictors.NAME: predictors.predictors,
    consistency.NAME: consistency.consistency,
    gate.NAME: gate.gate,
    lower_bounds.NAME: lower_bounds.lower_bounds,
    steal.NAME: steal.steal,
    altered.NAME: altered.altered,
    exclusions.NAME: exclusions.exclusions,
    looks.NAME: looks.looks,
    gaps.NAME: gaps.gaps,
    usable.NAME: usable.usable,
    replicates.NAME: replicates.replicates,
    precision.NAME: precision.precision,
    price_age.NAME: price_age.price_age,
    claims.NAME: claims.claims,
    machines.NAME: machines.machines,
    exchanged.NAME: exchanged.exchanged,
    shared_machines.NAME: shared_machines.shared_machines,
    versions.NAME: versions.versions,
    encryption.NAME: encryption.encryption,
    order.NAME: order.order,
    noise.NAME: noise.noise,
    outliers.NAME: outliers.outliers,
    steadiness.NAME: steadiness.unsteady,
    caps.NAME: caps.provider_caps,
    colocated.NAME: colocated.colocated,
    unobserved.NAME: unobserved.unobserved,
}
"""In the order in which a report shows them."""


def insights_of(lookup: Lookup, missing: list[MissingPart]) -> list[Insight]:
    """The sentences of all rules, in order; equal lookup give equal sentences.

    A rule that raises says nothing, and is added to `missing`.
    """
    insights: list[Insight] = []
    for name, rule in RULES.items():
        with contained(missing, "insight", name):
            insights += [draft.insight() for draft in scoped(rule(lookup), lookup)]
    return insights
