"""Made-up trials and measurements for the example study."""

import hashlib
import random
from dataclasses import dataclass, field

from nephoscope.model.records import BenchmarkUse, Direction, Metric, PlannedTrial, TrialIntent, VerdictKind
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.model.subjects import Subject
from tests.unit.analysis.study_builder import measurement

HOSTILE = "<script>alert('fio')</script> & \"quotes\" </script><img src=x onerror=alert(1)>"
STARTED_UNIX_MS = 1_781_000_000_000
UP, DOWN = Direction.HIGHER, Direction.LOWER
OPERATIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
PERCENTILES = ((50, 1.0), (90, 2.1), (95, 2.9), (99, 6.0))


def metric(name: str, unit: str, direction: Direction, title: str, **more: object) -> Metric:
    return Metric.model_validate({"name": name, "unit": unit, "direction": direction, "title": title, **more})


def latencies(operation: str, clock: str) -> list[Metric]:
    title = operation.replace("_", " ").capitalize()
    return [
        metric(f"{operation}_response_p{p}", "s", DOWN, f"{title} response time, p{p}", clock=clock)
        for p, _ in PERCENTILES
    ]


RESPONSE = "From the intended start of an operation until its last row has been read by the client."
CATALOGUE = {
    "stress-ng-matrix": [
        metric("bogo_ops_per_s", "bogo-op/s", UP, "Matrix products", headline=True, per_cpu=True, clock="Real time."),
        metric("usr_sys_bogo_ops_per_s", "bogo-op/s", UP, "Matrix products per CPU second", clock="CPU time."),
    ],
    "fio": [
        metric(f"{job}.{name}", unit, direction, f"{job.replace('-', ' ').capitalize()}: {title}", **more)
        for job in ("random-read", "random-write-fsync")
        for name, unit, direction, title, more in (
            ("iops", "IOPS", UP, "operations", {"headline": True}),
            ("bandwidth", "B/s", UP, "bandwidth", {}),
            ("latency_p50", "s", DOWN, "completion latency, p50", {"clock": "From submission to completion."}),
            ("latency_p95", "s", DOWN, "completion latency, p95", {"clock": "From submission to completion."}),
            ("latency_p99", "s", DOWN, "completion latency, p99", {"clock": "From submission to completion."}),
        )
    ],
    "tpcc": [
        metric("new_orders_per_minute", "1/min", UP, "New-Orders committed", headline=True, per_cpu=True, clock="Real"),
        metric("throughput", "transaction/s", UP, "Transactions committed", per_cpu=True),
        *[m for operation in OPERATIONS for m in latencies(operation, RESPONSE)],
        metric("client_cpu_share", "share", DOWN, "Client CPU"),
    ],
    "point-select": [
        metric("operations_per_s", "operation/s", UP, "Point selects", headline=True, per_cpu=True),
        *latencies("select", RESPONSE),
        metric("client_cpu_share", "share", DOWN, "Client CPU"),
    ],
}
SUBJECTS = {
    "stress-ng-matrix": Subject.CPU,
    "fio": Subject.STORAGE,
    "tpcc": Subject.DATABASE,
    "point-select": Subject.DATABASE,
}
LEVEL = {
    "bogo_ops_per_s": 1894.0,
    "usr_sys_bogo_ops_per_s": 1911.0,
    "iops": 11_840.0,
    "bandwidth": 48_500_000.0,
    "new_orders_per_minute": 9_420.0,
    "throughput": 349.0,
    "operations_per_s": 14_870.0,
    "client_cpu_share": 0.24,
}
SERIES = {"tpcc": "throughput", "point-select": "operations_per_s"}


@dataclass
class Sketch:
    """What to make up; the trials of a study grow in it."""

    configurations: list[str]
    replicates: int = 6
    seed: int = 20_221_018
    series_s: int = 60
    failed: dict[int, str] = field(default_factory=dict)
    invalid: dict[int, str] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)
    trials: list[TrialRow] = field(default_factory=list)
    planned: list[PlannedTrial] = field(default_factory=list)
    measurements: list[MeasurementRow] = field(default_factory=list)


def cpus_of(configuration: str) -> int:
    return 1 if configuration == "local-1cpu" else 2


