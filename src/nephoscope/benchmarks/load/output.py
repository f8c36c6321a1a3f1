"""Reads what `nephoscope-load` wrote; pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hdrh.histogram import HdrHistogram
from pydantic import ValidationError

from nephoscope.benchmarks.base import Ended
from nephoscope.benchmarks.database.tpcc_rules import Responses
from nephoscope.benchmarks.histograms import QUANTILES, latencies, mean_ns, merged, value_ns
from nephoscope.benchmarks.load.contract import (
    OUTPUT_LINE,
    AuditLine,
    ConditionResult,
    CounterResult,
    ErrorCount,
    Finished,
    Histograms,
    Interval,
    OperationInterval,
    OperationTotal,
    Started,
)
from nephoscope.benchmarks.load.spec import (
    AerospikeTarget,
    LoadSpec,
    MysqlTarget,
    NullWorkload,
    PointSelectWorkload,
    PostgresTarget,
    TpccWorkload,
)
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, OperationErrors, OperationEvidence, Requirement, Saturation
from nephoscope.model.units import NANOSECONDS_PER_SECOND
from nephoscope.model.words import counted

Row = TypeVar("Row")


@dataclass(frozen=True)
class LoadOutput:
    """One complete output."""

    started: Started
    intervals: tuple[Interval, ...]
    finished: Finished

    @property
    def measured(self) -> tuple[Interval, ...]:
        """Intervals of the measurement interval, the ramp left out."""
        return tuple(interval for interval in self.intervals if interval.phase == "measure")

    @property
    def paced(self) -> bool:
        """True when operations have scheduled start times instead of starting when the previous one ends."""
        spec = self.started.spec
        return spec.pace.kind != "closed" or (isinstance(spec.workload, TpccWorkload) and spec.workload.wait == "spec")

    @property
    def measured_s(self) -> float:
        """Length of the measurement interval that was really driven.

        Raises:
            OutputUnreadable: nothing was measured.
        """
        measured_s = self.finished.measured_s
        if measured_s is None or measured_s <= 0:
            raise OutputUnreadable("nephoscope-load measured nothing")
        return measured_s


def read(text: bytes) -> LoadOutput:
    """Reads a whole output.

    Raises:
        OutputUnreadable: it is empty, cut short, not of this contract, or contradicts itself: intervals are missing,
            they do not add up to the totals of the last line, or durations are missing from their histograms.
    """
    lines = [_line(number, line) for number, line in enumerate(text.splitlines(), start=1)]
    if not lines:
        raise OutputUnreadable("nephoscope-load wrote nothing")
    first, *middle = lines
    last = middle.pop() if middle else None
    if not isinstance(first, Started) or not isinstance(last, Finished):
        raise OutputUnreadable(
            "the output of nephoscope-load is not complete: "
            f"it begins with {first.event!r} and ends with {last.event if last else first.event!r}",
            hint="the program crashed or was killed; its stderr is next to its output",
        )
    intervals = tuple(line for line in middle if isinstance(line, Interval))
    if len(intervals) != len(middle):
        raise OutputUnreadable("the output of nephoscope-load contains more than one run")
    _require_whole(intervals, last)
    return LoadOutput(first, intervals, last)


def _require_whole(intervals: tuple[Interval, ...], finished: Finished) -> None:
    """Every line that was written is there, and every operation in it has its durations.

    A program that was stopped early (exit codes 6, 130) writes fewer intervals than planned, and they add up as well.
    Durations outside the range of the histograms (1 ns to 1 h) would be missing from the percentiles without a trace:
    see `_require_durations`.
    """
    for expected, interval in enumerate(intervals):
        if interval.index != expected:
            raise OutputUnreadable(
                f"nephoscope-load: interval {expected} is missing; the output continues with {interval.index}"
            )
        if interval.ended_per_100_ms and sum(interval.ended_per_100_ms) != interval.ended_operations:
            raise OutputUnreadable(
                f"nephoscope-load: the parts of interval {expected} add up to {sum(interval.ended_per_100_ms)} "
                f"operations, but {interval.ended_operations} ended in it"
            )
    rows = [(interval.phase, row) for interval in intervals for row in interval.operations]
    for phase, row in rows:
        if phase == "measure" and row.out_of_range:
            _require_durations(row)
    counted: Counter[tuple[str, str]] = Counter()
    for phase, row in rows:
        counted[row.operation, row.outcome] += row.count if phase == "measure" else 0
    totals: Counter[tuple[str, str]] = Counter()
    for total in finished.operations:
        totals[total.operation, total.outcome] += total.measured
    for key in sorted(counted.keys() | totals.keys()):
        if counted[key] != totals[key]:
            operation, outcome = key
            raise OutputUnreadable(
                f"nephoscope-load: the intervals add up to {counted[key]} {operation} {outcome}, "
                f"but the last line says {totals[key]}"
            )


def _require_durations(row: OperationInterval) -> None:
    """Refuses service and response times that are in no histogram.

    When those are all there, what is missing is queue time; it is below 1 ns, as a response in range bounds it from
    above. A coarse clock (some machines tick every 40 ns) makes it so, and `operation_latencies` counts it.
    """
    for texts in (row.histograms.service, row.histograms.response):
        lost = row.count - merged([texts]).get_total_count()
        if lost:
            durations = f"{counted(lost, 'duration')} of {row.operation} {'was' if lost == 1 else 'were'}"
            raise OutputUnreadable(
                f"nephoscope-load: {durations} outside 1 ns..1 h and {'is' if lost == 1 else 'are'} in no histogram"
            )


def _line(number: int, line: bytes) -> Started | Interval | Finished:
    try:
        return OUTPUT_LINE.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise OutputUnreadable(f"line {number} of nephoscope-load's output: {where}: {first['msg']}") from error


def joined(outputs: Sequence[LoadOutput]) -> LoadOutput:
    """Several measurements of equal specs as one, for sums, histograms and evidence; each has its own indices.

    Named entries (errors, audit, conditions, counters) appear only once.

    Raises:
        OutputUnreadable: there is none, or one of them measured nothing.
    """
    if not outputs:
        raise OutputUnreadable("there is no output of nephoscope-load")
    finished = [output.finished for output in outputs]
    totals: dict[tuple[str, Any], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in (row for one in finished for row in one.operations):
        measured, everything = totals[row.operation, row.outcome]
        totals[row.operation, row.outcome] = (measured + row.measured, everything + row.all)
    whole = max(finished, key=lambda one: one.exit_code).model_copy(
        update={
            "measured_s": sum(output.measured_s for output in outputs),
            "operations": [
                OperationTotal(operation=operation, outcome=outcome, measured=measured, all=everything)
                for (operation, outcome), (measured, everything) in sorted(totals.items())
            ],
            "offered": _sum_known(one.offered for one in finished),
            "not_sent": _sum_known(one.not_sent for one in finished),
            "round_trips": sum(one.round_trips for one in finished),
            "client_cpu_s": sum(one.client_cpu_s for one in finished),
            "gaps": [gap for one in finished for gap in one.gaps],
            "errors": _by_name((row for one in finished for row in one.errors), _error_key, _one_error),
            "audit": _by_name((row for one in finished for row in one.audit), lambda row: row.name, _one_audit),
            "conditions": _by_name(
                (row for one in finished for row in one.conditions), lambda row: row.number, _one_condition
            ),
            "counters": _by_name((row for one in finished for row in one.counters), lambda row: row.name, _one_counter),
        }
    )
    return LoadOutput(outputs[0].started, tuple(row for output in outputs for row in output.intervals), whole)


def _by_name(rows: Iterable[Row], name_of: Callable[[Row], Any], one_of: Callable[[list[Row]], Row]) -> list[Row]:
    """One row of each name, in the order in which names come first."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    return [one_of(many) for many in groups.values()]


