"""All rules by name. To add one: add its file, and its line here; registry-wide tests find it."""

from collections.abc import Mapping

from nephoscope.insights import (
    answer,
    claims,
    colocated,
    exclusions,
    machines,
    noise,
    order,
    outliers,
    per_cpu,
    replicates,
    versions,
)
from nephoscope.insights.base import Findings, Rule
from nephoscope.results import Insight

RULES: Mapping[str, Rule] = {
    answer.NAME: answer.answer,
    per_cpu.NAME: per_cpu.per_cpu,
    exclusions.NAME: exclusions.exclusions,
    replicates.NAME: replicates.replicates,
    claims.NAME: claims.claims,
    machines.NAME: machines.machines,
    versions.NAME: versions.versions,
    order.NAME: order.order,
    noise.NAME: noise.noise,
    outliers.NAME: outliers.outliers,
    colocated.NAME: colocated.colocated,
}
"""In the order in which a report tells them."""


def insights_of(findings: Findings) -> list[Insight]:
    """What all rules say, in their order; equal findings, equal sentences."""
    return [insight for rule in RULES.values() for insight in rule(findings)]