def level_of(name: str, configuration: str, index: int) -> float:
    faster = 1.0 if cpus_of(configuration) == 1 else 1.86
    faster *= 1 + 0.021 * index
    short = name.rsplit(".", maxsplit=1)[-1]
    if short in LEVEL:
        scale = {"iops": 1.02, "bandwidth": 1.02}.get(short, faster)
        slow = 0.11 if "fsync" in name else 1.0
        return LEVEL[short] * scale * slow
    operation, _, percentile = name.rpartition("_p")
    base = 0.0009 * (1 + sum(map(ord, operation)) % 7)
    return base * dict(PERCENTILES)[int(percentile)] / faster


def fill(sketch: Sketch) -> None:
    rng = random.Random(sketch.seed)  # made-up numbers
    position = 0
    for block in range(1, sketch.replicates + 1):
        pairs = [(c, b) for c in sketch.configurations for b in CATALOGUE]
        rng.shuffle(pairs)
        for inside, (configuration, benchmark) in enumerate(pairs, 1):
            position += 1
            add_trial(sketch, rng, configuration, benchmark, block, position, inside)


def add_trial(
    sketch: Sketch, rng: random.Random, configuration: str, benchmark: str, block: int, position: int, inside: int
) -> None:
    trial = hashlib.sha256(f"{configuration}/{benchmark}/{block}".encode()).hexdigest()[:12]
    use = BenchmarkUse(name=benchmark, uses=benchmark, version=1, parameters={"duration_s": sketch.series_s})
    intent = TrialIntent(
        id=trial,
        study="laptop",
        configuration={"name": configuration, "provider": "local"},
        benchmark=use,
        replicate=block,
        block=block,
        position=position,
        position_in_block=inside,
        seed=sketch.seed,
    )
    sketch.planned.append(PlannedTrial(intent=intent, expected_duration_s=75.0, price_usd=None))
    row = trial_row(sketch, intent)
    sketch.trials.append(row)
    if row.state == "finished":
        sketch.measurements.extend(measure(sketch, rng, row))


def trial_row(sketch: Sketch, intent: TrialIntent) -> TrialRow:
    state, verdict, reasons = "finished", VerdictKind.VALID, list[str]()
    if intent.position in sketch.failed:
        state, reasons = "failed", [sketch.failed[intent.position]]
    elif intent.position in sketch.invalid:
        verdict, reasons = VerdictKind.INVALID, [sketch.invalid[intent.position]]
    if intent.benchmark.name in sketch.not_run:
        state, reasons = (
            "not run",
            [f"{intent.benchmark.name} is not installed; hint: apt install {intent.benchmark.name}"],
        )
    oltp = intent.benchmark.name in SERIES
    ran = state != "not run"
    return TrialRow.model_validate(
        {
            "trial": intent.id,
            "configuration": intent.configuration_name,
            "benchmark": intent.benchmark.name,
            "subject": SUBJECTS[intent.benchmark.name],
            "uses": intent.benchmark.uses,
            "replicate": intent.replicate,
            "block": intent.block,
            "position": intent.position,
            "position_in_block": intent.position_in_block,
            "cpus": cpus_of(intent.configuration_name),
            "state": state,
            "verdict": verdict if state == "finished" else None,
            "reasons": reasons,
            "rejected_by": ["contended"] if verdict is VerdictKind.INVALID else [],
            "attempt": 1 if ran else None,
            "attempts": 2 if state == "failed" else int(ran),
            "started_unix_ms": STARTED_UNIX_MS + intent.position * 75_000 if ran else None,
            "duration_s": 71.3 + intent.position % 5 if ran else None,
            "client_cpu_share": 0.21 + 0.01 * (intent.position % 6) if oltp and state == "finished" else None,
            "conditions": ["co-located"] if oltp else [],
            "folder": f"trials/{intent.id}/attempts/1" if ran else None,
        }
    )


def measure(sketch: Sketch, rng: random.Random, row: TrialRow) -> list[MeasurementRow]:
    index = sketch.configurations.index(row.configuration)
    wobble = 0.03 if row.uses == "fio" else 0.008
    rows = []
    for m in CATALOGUE[row.benchmark]:
        value = level_of(m.name, row.configuration, index) * rng.gauss(1.0, wobble)
        value *= 1 if row.counts else 0.74
        rows.append(measurement(row, value, m, role=None))
        if SERIES.get(row.benchmark) == m.name:
            rows += [
                measurement(row, value * (0.6 if s == 0 else rng.gauss(1.0, 0.035)), m, float(s + 1), role=None)
                for s in range(sketch.series_s)
            ]
    return rows
