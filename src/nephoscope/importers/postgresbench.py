"""ClickHouse's PostgresBench: pgbench's TPC-B against managed PostgreSQL services, three runs on one instance each.

A file is one instance. Files of March and April 2026 say nothing of standby servers and have no series; later ones have
the region, the standbys with how they replicate, and the rate of each half minute.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import AliasChoices, Field

from nephoscope.checks.verdicts import invalid, valid
from nephoscope.importers.files import metric
from nephoscope.importers.identity import CLOUDS, BenchmarkIdentity, readable_name
from nephoscope.importers.imported import ImportedMachine, ImportedStudy, ImportedTrial, read_whole
from nephoscope.importers.tree import DAMAGED, content_of, files_below, origin_of, why
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.numbers import share
from nephoscope.model.records import Facts, Measurement, Metric, Verdict
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.units import GIB, MS_PER_SECOND
from nephoscope.model.words import counted
from nephoscope.parsers.documents import json_in
from nephoscope.parsers.text import StrictModel, decoded, validate

FORMAT = "postgresbench"
SOURCE = "https://github.com/ClickHouse/PostgresBench"
LICENCE = "Apache-2.0"
RUN = "pgbench-run"
RUN_TEXT = (
    "Rejects a run in which transactions failed, whose rate is more than 2 % from its transactions and seconds, or "
    "whose half minutes add up to other transactions."
)
UNKNOWN = [
    "the three runs of a service ran one after the other on one instance: nothing shows how two instances differ",
    "each run began with what the run before it left in caches and on disk",
    "the client: one machine of 16 vCPUs, of which only the size is published",
    "settings of the servers but the published ones: each service as it comes",
    "standby servers of files that name none: these are compared as having none",
]
_WHAT = "PostgresBench JSON"
_CLOCK = "pgbench's clock, at the client"
_SAME_RATE = 0.02
_NOTABLE_FALL = 0.2
_UNSAFE = re.compile(r"[^a-z0-9.]+")


class _Interval(StrictModel):
    elapsed_s: float = Field(ge=0)
    tps: float = Field(ge=0)
    transactions: int = Field(ge=0)


class _Run(StrictModel):
    run: int = Field(ge=1)
    tps: float = Field(gt=0)
    transactions: int = Field(ge=1)
    failed_transactions: int = Field(ge=0)
    latency_avg_ms: float = Field(gt=0)
    latency_p95_ms: float | None = Field(default=None, gt=0)
    latency_p99_ms: float | None = Field(default=None, gt=0)
    interval_seconds: float | None = Field(default=None, gt=0)
    timeseries: list[_Interval] = []


class _Instance(StrictModel):
    type: str = Field(min_length=1)
    vcpus: int = Field(ge=1)
    ram_gb: float = Field(gt=0)
    instance_storage: str | None = None
    primary_storage: str | None = None


class _Copies(StrictModel):
    mode: Literal["off", "sync", "async"]
    standbys: int = Field(ge=0)
    live_settings: dict[str, str | None] = {}


class _Benchmark(StrictModel):
    tool: Literal["pgbench"]
    workload: str
    scale_factor: int = Field(ge=1)
    clients: int = Field(ge=1)
    threads: int = Field(ge=1)
    duration: float = Field(gt=0, validation_alias=AliasChoices("duration", "duration_seconds"))
    query_mode: str


class _File(StrictModel):
    system: str = Field(min_length=1)
    date: str
    instance: _Instance
    cluster_size: int = Field(ge=1)
    tuned: str
    cloud: str | None = None
    region: str | None = None
    ha: _Copies = _Copies(mode="off", standbys=0)
    postgres_version: str
    benchmark: _Benchmark
    results: list[_Run] = Field(min_length=1)


def read(path: Path) -> ImportedStudy:
    """A file, or every .json below a folder.

    Raises:
        InputError: it cannot be read, or holds no result.
    """
    refused: list[str] = []
    trials: list[ImportedTrial] = []
    falls: list[str] = []
    for place in files_below(path, ".json"):
        origin = origin_of(place, path)
        try:
            content = content_of(place, path)
            file = _read(decoded(content))
            runs = list(_trials(file, origin, content))  # all of a file or nothing
        except DAMAGED as error:
            refused.append(f"{origin}: {why(error)}")
        else:
            trials += runs
            falls += _falls(file)
    if not trials:
        first = f": {refused[0]}" if refused else ""
        raise InputError(f"no result of PostgresBench at {path}{first}", hint="expected SERVICE/results/*.json")
    return ImportedStudy(
        format=FORMAT,
        name=FORMAT,
        title="Managed PostgreSQL, measured by PostgresBench",
        description="pgbench's TPC-B against managed PostgreSQL services, as ClickHouse published it. nephoscope "
        "measured none of it.",
        source=SOURCE,
        licence=LICENCE,
        unknown=[*UNKNOWN, *falls],
        checks={RUN: RUN_TEXT},
        trials=_apart(trials),
        refused=refused,
    )


def _apart(trials: Sequence[ImportedTrial]) -> list[ImportedTrial]:
    """Services that would have one name, such as `Box A` and `box-a`, get a digest of all that tells them apart."""
    named: dict[str, set[str | None]] = defaultdict(set)
    for trial in trials:
        named[trial.machine.name].add(trial.machine.database)
    return [
        trial.model_copy(update={"machine": _with_digest(trial.machine)})
        if len(named[trial.machine.name]) > 1
        else trial
        for trial in trials
    ]


def _with_digest(machine: ImportedMachine) -> ImportedMachine:
    return machine.model_copy(update={"name": readable_name(machine.name, machine.database)})


def _read(text: str) -> _File:
    file = validate(_File, json_in(text, _WHAT), _WHAT)
    if len({run.run for run in file.results}) < len(file.results):
        raise OutputUnreadable(f"{_WHAT}: two runs have one number")
    for run in file.results:
        if run.latency_p95_ms and run.latency_p99_ms and run.latency_p95_ms > run.latency_p99_ms:
            raise OutputUnreadable(f"{_WHAT}: run {run.run}: percentiles that do not rise")
    return file


def _trials(file: _File, origin: str, content: bytes) -> Iterator[ImportedTrial]:
    service, begun = _service(file), _moment(file.date)
    seconds = file.benchmark.duration
    for place, run in enumerate(sorted(file.results, key=lambda run: run.run)):
        numbers = list(_numbers(run, seconds))
        series = [
            Measurement.of(numbers[0][0].name, "1/s", each.tps, role=None).model_copy(
                update={"at_s": each.elapsed_s + (run.interval_seconds or 0)}
            )
            for each in _whole_intervals(run, seconds)
        ]
        yield ImportedTrial(
            origin=f"{origin}#{run.run}",
            machine=service,
            identity=_identity(file),
            subject=Subject.DATABASE,
            database_load=DatabaseLoad.OLTP,
            title=f"pgbench TPC-B, scale {file.benchmark.scale_factor:,}, {counted(file.benchmark.clients, 'client')}",
            metrics=[metric for metric, _ in numbers],
            measurements=[
                *(Measurement.of(each.name, each.unit, value, role=None) for each, value in numbers),
                *series,
            ],
            verdicts=[read_whole(Path(origin).name), _checked(run, seconds)],
            facts=Facts(
                at_unix_ms=None, cpus_online=file.instance.vcpus, memory_bytes=round(file.instance.ram_gb * GIB)
            ),
            cpus=file.instance.vcpus,
            # The runs of a day in their order; nothing tells the hour.
            started_unix_ms=None if begun is None else begun + place,
            duration_s=seconds,
            tool_versions={"postgres": file.postgres_version},
            settings={name: value for name, value in file.ha.live_settings.items() if value},
            same_machine=f"{service.database} {file.benchmark.scale_factor} {file.date}",
            raw={"result.json": content} if place == 0 else {},
        )


def _service(file: _File) -> ImportedMachine:
    """What was measured. Its name has all that services of one type differ in."""
    instance, copies = file.instance, _copies(file)
    parts = [file.system, instance.type, f"{instance.vcpus} vCPUs", copies, file.region, instance.primary_storage]
    words = [_UNSAFE.sub("-", part.casefold()).strip("-.") for part in parts if part]
    return ImportedMachine(
        name=readable_name("-".join(filter(None, words))),
        provider=file.cloud if file.cloud in CLOUDS else "other",
        machine_type=instance.type,
        count=file.cluster_size,
        database="; ".join(part for part in (*parts, instance.instance_storage) if part),
    )


def _copies(file: _File) -> str:
    """In words; empty: one copy."""
    return f"{counted(file.ha.standbys, 'standby', 'standbys')} {file.ha.mode}" if file.ha.standbys else ""


def _identity(file: _File) -> BenchmarkIdentity:
    """Services with unequal copies are not compared, and one that was tuned with none that was not."""
    asked = file.benchmark
    parameters = {
        "clients": str(asked.clients),
        "copies": _copies(file) or "1",
        "query_mode": asked.query_mode,
        "scale": str(asked.scale_factor),
        "seconds": f"{asked.duration:g}",
        "threads": str(asked.threads),
        "tuned": file.tuned,
        "workload": asked.workload,
    }
    workload = f"tpc-b scale {asked.scale_factor} {_copies(file)}".strip()
    return BenchmarkIdentity(tool="pgbench", workload=workload, parameters=parameters)


def _numbers(run: _Run, seconds: float) -> Iterator[tuple[Metric, float]]:
    title = "Transactions per second"
    rate = metric("transactions_per_s", "1/s", title, headline=True, clock=_CLOCK, counted="transactions/s")
    yield rate.model_copy(update={"per_cpu": True}), run.tps
    latencies_ms = {"mean": run.latency_avg_ms, "p95": run.latency_p95_ms, "p99": run.latency_p99_ms}
    for word, latency_ms in latencies_ms.items():
        if latency_ms is not None:
            yield (
                metric(f"latency_{word}", "s", f"Latency, {word}", lower=True, clock=_CLOCK),
                latency_ms / MS_PER_SECOND,
            )
    last = _last_half(_whole_intervals(run, seconds))
    if last is not None:
        title = "Transactions per second, median of the last half of the run"
        yield metric("transactions_per_s_last_half", "1/s", title, clock=_CLOCK), last


def _whole_intervals(run: _Run, seconds: float) -> list[_Interval]:
    """Without what ended after the time was up: its rate is of a part of an interval."""
    length_s = run.interval_seconds
    return [each for each in run.timeseries if length_s and each.elapsed_s + length_s <= seconds]


def _last_half(intervals: Sequence[_Interval]) -> float | None:
    """The median rate; None: there are not two intervals."""
    return median(each.tps for each in intervals[len(intervals) // 2 :]) if len(intervals) > 1 else None


def _checked(run: _Run, seconds: float) -> Verdict:
    if run.failed_transactions:
        return invalid(RUN, f"{counted(run.failed_transactions, 'transaction')} failed")
    if abs(run.transactions / seconds - run.tps) > _SAME_RATE * run.tps:
        return invalid(RUN, f"{run.tps:g} a second, but {run.transactions / seconds:.0f} by transactions and seconds")
    total = sum(each.transactions for each in run.timeseries)
    if run.timeseries and abs(total - run.transactions) > _SAME_RATE * run.transactions:
        return invalid(RUN, f"{run.transactions:,} transactions, but its intervals have {total:,}")
    return valid(RUN, f"{run.transactions:,} transactions, none failed")


def _falls(file: _File) -> Iterator[str]:
    """A sentence for each run that went on much slower than it began, such as one whose volume ran out of credits."""
    for run in file.results:
        intervals = _whole_intervals(run, file.benchmark.duration)
        last = _last_half(intervals)
        if last and last < (1 - _NOTABLE_FALL) * (first := intervals[0].tps):
            yield (
                f"{_service(file).name}, scale {file.benchmark.scale_factor:,}, run {run.run}: from {first:,.0f} "
                f"transactions a second at first to {last:,.0f} in its last half ({share(1 - last / first)} less)"
            )


def _moment(date: str) -> int | None:
    try:
        return round(datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() * MS_PER_SECOND)
    except ValueError:
        return None
