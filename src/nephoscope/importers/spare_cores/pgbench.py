"""Spare Cores' PostgreSQL: read-only pgbench against one server from another machine, on a ladder of clients.

The score of a type is its highest rung. Each rung ran once, so the maximum of several is a little above what one of
them would give; it is the same rule for every type.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic import Field

from nephoscope.checks.verdicts import invalid, valid
from nephoscope.importers.files import metric
from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.importers.spare_cores.words import Output
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric, Verdict
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.units import GIB, MS_PER_SECOND, SECONDS_PER_MINUTE
from nephoscope.model.words import counted
from nephoscope.parsers.documents import json_in
from nephoscope.parsers.text import StrictModel, validate

LADDER = "ladder"
LADDER_TEXT = (
    "Rejects a ladder of clients whose score is not that of its highest rung, in which transactions failed, or whose "
    "rate is more than 1 % from its transactions and seconds."
)
_WHAT = "pgbench JSON"
_SAME_RATE = 0.01
_ENOUGH = {"p50": 2, "p95": 20, "p99": 100}
"""Percentile -> the fewest transactions of which it is one: of 13, the 99th percentile is the maximum."""
_CLOCK = "pgbench's clock, of a sample of the rung's transactions"


class _Latency(StrictModel):
    p50: float = Field(gt=0)
    p95: float = Field(gt=0)
    p99: float = Field(gt=0)
    samples: int = Field(ge=1)


class _Rung(StrictModel):
    concurrency: int = Field(ge=1)
    tpm: float = Field(gt=0)
    latency_avg_ms: float = Field(gt=0)
    latency_ms: _Latency | None = None
    run_seconds: float = Field(gt=0)
    tx_processed: int = Field(ge=1)
    tx_failed: int = Field(ge=0)


class _Dataset(StrictModel):
    dataset: str


class _Size(StrictModel):
    dataset: _Dataset
    profile: list[_Rung] = Field(min_length=1)


class _Server(StrictModel):
    server_version: str
    settings: dict[str, str]


class _File(StrictModel):
    workload: str
    topology: str
    durability: str
    score: float = Field(gt=0)
    score_unit: str
    run_seconds: int
    warmup_seconds: int
    settle_seconds: int
    db_vcpus: int = Field(ge=1)
    db_mem_gib: float = Field(gt=0)
    sizes: list[_Size] = Field(min_length=1, max_length=1)
    postgres: _Server


def read_pgbench(text: str, _version: str) -> Output:
    """The ladder of one type, its highest rung, and the server's settings.

    Raises:
        OutputUnreadable: other or damaged JSON, another unit, or rungs that do not rise.
    """
    file = validate(_File, json_in(text, _WHAT), _WHAT)
    rungs = file.sizes[0].profile
    if file.score_unit != "tpm":
        raise OutputUnreadable(f"{_WHAT}: the score is in {file.score_unit[:20]!r}, not transactions a minute")
    if any(low.concurrency >= high.concurrency for low, high in pairwise(rungs)):
        raise OutputUnreadable(f"{_WHAT}: clients that do not rise from rung to rung")
    for rung in rungs:
        if (taken := rung.latency_ms) and not taken.p50 <= taken.p95 <= taken.p99:
            raise OutputUnreadable(f"{_WHAT}: percentiles of {counted(rung.concurrency, 'client')} that do not rise")
    highest = max(rungs, key=lambda rung: rung.tpm)
    found = [*_of_highest(highest), *(one for rung in rungs for one in _of_rung(rung))]
    return Output(
        identity=_identity(file),
        subject=Subject.DATABASE,
        database_load=DatabaseLoad.OLTP,
        title="PostgreSQL, read-only pgbench from another machine (Spare Cores)",
        metrics=[metric for metric, _ in found],
        measurements=[Measurement.of(metric.name, metric.unit, value) for metric, value in found],
        verdicts=[_ladder(file, highest)],
        cpus=file.db_vcpus,
        memory_bytes=round(file.db_mem_gib * GIB),
        settings=file.postgres.settings,
        tool_versions={"postgres": file.postgres.server_version},
        falls_by=max((1 - high.tpm / low.tpm for low, high in pairwise(rungs)), default=0.0),
    )


def _identity(file: _File) -> BenchmarkIdentity:
    parameters: dict[str, Any] = {
        "data": file.sizes[0].dataset.dataset,
        "durability": file.durability,
        "seconds": file.run_seconds,
        "settling_seconds": file.settle_seconds,
        "topology": file.topology,
        "warm_up_seconds": file.warmup_seconds,
        "workload": file.workload,
    }
    return BenchmarkIdentity(
        tool="pgbench",
        workload="read-only",
        version=file.postgres.server_version.partition(" ")[0],
        parameters={key: str(value) for key, value in parameters.items()},
    )


def _of_highest(rung: _Rung) -> Iterator[tuple[Metric, float]]:
    title = "Transactions of the highest rung"
    rate = metric("transactions_per_min", "1/min", title, headline=True, counted="transactions/min")
    yield rate.model_copy(update={"per_cpu": True}), rung.tpm
    yield metric("clients", "1", "Clients of the highest rung", lower=True), rung.concurrency
    mean = metric("latency_mean", "s", "Latency at the highest rung, mean", lower=True, clock="pgbench's clock")
    yield mean, rung.latency_avg_ms / MS_PER_SECOND
    for word, latency_ms in _percentiles(rung):
        title = f"Latency at the highest rung, {word}"
        yield metric(f"latency_{word}", "s", title, lower=True, clock=_CLOCK), latency_ms / MS_PER_SECOND


def _of_rung(rung: _Rung) -> Iterator[tuple[Metric, float]]:
    name = f"{rung.concurrency}_clients"
    clients = counted(rung.concurrency, "client")
    yield metric(f"transactions_per_min_{name}", "1/min", f"Transactions, {clients}"), rung.tpm
    title, clock = f"Mean latency, {clients}", "pgbench's clock"
    yield metric(f"mean_latency_{name}", "s", title, lower=True, clock=clock), rung.latency_avg_ms / MS_PER_SECOND


def _percentiles(rung: _Rung) -> Iterator[tuple[str, float]]:
    if rung.latency_ms is not None:
        for word, samples in _ENOUGH.items():
            if rung.latency_ms.samples >= samples:
                yield word, getattr(rung.latency_ms, word)


def _ladder(file: _File, highest: _Rung) -> Verdict:
    rungs = file.sizes[0].profile
    if file.score != highest.tpm:
        return invalid(LADDER, f"the score is {file.score:g}, but the highest rung has {highest.tpm:g}")
    for rung in rungs:
        clients = counted(rung.concurrency, "client")
        if rung.tx_failed:
            return invalid(LADDER, f"{clients}: {counted(rung.tx_failed, 'transaction')} failed")
        rate = rung.tx_processed * SECONDS_PER_MINUTE / rung.run_seconds
        if abs(rate - rung.tpm) > max(1, _SAME_RATE * rung.tpm):
            return invalid(LADDER, f"{clients}: {rung.tpm:g} a minute, but {rate:.0f} by transactions and seconds")
    return valid(
        LADDER, f"{counted(len(rungs), 'rung')}; the score is that of {counted(highest.concurrency, 'client')}"
    )