def _error_key(row: ErrorCount) -> tuple[str, str, str]:
    return row.operation, row.sqlstate, row.kind


def _one_error(rows: list[ErrorCount]) -> ErrorCount:
    return rows[0].model_copy(update={"count": sum(row.count for row in rows)})


def _one_audit(rows: list[AuditLine]) -> AuditLine:
    """The mean over all draws. A failed line is kept unchanged, because a mean might hide the failure."""
    failed = next((row for row in rows if row.passed is False), None)
    if failed:
        return failed
    draws = sum(row.draws for row in rows)
    observed = sum(row.observed * row.draws for row in rows) / draws if draws else rows[0].observed
    return AuditLine(
        name=rows[0].name,
        observed=observed,
        low=min(row.low for row in rows),
        high=max(row.high for row in rows),
        draws=draws,
        passed=True if all(row.passed for row in rows) else None,
    )


def _one_condition(rows: list[ConditionResult]) -> ConditionResult:
    """A broken one is kept unchanged."""
    return next((row for row in rows if not row.holds), rows[0])


def _one_counter(rows: list[CounterResult]) -> CounterResult:
    """The sum. One that disagreed is kept unchanged, because another one might cancel it out."""
    sums = {name: sum(getattr(row, name) for row in rows) for name in ("server", "client", "in_doubt")}
    whole = rows[0].model_copy(update={"before": None, "after": None, **sums})
    return next((row for row in rows if not row.agrees), rows[0] if len(rows) == 1 else whole)


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


