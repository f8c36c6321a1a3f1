"""Analysed studies of machines by themselves, one of them measured across regions, and with a benchmark a chapter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Metric
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.model.units import GIB
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import inputs, measurement, observed, traffic, trial

MACHINES = {
    "m6i-small": ("aws", "m6i.2xlarge", 8, 1.0),
    "m6i-large": ("aws", "m6i.8xlarge", 32, 0.93),
    "n2-small": ("gcp", "n2-standard-8", 8, 1.08),
    "n2-large": ("gcp", "n2-standard-32", 32, 0.9),
}
"""Configuration -> provider, machine type, CPUs, and what one of its CPUs gives against the first."""
FAR = "m6i-small"
PARAMETERS: dict[str, dict[str, Any]] = {
    "stress-ng": {},
    "ping": {"edition": "cr2020"},
    "throughput": {"edition": "cr2020"},
    "multi-stream": {"most_streams": 7},
    "fio": {"edition": "cr2022"},
    "sysbench-fileio": {"edition": "cr2020"},
}
CHAPTERS: dict[str, dict[str, Any]] = {
    "stress-ng": {},
    "multi-stream": {"most_streams": 7},
    "sysbench-fileio": {"edition": "cr2020"},
    "tpcc": {},
    "point-select": {},
}
"""A benchmark for each chapter of the report but the one on cost."""
_LEVELS = {
    "bogo-ops/s": 900.0,
    "bit/s": 9e9,
    "IO/s": 3000.0,
    "B/s": 2e8,
    "s": 4e-4,
    "1": 0.99,
    "CPUs": 8.0,
    "1/min": 9000.0,
    "1/s": 15_000.0,
}
_OF_PERCENTILE = {"_mean": 1.3, "_p90": 2.0, "_p95": 3.0, "_p99": 6.0}
SECONDS = 20


@cache
def numbers(replicates: int = 6) -> AnalysedStudy:
    """Two families in two sizes, by the benchmarks of machines; values within two percent."""
    return _study(replicates, [*MACHINES], PARAMETERS)


@cache
def every_chapter(replicates: int = 6) -> AnalysedStudy:
    """Two machines with volumes, by a benchmark of each chapter; machines, volumes and transfer have prices."""
    return _study(
        replicates,
        ["m6i-small", "n2-small"],
        CHAPTERS,
        title="Two machines of two clouds",
        costs={"date": "2026-11-21"},
    )


def _study(replicates: int, names: Sequence[str], parameters: Mapping[str, Any], **words: Any) -> AnalysedStudy:
    draw = np.random.default_rng(11)
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    metrics: dict[str, tuple[Metric, ...]] = {}
    machines = {name: MACHINES[name] for name in names}
    for benchmark, given in parameters.items():
        found = BENCHMARKS[benchmark]
        metrics[benchmark] = found.metrics(found.parameters.model_validate(given))
        for replicate in range(1, replicates + 1):
            for place, (name, (_, _, cpus, speed)) in enumerate(machines.items(), 1):
                row = trial(
                    f"{benchmark}-{name}-{replicate}",
                    name,
                    replicate,
                    benchmark=benchmark,
                    subject=found.subject,
                    uses=benchmark,
                    position=len(trials) + 1,
                    position_in_block=place,
                    cpus=cpus,
                )
                trials.append(row)
                for metric in metrics[benchmark]:
                    level = _level(metric, name, cpus, speed) * float(draw.lognormal(0, 0.01))
                    measurements.append(measurement(row, level, metric))
                    if metric.name in {"round_trip", "throughput"}:
                        measurements += [
                            measurement(row, level * float(draw.lognormal(0, 0.12)), metric, at_s=float(second))
                            for second in range(1, SECONDS + 1)
                        ]
    built = inputs((trials, measurements), metrics)
    asked = _configurations(names, sold="costs" in words)
    study = Study.model_validate({**built.study.model_dump(by_alias=True), "configurations": asked, **words})
    rows = [
        row.model_copy(
            update={
                "uses": row.benchmark,
                "parameters": parameters[row.benchmark],
                "database_load": BENCHMARKS[row.benchmark].database_load_of(None),
            }
        )
        for row in built.benchmarks
    ]
    built = replace(built, study=study, benchmarks=rows)
    if "costs" in words:
        ends = [(row, role) for row in trials for role in ("database", "load")]
        seen = [observed(row, cpus_online=row.cpus, cpus_allowed=row.cpus, memory_bytes=32 * GIB) for row, _ in ends]
        built = replace(
            built,
            network=[
                traffic(row, f"{role}-1", role, sent=9e8, received=2e8, sampled_s=60.0)
                for row, role in ends
                if row.subject is Subject.DATABASE
            ],
            machines=[one.model_copy(update={"role": role}) for one, (_, role) in zip(seen, ends, strict=True)],
        )
    return analyse(built)


def _configurations(names: Sequence[str], *, sold: bool) -> list[dict[str, Any]]:
    """With zones and volumes if they are sold."""
    found: list[dict[str, Any]] = []
    for name in names:
        provider, machine, _, _ = MACHINES[name]
        region = "us-east-1" if provider == "aws" else "us-east4"
        load = {"type": machine, **({"region": "us-west-2"} if name == FAR else {})}
        volume = {"kind": "gp3" if provider == "aws" else "pd-ssd", "size": 500}
        found.append(
            {
                "name": name,
                "provider": provider,
                "region": region,
                "database_machine": {"type": machine, **({"volumes": [volume]} if sold else {})},
                "load_machine": load,
            }
        )
    return found


def _level(metric: Metric, name: str, cpus: int, speed: float) -> float:
    """Something that looks like it."""
    level: float = _LEVELS.get(metric.unit, 1.0) * speed
    level *= next((times for end, times in _OF_PERCENTILE.items() if metric.name.endswith(end)), 1.0)
    if metric.unit == "bogo-ops/s":
        return level * cpus
    if "_min_1s" in metric.name or "_max_1s" in metric.name:
        return level * (0.8 if "_min_1s" in metric.name else 1.15)
    if name == FAR and metric.name.startswith("round_trip"):
        return 0.062 * speed
    head = metric.name.partition(".")[0]
    threads = "".join(one for one in head.rpartition("-")[2] if one.isdigit()) or head.partition("-")[0]
    if threads.isdigit():
        return level * float(min(int(threads), 12) ** 0.6) * (0.6 if head.startswith("write") else 1.0)
    return level
