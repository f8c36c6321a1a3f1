"""Samples of PerfKitBenchmarker: newline-delimited JSON, one sample a line, as its publisher writes them."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nephoscope.importers.imported import (
    CLOUDS,
    ImportedMachine,
    ImportedStudy,
    ImportedTrial,
    machine,
    read_whole,
    safe_name,
)
from nephoscope.importers.tree import content_of
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.quantities import may_be
from nephoscope.model.records import Direction, ImportedBenchmark, Measurement, Metric
from nephoscope.model.subjects import database_load_by_name, subject_by_name
from nephoscope.model.words import counted
from nephoscope.parsers.text import whole_lines

FORMAT = "perfkit"
UNKNOWN = [
    "direction of a metric: lower is better where the unit is a time or the name says latency, higher otherwise",
    "which metric matters: the first sample of a benchmark heads its chart",
    "units are PerfKitBenchmarker's own; nothing is converted",
    "validity of a run: samples are published whatever else happened",
    "subject of a benchmark: derived from its name, or CPU if the name does not tell",
]
_ABOUT = {"lscpu", "proccpu", "proccpu_mapping", "cpu_vuln", "gcc_version", "glibc_version", "os_metadata", "ulimit"}
"""Samples that hold facts in their labels, and the number 0."""
_TIMES = {"s", "sec", "second", "seconds", "ms", "milliseconds", "us", "usec", "microseconds", "ns", "nanoseconds"}
_LABEL = re.compile(r"\|([^|:]+):([^|]*)\|")


def read(path: Path) -> ImportedStudy:
    """A file of samples.

    Raises:
        InputError: it cannot be read, or holds no sample.
    """
    try:
        samples = parse_samples(content_of(path, path).decode())
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: {error}", hint="give the file of samples") from error
    except OutputUnreadable as error:
        raise InputError(f"{path}: {error.message}", hint="expected newline-delimited JSON of samples") from error
    left_out: list[str] = []
    runs: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for sample in samples:
        of = _machine(_labels(sample))
        runs.setdefault((str(sample["test"]), str(sample.get("run_uri")), of.name), []).append(sample)
    trials = [_trial(key, many, left_out) for key, many in runs.items()]
    trials = [trial for trial in trials if trial.measurements]
    if not trials:
        raise InputError(f"{path}: no sample contains a number that can be imported")
    return ImportedStudy(
        format=FORMAT,
        name=FORMAT,
        title="Imported: samples of PerfKitBenchmarker",
        description="Samples that PerfKitBenchmarker published, imported here. nephoscope measured none of it.",
        source="samples without a stated origin; the tool is https://github.com/GoogleCloudPlatform/PerfKitBenchmarker",
        licence="not stated",
        unknown=UNKNOWN,
        benchmarks=_benchmarks(trials),
        trials=trials,
        left_out=left_out,
    )


def parse_samples(text: str) -> list[Mapping[str, Any]]:
    """Every sample.

    Raises:
        OutputUnreadable: empty, cut off, or a line that is no sample.
    """
    samples: list[Mapping[str, Any]] = []
    for number, line in enumerate(whole_lines(text, "samples"), start=1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
            whole = all(isinstance(sample[key], str) for key in ("test", "metric", "unit"))
            number_ok = isinstance(sample["value"], int | float) and not isinstance(sample["value"], bool)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise OutputUnreadable(
                f"samples: line {number} is not a sample: {type(error).__name__}: {error}"
            ) from error
        if not whole or not number_ok or not may_be(sample["value"], sample["unit"]):
            raise OutputUnreadable(f"samples: line {number} has no test, metric, unit or number")
        samples.append(sample)
    return samples


def _labels(sample: Mapping[str, Any]) -> dict[str, str]:
    said = sample.get("labels", sample.get("metadata", {}))
    if isinstance(said, dict):
        return {str(key): str(value) for key, value in said.items()}
    return dict(_LABEL.findall(str(said)))


def _machine(labels: Mapping[str, str]) -> ImportedMachine:
    cloud = next((labels[key] for key in ("cloud", "vm_1_cloud", "server_cloud") if key in labels), "")
    kind = next(
        (labels[key] for key in ("machine_type", "vm_1_machine_type", "server_machine_type") if key in labels), ""
    )
    provider = cloud.casefold()
    if provider in CLOUDS and kind:
        return machine(provider, kind)
    name = safe_name(f"{cloud}-{kind}") if cloud or kind else "unnamed"
    return ImportedMachine(name=name, provider="other", machine_type=kind or None)


def _trial(key: tuple[str, str, str], samples: list[Mapping[str, Any]], left_out: list[str]) -> ImportedTrial:
    test, run, _ = key
    labels = _labels(samples[0])
    counts = Counter(str(sample["metric"]) for sample in samples)
    several = sorted(name for name, count in counts.items() if count > 1 and name not in _ABOUT)
    left_out += [f"{test} {run}: {name}: {counts[name]} samples with one name but different labels" for name in several]
    kept = [one for one in samples if counts[str(one["metric"])] == 1 and one["metric"] not in _ABOUT]
    cpus = labels.get("num_cpus", "")
    return ImportedTrial(
        origin=f"{test}/{run}",
        machine=_machine(labels),
        benchmark=safe_name(test),
        measurements=[
            Measurement(metric=str(one["metric"]), unit=str(one["unit"]) or "1", value=float(one["value"]))
            for one in kept
        ],
        verdicts=[read_whole(counted(len(samples), "sample"))],
        cpus=int(cpus) if cpus.isascii() and cpus.isdigit() and 0 < len(cpus) < 5 and int(cpus) else None,
        started_unix_ms=_unix_ms(samples[0].get("timestamp")),
        raw={"samples.json": "".join(json.dumps(one, sort_keys=True) + "\n" for one in samples).encode()},
    )


def _unix_ms(timestamp: Any) -> int | None:
    plausible = isinstance(timestamp, int | float) and not isinstance(timestamp, bool) and 0 < timestamp < 1e11
    return round(timestamp * 1000) if plausible else None


def _benchmarks(trials: list[ImportedTrial]) -> list[ImportedBenchmark]:
    metrics: dict[str, dict[str, Metric]] = {}
    for trial in trials:
        of = metrics.setdefault(trial.benchmark, {})
        for one in trial.measurements:
            lower = one.unit.casefold() in _TIMES or "latency" in one.metric.casefold()
            of.setdefault(
                one.metric,
                Metric(
                    name=one.metric,
                    unit=one.unit,
                    direction=Direction.LOWER if lower else Direction.HIGHER,
                    title=one.metric,
                    headline=not of,
                ),
            )
    return [
        ImportedBenchmark(
            name=name,
            subject=subject_by_name(name),
            database_load=database_load_by_name(name),
            title=f"PerfKitBenchmarker {name}",
            metrics=list(of.values()),
        )
        for name, of in sorted(metrics.items())
    ]
