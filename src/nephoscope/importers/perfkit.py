"""Samples of PerfKitBenchmarker: newline-delimited JSON, one sample a line, as its publisher writes them."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nephoscope.importers.identity import CLOUDS, BenchmarkIdentity
from nephoscope.importers.imported import (
    ImportedMachine,
    ImportedStudy,
    ImportedTrial,
    machine,
    named_machine,
    read_whole,
)
from nephoscope.importers.latency_sets import SECONDS_OF, checked
from nephoscope.importers.tree import content_of, require_importable
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.quantities import Bounded, may_be
from nephoscope.model.records import Direction, Measurement, Metric
from nephoscope.model.subjects import database_load_by_name, subject_by_name
from nephoscope.model.words import counted
from nephoscope.parsers.documents import unique_keys
from nephoscope.parsers.text import decoded, whole_lines

FORMAT = "perfkit"
UNKNOWN = [
    "direction of a metric: lower is better where the unit is a time or the name says latency, higher otherwise",
    "which metric matters: the first sample of a benchmark heads its chart",
    "units are PerfKitBenchmarker's own; nothing is converted",
    "which labels are parameters: all are, but those that name a machine or a run",
    "validity of a run: samples are published whatever else happened",
    "subject of a benchmark: derived from its name, or CPU if the name does not tell",
]
_ABOUT = {"lscpu", "proccpu", "proccpu_mapping", "cpu_vuln", "gcc_version", "glibc_version", "os_metadata", "ulimit"}
"""Samples that hold facts in their labels, and the number 0."""
_CLOUD = ("cloud", "vm_1_cloud", "server_cloud")
_TYPE = ("machine_type", "vm_1_machine_type", "server_machine_type")
_OF_A_RUN = re.compile(
    r"(?:.+_)?(?:id|name|hostname|(?:internal_)?ip(?:_address)?|boot_time|create_start_time)|run_number|num_cpus"
)
"""Labels that differ from run to run, or follow from the type of the machine."""
_LABEL = re.compile(r"\|([^|:]+):([^|]*)\|")


def read(path: Path) -> ImportedStudy:
    """A file of samples.

    Raises:
        InputError: it cannot be read, or holds no sample.
    """
    left_out: list[str] = []
    try:
        samples = parse_samples(decoded(content_of(path, path)), left_out)
    except OutputUnreadable as error:
        raise InputError(f"{path}: {error.message}", hint="expected newline-delimited JSON of samples") from error
    runs: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for sample in samples:
        key = str(sample.get("run_uri")), _identity(sample).name, _machine(_labels(sample)).name
        runs.setdefault(key, []).append(sample)
    require_importable(len(runs), path)
    trials = [trial for run in runs.values() if (trial := _trial(run, left_out)).measurements]
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
        trials=trials,
        left_out=left_out,
    )


def parse_samples(text: str, left_out: list[str]) -> list[Mapping[str, Any]]:
    """Every sample with a number.

    Args:
        text: one sample a line.
        left_out: gets a line for each sample whose value is null, NaN or infinite.

    Raises:
        OutputUnreadable: empty, cut off, or a line that is no sample.
    """
    samples: list[Mapping[str, Any]] = []
    for number, line in enumerate(whole_lines(text, "samples"), start=1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line, object_pairs_hook=unique_keys)
            whole = all(isinstance(sample[key], str) for key in ("test", "metric", "unit"))
            value = sample["value"]
            number_ok = isinstance(value, int | float) and not isinstance(value, bool)
            finite = number_ok and math.isfinite(value)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise OutputUnreadable(
                f"samples: line {number} is not a sample: {type(error).__name__}: {error}"
            ) from error
        if whole and (value is None or (number_ok and not finite)):
            left_out.append(f"line {number}: {sample['test']}: {sample['metric']}: {value} is no number")
            continue
        if not whole or not number_ok or not may_be(sample["value"], sample["unit"]):
            raise OutputUnreadable(f"samples: line {number} has no test, metric, unit or number")
        samples.append(sample)
    return samples


def _labels(sample: Mapping[str, Any]) -> dict[str, str]:
    """Its metadata and its labels, which repeat some of them as a text."""
    tables = (sample.get(key) or {} for key in ("metadata", "labels"))
    pairs = [table.items() if isinstance(table, dict) else _LABEL.findall(str(table)) for table in tables]
    return {str(key): str(value) for one in pairs for key, value in one}


def _first(labels: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((labels[key] for key in keys if key in labels), "")


def _machine(labels: Mapping[str, str]) -> ImportedMachine:
    cloud, kind = _first(labels, _CLOUD), _first(labels, _TYPE)
    if cloud.casefold() in CLOUDS and kind:
        return machine(cloud.casefold(), kind)
    named = named_machine(f"{cloud}-{kind}" if cloud or kind else "", f"{cloud}\n{kind}")
    return named.model_copy(update={"machine_type": kind or None})


def _identity(sample: Mapping[str, Any]) -> BenchmarkIdentity:
    labels = {
        key: value
        for key, value in sorted(_labels(sample).items())
        if key not in {*_CLOUD[:1], *_TYPE[:1]} and not _OF_A_RUN.fullmatch(key)
    }
    words = " ".join((str(sample["test"]), *(f"{key} {value}" for key, value in labels.items())))
    return BenchmarkIdentity(tool=FORMAT, workload=words, parameters={"test": str(sample["test"]), **labels})


def _trial(samples: list[Mapping[str, Any]], left_out: list[str]) -> ImportedTrial:
    """One run's samples of one benchmark."""
    test, run, labels = str(samples[0]["test"]), samples[0].get("run_uri"), _labels(samples[0])
    counts = Counter(_metric(sample).name for sample in samples if sample["metric"] not in _ABOUT)
    several = sorted(name for name, count in counts.items() if count > 1)
    left_out += [f"{test} {run}: {name}: {counts[name]} samples that nothing tells apart" for name in several]
    values, refused = _values(test, [sample for sample in samples if counts[_metric(sample).name] == 1])
    left_out += [f"{test} {run}: {reason}" for reason in refused]
    single = [sample for sample in samples if _metric(sample).name in values]
    cpus = labels.get("num_cpus", "")
    return ImportedTrial(
        origin=f"{test}/{run}",
        machine=_machine(labels),
        identity=_identity(samples[0]),
        subject=subject_by_name(test),
        database_load=database_load_by_name(test),
        title=f"PerfKitBenchmarker {test}",
        metrics=[_metric(sample).model_copy(update={"headline": place == 0}) for place, sample in enumerate(single)],
        measurements=[
            Measurement.of(_metric(sample).name, _metric(sample).unit, values[_metric(sample).name], role=None)
            for sample in single
        ],
        verdicts=[read_whole(counted(len(samples), "sample"))],
        cpus=int(cpus) if cpus.isascii() and cpus.isdigit() and 0 < len(cpus) < 5 and int(cpus) else None,
        started_unix_ms=_unix_ms(samples[0].get("timestamp")),
        raw={"samples.json": "".join(json.dumps(sample, sort_keys=True) + "\n" for sample in samples).encode()},
    )


def _values(test: str, samples: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Bounded], list[str]]:
    """Metric -> value, or what it is above where its set of latencies shows that; and what of them is left out."""
    values = {_metric(sample).name: float(sample["value"]) for sample in samples}
    units_s = {_metric(sample).name: SECONDS_OF.get(str(sample["unit"]).casefold()) for sample in samples}
    found = checked(test, {name: values[name] * unit_s for name, unit_s in units_s.items() if unit_s})
    return found.told(values), [f"{name}: {reason}" for name, reason in found.refused.items()]


def _metric(sample: Mapping[str, Any]) -> Metric:
    """With its unit in its name: one name has several units in some benchmarks."""
    name, unit = str(sample["metric"]), str(sample["unit"])
    lower = unit.casefold() in SECONDS_OF or "latency" in name.casefold()
    return Metric(
        name=f"{name} ({unit})" if unit else name,
        unit=unit or "1",
        direction=Direction.LOWER if lower else Direction.HIGHER,
        title=name,
    )


def _unix_ms(timestamp: Any) -> int | None:
    plausible = isinstance(timestamp, int | float) and not isinstance(timestamp, bool) and 0 < timestamp < 1e11
    return round(timestamp * 1000) if plausible else None
