"""What the dollars would buy that a study leaves of a budget. Pure: each purchase is the difference of two plans."""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor

from nephoscope.model.records import Plan
from nephoscope.study.model import Configuration, Study
from nephoscope.study.provisioning import CLOUDS

THREE = 3
"""The least machines of a database of which one may fail."""


@dataclass(frozen=True)
class Purchase:
    """One thing that the rest of a budget would pay for."""

    what: str
    """'replicates', 'database machines', 'region' or 'load'."""
    usd: float
    """Of one."""
    count: int
    """How many of them it pays for."""
    benchmark: str = ""
    """Whose load is as dear, of a second load."""


def purchases(
    study: Study, planned: Plan, left_usd: float, price_of: Callable[[Study], float | None]
) -> list[Purchase]:
    """What the rest pays for, in the order of what it decides: more replicates, then wider questions.

    Args:
        study: what is planned.
        planned: its plan.
        left_usd: the rest of the budget.
        price_of: of the plan of another study.
    """
    whole_usd = planned.price_usd
    if not whole_usd:
        return []
    loads = _loads_usd(planned)
    dearest = max(loads, key=lambda name: (loads[name], name))
    found = [
        ("replicates", _more(whole_usd, price_of(study.model_copy(update={"replicates": study.replicates + 1}))), ""),
        ("load", loads[dearest], dearest),
        ("database machines", _more(whole_usd, _price_of_three(study, price_of)), ""),
        ("region", whole_usd, ""),
    ]
    return [
        Purchase(what, usd, floor(left_usd / usd), benchmark)
        for what, usd, benchmark in found
        if usd and usd <= left_usd
    ]


def _more(whole_usd: float, usd: float | None) -> float | None:
    return None if usd is None or usd <= whole_usd else usd - whole_usd


def _loads_usd(planned: Plan) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in planned.trials:
        name = row.intent.benchmark.name
        found[name] = found.get(name, 0.0) + (row.price_usd or 0.0)
    return found


def _price_of_three(study: Study, price_of: Callable[[Study], float | None]) -> float | None:
    """None: no database has fewer machines."""
    wider = [_wider(one) for one in study.configurations]
    return None if wider == study.configurations else price_of(study.model_copy(update={"configurations": wider}))


def _wider(configuration: Configuration) -> Configuration:
    machine = configuration.database_machine
    if configuration.provider not in CLOUDS or machine.count >= THREE:
        return configuration
    return configuration.model_copy(update={"database_machine": machine.model_copy(update={"count": THREE})})
