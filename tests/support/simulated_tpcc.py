"""TPC-C with wait times on a server that is simulated: enough for so many warehouses, and slower beyond."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.simulated_load import SimulatedProgram, exactly, finished

PER_WAREHOUSE_PER_MIN = {
    "new_order": 12.6,
    "payment": 12.6,
    "order_status": 1.26,
    "delivery": 1.26,
    "stock_level": 1.26,
}
"""Transactions of one warehouse's ten terminals, by the deck of cards."""
CYCLE_S = 21.0
"""Of one terminal: keying, response, thinking."""
RESPONSE_S = 0.05

Capacity = Callable[[int], float]
"""Number of calls so far -> warehouses that the server can do."""


class SimulatedTpcc(SimulatedProgram):
    """TPC-C on a server for so many warehouses."""

    def __init__(self, raw_dir: Path, capacity: Capacity):
        super().__init__(raw_dir)
        self.capacity = capacity

    def lines(self, spec: dict[str, Any], calls: int) -> Iterator[dict[str, Any]]:
        """One interval. Beyond its capacity a closed loop of terminals waits: rates stay, response times grow."""
        capacity = self.capacity(calls)
        seconds, workload = int(spec.get("duration_s", 10)), spec["workload"]
        active = workload.get("active_warehouses", workload["warehouses"])
        response_s = RESPONSE_S + CYCLE_S * max(0.0, active / capacity - 1)
        driven = active * min(1.0, capacity / active)
        counts = {name: round(driven * rate * seconds / 60) for name, rate in PER_WAREHOUSE_PER_MIN.items()}
        started = {"event": "started", "schema": "nephoscope/load-output/1", "version": "simulated", "spec": spec}
        yield started | {"at_unix_ms": 0, "server_version": None}
        yield {
            "event": "interval",
            "index": 0,
            "phase": "measure",
            "at_unix_ms": 0,
            "start_s": 0,
            "end_s": seconds,
            "operations": [_operation(name, count, response_s) for name, count in counts.items() if count],
            "errors": [],
            "offered": None,
            "client": {
                "cpu_s": 0.2,
                "in_flight": 0,
                "threads": [{"cpu_s": 0.2, "run_queue_s": 0.0, "involuntary_switches": 0}],
            },
        }
        totals = [
            {"operation": name, "outcome": "committed", "measured": count, "all": count}
            for name, count in counts.items()
            if count
        ]
        yield finished(seconds, sum(counts.values()), None, 0) | {"operations": totals, "not_sent": None}


def _operation(name: str, count: int, response_s: float) -> dict[str, Any]:
    histograms = {
        "queue": exactly(count, max(response_s - RESPONSE_S, 1e-9)),
        "service": exactly(count, RESPONSE_S),
        "response": exactly(count, response_s),
    }
    return {"operation": name, "outcome": "committed", "count": count, "histograms": histograms}