CLOCKS = ("response", "service", "queue")
_MEAN_AND_P99 = ("_mean", "_p99")


def operation_latencies(output: LoadOutput) -> Iterator[Measurement]:
    """Times of each operation's committed completions: `<operation>.service_p99` ...

    Paced operations have response time as well, from the moment they were due. In the closed pace it is the sum of
    service and queue time and says nothing more. `attempt` is the service time of single attempts, told where
    operations were retried.
    """
    clocks = CLOCKS if output.paced else CLOCKS[1:]
    for operation in sorted({row.operation for interval in output.measured for row in interval.operations}):
        for clock in clocks:
            histogram = _committed(output, operation, clock)
            found = latencies(f"{operation}.{clock}", histogram)
            yield from [row for row in found if clock != "queue" or row.metric.endswith(_MEAN_AND_P99)]
    for operation, histogram in _attempts(output).items():
        found = latencies(f"{operation}.attempt", histogram)
        yield from [row for row in found if row.metric.endswith(_MEAN_AND_P99)]


def _committed(output: LoadOutput, operation: str, clock: str) -> HdrHistogram:
    """Times below the 1 ns at which histograms begin count as 1 ns."""
    rows = [
        row
        for interval in output.measured
        for row in interval.operations
        if (row.operation, row.outcome) == (operation, "committed")
    ]
    histogram = merged(_text(row.histograms, clock) for row in rows)
    if below := sum(row.count for row in rows) - histogram.get_total_count():
        histogram.record_value(1, below)
    return histogram


def _text(histograms: Histograms, clock: str) -> str:
    return {"queue": histograms.queue, "service": histograms.service, "response": histograms.response}[clock]


def _attempts(output: LoadOutput) -> dict[str, HdrHistogram]:
    """Of operations with a retry: single attempts of the seconds that had one, whole operations of all others."""
    retried = {row.operation for interval in output.measured for row in interval.attempts}
    texts: dict[str, list[str]] = defaultdict(list)
    for interval in output.measured:
        told = {row.operation for row in interval.attempts}
        for attempt in interval.attempts:
            texts[attempt.operation].append(attempt.histogram)
        for row in interval.operations:
            if row.operation in retried - told:
                texts[row.operation].append(row.histograms.service)
    return {operation: merged(many) for operation, many in sorted(texts.items())}


def responses(output: LoadOutput) -> Mapping[str, Responses]:
    """Response times by operation, of those that committed; without quantiles that too few values support."""
    found: dict[str, Responses] = {}
    for operation in sorted({row.operation for interval in output.measured for row in interval.operations}):
        histogram = _committed(output, operation, "response")
        count = histogram.get_total_count()
        if count:
            found[operation] = Responses(
                mean_s=mean_ns(histogram) / NANOSECONDS_PER_SECOND,
                quantiles_s={
                    quantile.name: value_ns(histogram, quantile) / NANOSECONDS_PER_SECOND
                    for quantile in QUANTILES
                    if quantile.is_supported_by(count)
                },
            )
    return found


