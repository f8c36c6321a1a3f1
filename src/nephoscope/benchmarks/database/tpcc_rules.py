"""What a method requires of a TPC-C measurement before it accepts its number: efficiency and response times."""

from collections.abc import Mapping
from dataclasses import dataclass

from nephoscope.benchmarks.histograms import Quantile
from nephoscope.model.records import Relation, Requirement

MAX_TPMC_PER_WAREHOUSE = 12.86
"""By the least mix of clause 5.2.3 (45/43/4/4/4): what CockroachDB's command line, go-tpc and YDB divide by."""
MAX_TPMC_PER_WAREHOUSE_OF_DECK = 12.605
"""By the deck of 23 cards (476 s of keying and thinking a deck): what CockroachDB's `tpccbench` divides by."""
MIN_TPMC_PER_WAREHOUSE = 9.0
"""Clause 4.2: a smaller one is of a data set too large for its load."""

P90, P95 = Quantile(0.9), Quantile(0.95)
LIMITS_S: Mapping[str, float] = {
    "new_order": 5.0,
    "payment": 5.0,
    "order_status": 5.0,
    "delivery": 5.0,
    "stock_level": 20.0,
}
"""90th percentiles of response times, clause 5.2.5.7; Delivery's is that of its queueing."""


@dataclass(frozen=True)
class PassRule:
    """A rule of a method; it requires only what it names."""

    source: str
    least_efficiency_percent: float | None = None
    most_tpmc: float = MAX_TPMC_PER_WAREHOUSE
    """What the efficiency is a percentage of, per active warehouse."""
    efficiency_or_equal: bool = True
    """False: just reaching the efficiency is not enough."""
    limit_or_equal: bool = True
    """The same of the limits of response times."""
    quantile: Quantile = P90
    limits_s: Mapping[str, float] | None = None
    mean_within_p90: bool = False
    least_tpmc_per_warehouse: float | None = None

    def text(self) -> str:
        """In words, for the reference."""
        parts = []
        if self.least_efficiency_percent is not None:
            sign = "≥" if self.efficiency_or_equal else ">"
            parts.append(f"efficiency of {self.most_tpmc:g} {sign} {self.least_efficiency_percent:g} %")
        if self.least_tpmc_per_warehouse is not None:
            parts.append(f"tpmC per warehouse ≥ {self.least_tpmc_per_warehouse:g}")
        for operation, limit_s in (self.limits_s or {}).items():
            sign = "≤" if self.limit_or_equal else "<"
            parts.append(f"{operation.replace('_', ' ')} {self.quantile.name} {sign} {limit_s:g} s")
        if self.mean_within_p90:
            parts.append("mean ≤ p90 of each")
        return "; ".join(parts)


TPCCBENCH = PassRule(
    source="CockroachDB `tpccbench`",
    least_efficiency_percent=85,
    most_tpmc=MAX_TPMC_PER_WAREHOUSE_OF_DECK,
    limits_s=LIMITS_S,
)
CR2020 = PassRule(
    source="Cloud Report 2020, and the CockroachDB 19.2 recipe for the efficiency",
    least_efficiency_percent=85,
    limit_or_equal=False,
    limits_s={"new_order": 5.0},
)
CR2021 = PassRule(
    source="cloud-report, analyze.go",
    least_efficiency_percent=85,
    efficiency_or_equal=False,
    limit_or_equal=False,
    quantile=P95,
    limits_s={"new_order": 10.0},
)
SPEC = PassRule(
    source="TPC-C 5.2.5 and 4.2",
    limits_s=LIMITS_S,
    mean_within_p90=True,
    least_tpmc_per_warehouse=MIN_TPMC_PER_WAREHOUSE,
)


@dataclass(frozen=True)
class Responses:
    """Response times of one operation, in seconds. A quantile is missing where too few values lie beyond it."""

    mean_s: float
    quantiles_s: Mapping[str, float]


def requirements(
    rule: PassRule, *, tpmc: float, active_warehouses: int, responses: Mapping[str, Responses]
) -> list[Requirement]:
    """What the rule requires and what was observed; `observed` is None when there are too few operations."""
    above: Relation = "at least" if rule.efficiency_or_equal else "above"
    below: Relation = "at most" if rule.limit_or_equal else "below"
    found = []
    if rule.least_efficiency_percent is not None:
        efficiency = 100 * tpmc / (rule.most_tpmc * active_warehouses)
        found.append(
            _asked(rule, f"efficiency of {rule.most_tpmc:g}", efficiency, above, rule.least_efficiency_percent, "%")
        )
    if rule.least_tpmc_per_warehouse is not None:
        per_warehouse = tpmc / active_warehouses
        found.append(_asked(rule, "tpmC per warehouse", per_warehouse, "at least", rule.least_tpmc_per_warehouse, ""))
    for operation, limit_s in (rule.limits_s or {}).items():
        seen, name = responses.get(operation), f"{operation.replace('_', ' ')} {rule.quantile.name}"
        observed = seen.quantiles_s.get(rule.quantile.name) if seen else None
        found.append(_asked(rule, name, observed, below, limit_s, "s"))
        p90_s = seen.quantiles_s.get(P90.name) if seen else None
        if rule.mean_within_p90 and seen is not None and p90_s is not None:
            found.append(_asked(rule, f"{operation.replace('_', ' ')} mean", seen.mean_s, "at most", p90_s, "s"))
    return found


def _asked(
    rule: PassRule, what: str, observed: float | None, relation: Relation, limit: float, unit: str
) -> Requirement:
    return Requirement(what=what, observed=observed, relation=relation, limit=limit, unit=unit, source=rule.source)
