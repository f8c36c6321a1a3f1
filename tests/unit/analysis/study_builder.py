"""Small studies for tests: rows as a store would supply them."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from nephoscope.analysis.inputs import ObservedMachine, StudyInputs
from nephoscope.model.records import Direction, Facts, Metric, Plan, VerdictKind
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, NetworkRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.study.model import Study

TPMC = Metric(
    name="new_orders_per_minute",
    unit="New-Orders/min",
    direction=Direction.HIGHER,
    title="New-Orders committed",
    headline=True,
    per_cpu=True,
)
LATENCY = Metric(name="p95_s", unit="s", direction=Direction.LOWER, title="95th percentile of response time")
METRICS: dict[str, list[Metric]] = {"tpcc": [TPMC, LATENCY]}


def trial(name: str, configuration: str, replicate: int = 1, **changes: Any) -> TrialRow:
    """A trial that counts, of tpcc, unless said otherwise."""
    fields: dict[str, Any] = {
        "trial": name,
        "configuration": configuration,
        "benchmark": "tpcc",
        "subject": Subject.DATABASE,
        "uses": "tpcc",
        "replicate": replicate,
        "block": replicate,
        "position": replicate,
        "position_in_block": 1,
        "cpus": 1,
        "state": "finished",
        "verdict": VerdictKind.VALID,
        "reasons": [],
        "attempt": 1,
        "attempts": 1,
        "started_unix_ms": 1_000_000 * replicate,
        "duration_s": 10.5,
        "client_cpu_share": None,
        "conditions": [],
        "folder": None,
    }
    return TrialRow(**(fields | changes))


def measurement(
    of: TrialRow,
    value: float,
    metric: Metric = TPMC,
    at_s: float | None = None,
    role: str | None = "database",
) -> MeasurementRow:
    """One number of a trial."""
    return MeasurementRow(
        trial=of.trial,
        configuration=of.configuration,
        benchmark=of.benchmark,
        subject=of.subject,
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        value=value,
        role=role,
        at_s=at_s,
        replicate=of.replicate,
        block=of.block,
        position=of.position,
        valid=of.counts,
    )


def traffic(
    of: TrialRow, machine: str, role: str, *, sent: float, received: float, sampled_s: float = 10.0
) -> NetworkRow:
    """Bytes that a machine sent and received during a trial."""
    return NetworkRow(
        trial=of.trial,
        configuration=of.configuration,
        benchmark=of.benchmark,
        subject=of.subject,
        machine=machine,
        role=role,
        sampled_s=sampled_s,
        received_bytes=received,
        sent_bytes=sent,
        valid=of.counts,
    )


Item = TypeVar("Item")


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in another order."""
    return [items[int(index)] for index in np.random.default_rng(seed).permutation(len(items))]


Rows = tuple[list[TrialRow], list[MeasurementRow]]


def rows(
    values: Mapping[str, Sequence[float]],
    *,
    benchmark: str = "tpcc",
    subject: Subject = Subject.DATABASE,
    metric: Metric = TPMC,
    cpus: Mapping[str, int] | None = None,
) -> Rows:
    """One trial per value: configuration -> values, in blocks."""
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    for place, (configuration, many) in enumerate(values.items(), start=1):
        for replicate, value in enumerate(many, start=1):
            row = trial(
                f"{benchmark}-{configuration}-{replicate}",
                configuration,
                replicate,
                benchmark=benchmark,
                subject=subject,
                position=(replicate - 1) * len(values) + place,
                position_in_block=place,
                cpus=(cpus or {}).get(configuration, 1),
            )
            trials.append(row)
            measurements.append(measurement(row, value, metric))
    return trials, measurements


def noisy(
    factors: dict[str, float], deviation: float = 0.004, n: int = 6, seed: int = 1, cpus: dict[str, int] | None = None
) -> Rows:
    """Configuration -> factor of its values, which are drawn around 1000; as `rows`."""
    generator = np.random.default_rng(seed)
    values = {
        name: [float(1000 * factor * value) for value in generator.lognormal(0, deviation, n)]
        for name, factor in factors.items()
    }
    return rows(values, cpus=cpus)


def observed(of: TrialRow, **facts: Any) -> ObservedMachine:
    """Facts of the machine of a trial."""
    return ObservedMachine(
        trial=of.trial,
        configuration=of.configuration,
        role="database",
        machine="here",
        facts=Facts(at_unix_ms=1, **facts),
    )


def inputs(
    found: Rows,
    metrics: Mapping[str, Sequence[Metric]] = METRICS,
    types: Mapping[str, tuple[str, str]] | None = None,
    **more: Any,
) -> StudyInputs:
    """A whole study around rows; `types` maps a configuration to its provider and machine type."""
    names = sorted({row.configuration for row in found[0]}) or ["none"]
    subjects = {row.benchmark: row.subject for row in found[0]}
    machines = {
        name: {"provider": provider, "database_machine": {"type": machine_type}}
        for name, (provider, machine_type) in (types or {}).items()
    }
    study = Study(
        name="example",
        seed=7,
        configurations=[{"name": name, **machines.get(name, {})} for name in names],
        benchmarks=[{"uses": name} for name in metrics],
    )
    return StudyInputs(
        study=study,
        study_toml="",
        plan=Plan(study="example", seed=7, trials=[], expected_duration_s=0, price_usd=None, unpriced=[], warnings=[]),
        nephoscope_version="0",
        benchmarks=[
            BenchmarkRow(
                benchmark=name,
                subject=subjects.get(name, Subject.DATABASE),
                uses=name,
                version=1,
                title=name,
                parameters={},
                metrics=list(many),
            )
            for name, many in metrics.items()
        ],
        trials=found[0],
        measurements=found[1],
        **more,
    )
