"""What more replicates would take: machine time, and dollars where the machines have a price."""

from collections.abc import Iterable
from statistics import fmean

from nephoscope.analysis.findings import Findings
from nephoscope.model.price_rows import CostRow
from nephoscope.model.units import SECONDS_PER_HOUR

_BASES = ("stated", "on-demand")
"""Nobody commits to a year for a few replicates."""


def more_replicates(findings: Findings, benchmark: str, configurations: Iterable[str], more: int) -> dict[str, float]:
    """`hours` on all configurations together, and `usd` when each has a price; empty when no duration is known.

    Assumes that a trial lasts as long as the mean of those that finished, and that machines are paid for only that
    long; creating a cluster comes on top. Volumes are left out: a few hours of them cost little.
    """
    names = sorted(configurations)
    lasted = {name: findings.durations_s.get((benchmark, name)) for name in names}
    if not all(lasted.values()):
        return {}
    hours = {name: more * fmean(durations) / SECONDS_PER_HOUR for name, durations in lasted.items() if durations}
    found = {"hours": sum(hours.values())}
    rates = {name: _usd_per_hour(findings.costs_of(name)) for name in names}
    known = [hours[name] * rate for name, rate in rates.items() if rate is not None]
    return found | {"usd": sum(known)} if len(known) == len(names) else found


def effort_words(effort: dict[str, float]) -> str:
    """A part of a template: 'about 1 h 12 min of machine time (about $3.10)'; empty where nothing is known."""
    if not effort:
        return ""
    return "about {hours:hours} of machine time" + (" (about {usd:money})" if "usd" in effort else "")


def _usd_per_hour(costs: Iterable[CostRow]) -> float | None:
    for basis in _BASES:
        for row in costs:
            if row.basis == basis and row.usd_per_hour is not None:
                return row.usd_per_hour * max(1, row.machines)
    return None
