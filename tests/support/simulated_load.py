"""A load generator that is simulated: it answers a spec with the lines of the contract, as if a queue stood behind."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from nephoscope.machines.remote import Command, Completed, MachineHandle
from tests.support.load_lines import histogram_of

Capacity = Callable[[dict[str, Any], int], float]
"""Spec, and number of calls so far -> operations per second that the server can do."""
_SERVICE_S = 2e-4
_CLOSED_SHARE = 0.98
_USE = {"cpu_s": 0.2, "run_queue_s": 0.0, "involuntary_switches": 0}


class SimulatedProgram(ABC):
    """The `Execute` of a site on which nothing runs: `lines` are what it writes."""

    def __init__(self, raw_dir: Path) -> None:
        self.raw_dir = raw_dir
        self.specs: list[tuple[str, dict[str, Any]]] = []

    @abstractmethod
    def lines(self, spec: dict[str, Any], calls: int) -> Iterator[dict[str, Any]]: ...

    async def __call__(self, machine: MachineHandle, name: str, command: Command) -> Completed:
        spec = json.loads(command.stdin)
        self.specs.append((name, spec))
        lines = list(self.lines(spec, len(self.specs)))
        text = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
        (self.raw_dir / f"{name}.stdout").write_bytes(text)
        return Completed(tuple(command.argv), lines[-1]["exit_code"], text, b"", 0.0)


class SimulatedLoad(SimulatedProgram):
    """Point selects on a server of so much capacity."""

    def __init__(
        self,
        raw_dir: Path,
        capacity: Capacity,
        busiest_cpu_s: Callable[[float], float] = lambda _: 0.2,
        steal_s: Callable[[int], float] = lambda _: 0.0,
    ):
        super().__init__(raw_dir)
        self.steal_s = steal_s
        """Number of calls so far -> CPU time that the hypervisor takes in a second."""
        self.capacity = capacity
        self.busiest_cpu_s = busiest_cpu_s
        """Operations per second of one thread -> CPU time it uses in a second."""

    def lines(self, spec: dict[str, Any], calls: int) -> Iterator[dict[str, Any]]:
        return self.lines_at(spec, self.capacity(spec, calls))

    def lines_at(self, spec: dict[str, Any], capacity: float) -> Iterator[dict[str, Any]]:
        pace, seconds = spec.get("pace", {"kind": "closed"}), int(spec.get("duration_s", 10))
        closed = pace["kind"] == "closed"
        offered = round(_CLOSED_SHARE * capacity) if closed else round(pace["rate_per_s"])
        done = min(offered, int(capacity))
        threads = spec.get("threads", 1)
        yield {
            "event": "started",
            "schema": "nephoscope/load-output/1",
            "version": "simulated",
            "spec": spec,
            "at_unix_ms": 0,
            "server_version": None,
        }
        for index in range(seconds):
            behind = (offered - done) * index
            response_s = _SERVICE_S / max(0.02, 1 - offered / capacity) + behind / capacity
            yield {
                "event": "interval",
                "index": index,
                "phase": "measure",
                "at_unix_ms": 1000 * index,
                "start_s": index,
                "end_s": index + 1,
                "operations": [operation(done, response_s)],
                "errors": [],
                "offered": None if closed else offered,
                "client": {
                    "cpu_s": 0.2,
                    "in_flight": 0,
                    "threads": [{**_USE, "cpu_s": self.busiest_cpu_s(done / threads)}] * threads,
                    "queued": behind + offered - done,
                    "steal_s": self.steal_s(len(self.specs)),
                    "machine_cpus": 1,
                },
            }
        kept = done >= 0.99 * offered
        yield finished(seconds, done * seconds, None if closed else offered * seconds, 0 if kept else 4)


def operation(count: int, response_s: float) -> dict[str, Any]:
    response, service = (exactly(count, seconds) for seconds in (response_s, min(response_s, _SERVICE_S)))
    histograms = {"queue": exactly(count, max(response_s - _SERVICE_S, 1e-9)), "service": service, "response": response}
    return {"operation": "point_select", "outcome": "committed", "count": count, "histograms": histograms}


@cache
def exactly(count: int, seconds: float) -> str:
    """A histogram of `count` equal values."""
    return histogram_of(*[round(seconds * 1e9)], times=count)


def finished(seconds: int, count: int, offered: int | None, exit_code: int) -> dict[str, Any]:
    total = {"operation": "point_select", "outcome": "committed", "measured": count, "all": count}
    audit = {"name": "ids", "observed": 0.5, "low": 0.4, "high": 0.6, "draws": count, "passed": True}
    return {
        "event": "finished",
        "exit_code": exit_code,
        "message": "the rate was not kept" if exit_code else "",
        "elapsed_s": seconds,
        "measured_s": seconds,
        "operations": [total],
        "errors": [],
        "offered": offered,
        "not_sent": None if offered is None else offered - count,
        "round_trips": count,
        "audit": [audit],
        "conditions": [],
        "counters": [],
        "tables": [],
        "constants": {},
        "client_cpu_s": 0.2 * seconds,
        "peak_memory_bytes": 1,
    }
