"""How long statistics, leaderboards, costs and the report of many trials take: `python -m bench.analysis [TRIALS]`.

10,000 trials of 10 metrics: 1,000 configurations of machine types with prices, on leaderboards of 20, with 10
replicates each. Values are drawn from a fixed seed. The limit that this project sets itself is 10 s and 1 GB on one
core, growing linearly with the trials.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from nephoscope.analysis import tables
from nephoscope.analysis.analyse import analyse
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.app.memory import tune_gc
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Direction, Metric, Plan
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.report.files import report_files
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import measurement, trial

REPLICATES, METRICS = 10, 10
TYPES = ("m5.2xlarge", "m6i.2xlarge", "c5.2xlarge", "r5.2xlarge", "m5a.2xlarge")
Result = TypeVar("Result")


def inputs(trials: int, leaderboard: int) -> StudyInputs:
    """A study as a store would supply it."""
    generator = np.random.default_rng(1)
    metrics = [
        Metric(
            name=f"metric_{index}",
            unit="1/s",
            direction=Direction.HIGHER,
            title=f"Metric {index}",
            headline=index == 0,
            per_cpu=index == 0,
        )
        for index in range(METRICS)
    ]
    cells = trials // REPLICATES
    rows: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    for cell in range(cells):
        benchmark, configuration = f"board-{cell // leaderboard}", f"c-{cell}"
        level = 1000 * (1 + 0.002 * (cell % leaderboard))
        for replicate in range(1, REPLICATES + 1):
            name = f"{cell:08x}{replicate:04x}"
            rows.append(
                trial(name, configuration, replicate, benchmark=benchmark, subject=Subject.CPU, uses=benchmark, cpus=8)
            )
            for metric, value in zip(metrics, level * generator.lognormal(0, 0.01, METRICS), strict=True):
                measurements.append(measurement(rows[-1], float(value), metric))
    boards = sorted({row.benchmark for row in rows})
    study = Study.model_validate(
        {
            "name": "bench",
            "configurations": [
                {
                    "name": f"c-{cell}",
                    "provider": "aws",
                    "region": "us-east-1",
                    "database_machine": {"type": TYPES[cell % len(TYPES)]},
                }
                for cell in range(cells)
            ],
            "benchmarks": [{"uses": name} for name in boards],
        }
    )
    return StudyInputs(
        study=study,
        study_toml="",
        plan=Plan(study="bench", seed=1, trials=[], expected_duration_s=0, price_usd=None, unpriced=[], warnings=[]),
        nephoscope_version="0",
        benchmarks=[
            BenchmarkRow(
                benchmark=name,
                subject=Subject.CPU,
                uses=name,
                version=1,
                title=name,
                parameters={},
                metrics=metrics,
            )
            for name in boards
        ],
        trials=rows,
        measurements=measurements,
    )


def main() -> int:
    """Prints one line of JSON: seconds of each stage, peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", nargs="?", type=int, default=10_000)
    parser.add_argument("--leaderboard", type=int, default=20, help="configurations that are compared with each other")
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    arguments = parser.parse_args()
    tune_gc()  # as the command does
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = inputs(arguments.trials // 10 if arguments.quick else arguments.trials, arguments.leaderboard)
    before_mb = _peak_mb()
    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Result]) -> Result:
        started = time.process_time()
        result = work()
        seconds[name] = round(time.process_time() - started, 2)
        return result

    study: AnalysedStudy = timed("analyse_s", lambda: analyse(found))
    timed("tables_s", lambda: [tables.to_parquet(getattr(study, name), kind) for name, kind in tables.TABLES.items()])
    if not arguments.no_report:
        timed("report_s", lambda: report_files(study))
    total = {"total_s": round(sum(seconds.values()), 2), "inputs_mb": before_mb, "peak_mb": _peak_mb()}
    sizes = {"trials": arguments.trials, "comparisons": len(study.comparisons)}
    sys.stdout.write(json.dumps({**sizes, **seconds, **total}) + "\n")
    return 0


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    sys.exit(main())
