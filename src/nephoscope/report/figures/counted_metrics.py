"""Metrics measured at several numbers of threads or streams, or in working sets of several sizes, recognised by name.

`read-16.iops` (sysbench-fileio), `written_bytes_per_s_16_threads` (imported), `3-streams.throughput` (multi-stream),
`transactions_per_min_16_clients` (imported), `read-multi.bandwidth_in_32768_bytes` (memory).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nephoscope.model.records import Metric

BYTES = "bytes"
"""Counted: bytes of a working set."""
_FORMS = (
    re.compile(r"(?P<count>\d+)-(?P<counted>streams|threads)\.(?P<quantity>\w+)"),
    re.compile(r"(?P<what>[a-z][a-z-]*?)-(?P<count>\d+)\.(?P<quantity>iops|bandwidth|latency_mean|latency_p95)"),
    re.compile(r"(?P<quantity>[a-z]\w*?)_(?P<count>\d+)_(?P<counted>threads|streams|clients)"),
    re.compile(rf"(?P<what>[a-z][a-z-]*)\.(?P<quantity>\w+)_in_(?P<count>\d+)_(?P<counted>{BYTES})"),
)
_LEAST = 2
"""A single number of threads does not make a curve."""


@dataclass(frozen=True)
class Curve:
    """One quantity over the number of threads."""

    what: str
    """'read'; empty where the quantity already says it."""
    quantity: str
    counted: str
    metrics: tuple[tuple[int, Metric], ...]

    @property
    def title(self) -> str:
        """'read IOPS'."""
        return f"{self.what} {self.quantity}".strip().replace("_", " ").replace("iops", "IOPS")


def curves_of(metrics: Iterable[Metric]) -> list[Curve]:
    """Every quantity with at least two numbers of threads, in the order of the metrics."""
    found: dict[tuple[str, str, str], list[tuple[int, Metric]]] = {}
    for metric in metrics:
        match = next((match for form in _FORMS if (match := form.fullmatch(metric.name))), None)
        if match:
            parts = match.groupdict()
            key = (parts.get("what") or "", parts["quantity"], parts.get("counted") or "threads")
            found.setdefault(key, []).append((int(parts["count"]), metric))
    return [
        Curve(what, quantity, counted, tuple(sorted(many, key=lambda one: one[0])))
        for (what, quantity, counted), many in found.items()
        if len(many) >= _LEAST
    ]
