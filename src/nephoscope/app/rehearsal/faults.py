"""Numbers of `adversity` that nobody measured: outages, the seconds around them, and what the ledger counts."""

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.app.rehearsal.machines import SimulatedMachine
from nephoscope.benchmarks.database.adversity import (
    ACKNOWLEDGED,
    IN_DOUBT,
    LASTED,
    LOST,
    OPERATIONS,
    QUANTITIES,
    RESPONSE,
    USUAL_RATE,
    AdversityParameters,
)
from nephoscope.model.records import ERRORS, Measurement
from nephoscope.study.model import Database

SHOWN_S = 45.0
"""Before and after a fault: of other seconds nothing is drawn, as a study has many thousands."""
_BACK_S = 1.5
"""For a server to start and recover, and for clients to find it."""
_RATE_PER_S = 1_000.0
_RESPONSE_S = 0.004
_SPREAD = 0.1
_LOST = 12
"""Acknowledged writes of the moment before a fault, where no other copy has them."""


def measured(parameters: AdversityParameters, machine: SimulatedMachine, drawn: random.Random) -> Iterator[Measurement]:
    """What one trial reports."""
    database, schedule = machine.asked.database, parameters.schedule
    rate_per_s = parameters.rate_per_s or _RATE_PER_S * machine.vcpus * machine.speed
    ended: dict[str, list[float]] = {one.metric.name: [] for one in QUANTITIES}
    for number in range(schedule.count):
        begin_s = schedule.first_s + number * schedule.cycle_s
        outage_s = _outage_s(parameters, database) * math.exp(drawn.gauss(0, _SPREAD))
        values = _values(parameters, outage_s, database)
        for quantity in QUANTITIES:
            ended[quantity.metric.name].append(values[quantity.metric.name])
            yield quantity.of_outage.measured(values[quantity.metric.name], begin_s)
        yield LASTED.measured(parameters.fault_s, begin_s)
        until_s = min(begin_s + outage_s + SHOWN_S, begin_s + parameters.fault_s + parameters.recovery_s)
        for second in range(round(begin_s - min(parameters.baseline_s, SHOWN_S)), round(until_s)):
            is_away = begin_s <= second < begin_s + outage_s
            each = 0.0 if is_away else rate_per_s * math.exp(drawn.gauss(0, 0.02))
            yield OPERATIONS.measured(each, second + 1.0)
            if not is_away:
                late_s = outage_s if second < begin_s + outage_s + 1 and second > begin_s else 0.0
                yield RESPONSE.measured(late_s + _RESPONSE_S * math.exp(drawn.gauss(0, 0.1)), second + 1.0)
    for quantity in QUANTITIES:
        of_trial = sorted(ended[quantity.metric.name])
        yield quantity.metric.measured(of_trial[len(of_trial) // 2])
    yield USUAL_RATE.measured(rate_per_s)
    yield ACKNOWLEDGED.measured(float(round(rate_per_s * (schedule.end_s - schedule.first_s) / 2)))
    yield IN_DOUBT.measured(float(schedule.count))
    yield LOST.measured(float(_LOST * schedule.count if _loses(parameters, database) else 0))


def _outage_s(parameters: AdversityParameters, database: Database) -> float:
    """Until another server has taken over, or the same one is back."""
    if database.failover == "patroni" and parameters.fault_s > (of := database.patroni.ttl if database.patroni else 30):
        return 0.85 * of + _BACK_S
    if database.failover is not None:
        timeout_ms = float(database.settings.get("cluster-node-timeout", "5000"))
        return min(timeout_ms / 1_000 + _BACK_S, parameters.fault_s + _BACK_S)
    return parameters.fault_s + (0.0 if parameters.fault == "pause" else _BACK_S)


def _loses(parameters: AdversityParameters, database: Database) -> bool:
    if parameters.fault != "kill":
        return False
    is_synchronous = database.patroni is not None and database.patroni.synchronous_mode
    return (database.failover is not None and not is_synchronous) or database.settings.get(
        "synchronous_commit"
    ) == "off"


def _values(parameters: AdversityParameters, outage_s: float, database: Database) -> Mapping[str, Any]:
    """Quantity -> its value."""
    during = max(0.0, 1 - outage_s / max(parameters.fault_s, 1e-9))
    errors = {one.metric.name: 0.0 for one in QUANTITIES if one.metric.name.startswith(ERRORS)}
    return {
        **errors,
        f"{ERRORS}lost": float(database.connections),
        "longest_outage": outage_s,
        "clients_hit_share": 1.0,
        "time_at_zero": outage_s,
        "time_slow": float(round(outage_s)),
        "time_to_usual_rate": outage_s + 0.5,
        "time_to_complete_copies": max(outage_s, parameters.fault_s) + 2.0,
        "throughput_during_share": during,
        "throughput_after_share": 1.1,
        "response_p99_ratio": outage_s / _RESPONSE_S,
    }
