"""Recorded outputs of the load generator with changes: what it would say of waits, threads, paces and retries."""

import json
from collections.abc import Callable
from typing import Any

from nephoscope.benchmarks.histograms import merged

Line = dict[str, Any]


def changed(recording: bytes, change: Callable[[Line], None]) -> bytes:
    """Every line of an output, changed in place."""
    lines = [json.loads(line) for line in recording.splitlines()]
    for line in lines:
        change(line)
    return b"\n".join(json.dumps(line).encode() for line in lines)


def histogram_of(*values_ns: int, times: int = 1) -> str:
    """As the generator writes it, with each value so often."""
    histogram = merged([])
    for value_ns in values_ns:
        histogram.record_value(value_ns, times)
    return str(histogram.encode().decode())


def with_waits(recording: bytes, **workload: Any) -> bytes:
    """A run of TPC-C with the waits of the specification."""

    def change(line: Line) -> None:
        if line["event"] == "started":
            line["spec"]["workload"] |= {"wait": "spec", **workload}

    return changed(recording, change)


def at_rate(recording: bytes, rate_per_s: float, offered: int, not_sent: int = 0) -> bytes:
    """A run in the constant pace."""

    def change(line: Line) -> None:
        if line["event"] == "started":
            line["spec"]["pace"] = {"kind": "constant", "rate_per_s": rate_per_s}
        if line["event"] == "finished":
            line |= {"offered": offered, "not_sent": not_sent}

    return changed(recording, change)


def with_client(recording: bytes, **use: Any) -> bytes:
    """What the generator says of itself in every interval, of two threads by default."""
    threads = [
        {"cpu_s": 0.3, "run_queue_s": 0.01, "involuntary_switches": 2},
        {"cpu_s": 0.5, "run_queue_s": 0.02, "involuntary_switches": 0},
    ]

    def change(line: Line) -> None:
        if line["event"] == "interval":
            line["client"] |= {"threads": threads, "steal_s": 0.0, "throttled": 0, **use}

    return changed(recording, change)


def with_a_retry(recording: bytes, operation: str, attempts_ns: tuple[int, ...]) -> bytes:
    """One more 40001 in the last interval of the measurement, and the attempts of that second."""
    last = max(json.loads(line)["index"] for line in recording.splitlines()[1:-1])

    def change(line: Line) -> None:
        row = {"operation": operation, "sqlstate": "40001", "kind": "retried", "count": 1}
        if line["event"] == "interval" and line["index"] == last:
            line["errors"] = [*line["errors"], row]
            histogram = histogram_of(*attempts_ns)
            line["attempts"] = [{"operation": operation, "count": len(attempts_ns), "histogram": histogram}]
        if line["event"] == "finished":
            line["errors"] = [*line["errors"], row]

    return changed(recording, change)
