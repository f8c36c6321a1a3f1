"""An analysed study of machines by themselves: two families in two sizes, one of them measured across regions."""

from dataclasses import replace
from typing import Any

import numpy as np

from nephoscope.analysis.analyse import analyse
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Metric
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import inputs, measurement, trial

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
_LEVELS = {"bogo-ops/s": 900.0, "bit/s": 9e9, "IO/s": 3000.0, "B/s": 2e8, "s": 4e-4, "1": 0.99, "CPUs": 8.0}
SECONDS = 20


def numbers(replicates: int = 6) -> AnalysedStudy:
    """Values within two percent."""
    draw = np.random.default_rng(11)
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    metrics: dict[str, tuple[Metric, ...]] = {}
    for benchmark, given in PARAMETERS.items():
        found = BENCHMARKS[benchmark]
        metrics[benchmark] = found.metrics(found.parameters.model_validate(given))
        for replicate in range(1, replicates + 1):
            for place, (name, (_, _, cpus, speed)) in enumerate(MACHINES.items(), 1):
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
    study = Study.model_validate({**built.study.model_dump(by_alias=True), "configurations": _configurations()})
    rows = [
        row.model_copy(update={"uses": row.benchmark, "parameters": PARAMETERS[row.benchmark]})
        for row in built.benchmarks
    ]
    return analyse(replace(built, study=study, benchmarks=rows))


def _configurations() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, (provider, machine, _, _) in MACHINES.items():
        region = "us-east-1" if provider == "aws" else "us-east4"
        load = {"type": machine, **({"region": "us-west-2"} if name == FAR else {})}
        found.append(
            {
                "name": name,
                "provider": provider,
                "region": region,
                "database_machine": {"type": machine},
                "load_machine": load,
            }
        )
    return found


def _level(metric: Metric, name: str, cpus: int, speed: float) -> float:
    """Something that looks like it."""
    level: float = _LEVELS.get(metric.unit, 1.0) * speed
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
