"""Runs of 2019 -> a study: each tool's part of a run is a trial of its own, judged by the run's verdicts.

A path's label says which machine was meant, so trials carry it as their configuration and no facts: runs on other
machines stay under the label that they were published with, and the checks keep them out. So the report can show each
median with them and without them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nephoscope.checks.logs import LOG_CHECKS
from nephoscope.importers.cloud_report_2019.logs import (
    LICENCE,
    NOT_KNOWN,
    SOURCE,
    ImportedRun,
    ImportRecord,
    measured_runs,
    record_of,
)
from nephoscope.importers.cloud_report_2019.machine_types import machine_type_of, provider_of
from nephoscope.importers.cloud_report_2019.measured import ImportedMeasurement
from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.importers.imported import ImportedMachine, ImportedStudy, ImportedTrial, machine
from nephoscope.importers.tree import content_of, is_regular
from nephoscope.model.records import Measurement, Metric, Verdict
from nephoscope.model.words import counted
from nephoscope.study.model import Volume

FORMAT = "cloud-report-2019"
PRICED_IN = {"aws": "us-east-1", "gcp": "us-east4", "azure": "eastus"}
"""Where the price book knows the types; the logs name no region."""
_EBS = Volume(kind="io1", size=500, iops=20_000)
"""Of labels that end so: 20,000 IOPS as the repository's deployment steps order; no size is published."""
_HEADLINES = {
    "bogo_ops_per_s",
    "round_trip_mean",
    "sent_bits_per_s",
    "written_bytes_per_s",
    "written_bytes_per_s_16_threads",
    "read_bytes_per_s_16_threads",
}
"""File tests use the result with 16 threads, which match the 16 vCPUs of every type."""
_TITLES = {
    "bogo_ops_per_s": "Bogo operations",
    "bogo_ops_per_s_cpu_time": "Bogo operations by CPU time",
    "cpus_effective_user": "CPUs in use",
    "round_trip_minimum": "Shortest round trip",
    "round_trip_mean": "Mean round trip",
    "round_trip_maximum": "Longest round trip",
    "round_trip_deviation": "Standard deviation of round trips",
    "packets_lost_share": "Requests without a reply",
    "sent_bits_per_s": "Throughput",
    "written_bytes_per_s": "Write throughput",
    "read_bytes_per_s": "Read throughput",
    "operations_per_s": "I/O rate",
    "latency_mean": "Mean latency",
    "latency_p95": "Latency, p95",
    "latency_maximum": "Longest latency",
}
"""As our own benchmarks call what they measure."""
_LOG_OF = {
    "stress-ng": ("cpu",),
    "ping": ("network-ping",),
    "iperf": ("network-iperf-client",),
    "sysbench-fileio-prepare": ("io-load-results",),
    "sysbench-fileio-random-write": ("io-wr-results",),
    "sysbench-fileio-random-read": ("io-rd-results",),
}


def study_of(tree: Path) -> tuple[ImportRecord, ImportedStudy]:
    """Every run below a folder.

    Raises:
        InputError: the folder cannot be read, or holds no such logs.
    """
    runs = measured_runs(tree)
    trials = [trial for run, measured in runs for trial in _trials(tree, run, measured)]
    return record_of([run for run, _ in runs]), ImportedStudy(
        format=FORMAT,
        name="cloud-report-2019",
        title="Pilot runs of the Cloud Report, August and September 2019",
        description="Raw logs of pilot runs by Cockroach Labs, imported here and judged by their contents. "
        "nephoscope measured none of it. Configurations are labels of folders: what the runs claim to be.",
        source=SOURCE,
        licence=LICENCE,
        unknown=[
            *NOT_KNOWN,
            "region and zone; prices are those of us-east-1 (AWS) and us-east4 (Google)",
            "volumes; those of labels that end in -ebs are priced as io1 of 500 GB with 20,000 IOPS, others not at all",
        ],
        checks=dict(LOG_CHECKS),
        trials=trials,
        left_out=[f"{run.folder}: {why}" for run, _ in runs for why in (*run.unreadable, *run.notes)],
    )


def _machine(run: ImportedRun) -> ImportedMachine:
    label = run.label
    known = machine_type_of(label.provider, label.machine_type)
    provider = provider_of(label.provider)
    named = machine(provider, label.machine_type, PRICED_IN.get(provider))
    volumes = [_EBS] if provider == "aws" and label.machine_type.casefold().endswith("-ebs") else []
    return named.model_copy(update={"machine_type": known.name if known else label.machine_type, "volumes": volumes})


def _trials(tree: Path, run: ImportedRun, measured: Sequence[ImportedMeasurement]) -> Iterator[ImportedTrial]:
    by_tool: dict[str, list[ImportedMeasurement]] = defaultdict(list)
    for one in measured:
        by_tool[one.tool].append(one)
    for what, many in sorted(by_tool.items()):
        tool, _, workload = what.partition(" ")
        identity = BenchmarkIdentity(tool=tool, workload=workload.replace(" ", "-"))
        own: dict[str, Verdict] = {}
        for one in many:
            if one.own_verdict:
                own[one.own_verdict.check] = one.own_verdict
        twice = [name for name, count in Counter(_name(one) for one in many if one.at_s is None).items() if count > 1]
        yield ImportedTrial(
            origin=f"{run.folder}/{identity.name}",
            machine=_machine(run),
            identity=identity,
            subject=many[0].subject,
            title=what.replace("-", " "),
            metrics=_metrics(many),
            measurements=[
                Measurement(metric=_name(one), unit=one.unit, value=one.value, at_s=one.at_s, bound=one.bound)
                for one in many
            ],
            verdicts=[*run.verdicts, *own.values()],
            same_machine=run.same_machine,
            failure=f"two values of {twice[0]} in one run" if twice else None,
            raw=_raw(tree, tree / run.folder, identity.name),
        )


def _name(one: ImportedMeasurement) -> str:
    return one.metric if one.threads is None else f"{one.metric}_{one.threads}_threads"


def _raw(tree: Path, folder: Path, benchmark: str) -> dict[str, bytes]:
    """The log that a benchmark was read from, whatever the case and dashes of its name."""
    stems = next((stems for prefix, stems in _LOG_OF.items() if benchmark.startswith(prefix)), ())
    names = {path: path.name.casefold().replace("_", "-").removesuffix(".gz") for path in sorted(folder.iterdir())}
    wanted = [path for path, name in names.items() if name in {f"{stem}.log" for stem in stems}]
    return {path.name: content_of(path, tree) for path in wanted if is_regular(path, tree)}


def _metrics(measured: Iterable[ImportedMeasurement]) -> list[Metric]:
    by_name = {_name(one): one for one in measured}
    return [
        Metric(
            name=name,
            unit=one.unit,
            direction=one.direction,
            title=_TITLES.get(one.metric, one.metric.replace("_", " "))
            + (f", {counted(one.threads, 'thread')}" if one.threads else ""),
            headline=name in _HEADLINES,
            counted="bogo ops/s" if one.metric == "bogo_ops_per_s" else "",
        )
        for name, one in sorted(by_name.items(), key=lambda item: _parted(item[0]))
    ]


def _parted(metric: str) -> tuple[str, int]:
    """('written_bytes_per_s', 16) of 'written_bytes_per_s_16_threads'; 0 without threads."""
    found = re.fullmatch(r"(.+)_(\d+)_threads", metric)
    return (found[1], int(found[2])) if found else (metric, 0)