def count(output: LoadOutput, *, operations: Collection[str] | None = None, outcomes: Collection[str]) -> int:
    """Operations that ended in the measurement interval, summed from its intervals; `operations` None: of all kinds."""
    return sum(
        row.count
        for interval in output.measured
        for row in interval.operations
        if row.outcome in outcomes and (operations is None or row.operation in operations)
    )


def ended(output: LoadOutput) -> list[Ended]:
    """The operations of each measured interval."""
    return [
        Ended(one.at_unix_ms, one.ended_unix_ms, one.ended_operations, one.ended_per_100_ms) for one in output.measured
    ]


def retries(output: LoadOutput) -> int:
    """Attempts that the server asked to repeat, in the measurement interval."""
    return sum(row.count for interval in output.measured for row in interval.errors if row.kind == "retried")


def client_cpu(output: LoadOutput) -> float:
    """CPU time the generator used per second of the measurement interval: how many CPUs it kept busy."""
    return output.finished.client_cpu_s / output.measured_s


def client_cpu_share(client_cpu: float, client_cpus: int | None) -> float | None:
    """`client_cpu` as a share of the CPUs that the generator may use; None when their number is unknown."""
    return client_cpu / client_cpus if client_cpus else None


def evidence(
    output: LoadOutput,
    client_cpus: int | None,
    *,
    requirements: list[Requirement] | None = None,
    saturation: Saturation | None = None,
) -> OperationEvidence:
    """What the checks want to know; `requirements` and `saturation` are taken as they are."""
    finished, spec = output.finished, output.started.spec
    failed = count(output, outcomes=("failed",))
    return OperationEvidence(
        attempted=count(output, outcomes=("committed", "rolled_back_by_design")) + failed,
        failed=failed,
        client_cpu_share=client_cpu_share(client_cpu(output), client_cpus),
        broken_conditions=[f"{row.number}: {row.text}" for row in finished.conditions if not row.holds],
        conditions_checked=len(finished.conditions),
        conditions_expected=spec.check == "conditions",
        counters_compared=len(finished.counters),
        counters_expected=spec.check == "conditions" and _is_counted(spec, output.started.shards),
        disagreeing_counters=[_disagreement(row) for row in finished.counters if not row.agrees],
        audits_passed=sum(row.passed is True for row in finished.audit),
        audits_unjudged=sum(row.passed is None for row in finished.audit),
        failed_audits=[
            f"{row.name}: {row.observed:.6g} outside {row.low:.6g}..{row.high:.6g}"
            for row in finished.audit
            if row.passed is False
        ],
        offered=finished.offered,
        not_sent=finished.not_sent,
        errors=[OperationErrors(**row.model_dump()) for row in finished.errors],
        requirements=requirements or [],
        saturation=saturation,
        isolation=finished.isolation,
        statements_through_pooler=finished.prepared if finished.pooled else None,
        encryption=finished.encryption,
        **_connections_lost(output),
        exit_code=finished.exit_code,
        message=finished.message,
    )


def _connections_lost(output: LoadOutput) -> dict[str, Any]:
    """How many in the measurement interval, and when the first; empty: the output does not say."""
    counts = [(interval.start_s, interval.client.connections_lost) for interval in output.measured]
    if any(count is None for _, count in counts):
        return {}
    first_s = next((start_s - counts[0][0] for start_s, count in counts if count), None)
    return {"connections_lost": sum(count or 0 for _, count in counts), "first_connection_lost_s": first_s}


def _is_counted(spec: LoadSpec, shards: int) -> bool:
    """Whether the server counts what the workload does, so that it can be compared.

    Of reads, PostgreSQL alone does by table, and Aerospike with those of checks: one generator alone can compare these.
    """
    match spec.workload, spec.target:
        case NullWorkload(), _:
            return False
        case PointSelectWorkload(), PostgresTarget(dialect=dialect):
            return dialect == "postgres" and shards == 1
        case _, AerospikeTarget():
            return shards == 1
        case PointSelectWorkload(), MysqlTarget():
            return False
        case _:
            return True


def _disagreement(counter: CounterResult) -> str:
    most = f" to {counter.client + counter.in_doubt}" if counter.in_doubt else ""
    return f"{counter.name}: server {counter.server}, client {counter.client}{most}"
