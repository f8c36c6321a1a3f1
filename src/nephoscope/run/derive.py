"""Raw output -> measurements and verdicts: the second half of a trial, which `parse` repeats without machines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import fsum
from statistics import median
from typing import Any

from pydantic import ValidationError

from nephoscope.benchmarks.base import VOLUME, Benchmark, Ended, stretches
from nephoscope.checks.registry import run_checks
from nephoscope.checks.steal import Steal
from nephoscope.machines.telemetry import Lines, read_lines, samples_of
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import (
    CO_LOCATED,
    EMULATED,
    Derived,
    Direction,
    Disturbance,
    Evidence,
    Expected,
    FactsRecord,
    Measurement,
    Metric,
    NetworkBytes,
    Observations,
    Series,
    StartedRecord,
    TelemetrySample,
    TrialIntent,
    Verdict,
)
from nephoscope.model.units import GIB, MIB, MS_PER_SECOND
from nephoscope.run.resources import cpu_time, resource_use, server_costs_of
from nephoscope.store.attempt import Attempt
from nephoscope.study.machine_names import is_burstable
from nephoscope.study.machines import disks_of, left_raw
from nephoscope.study.managed import read_as_provided
from nephoscope.study.model import Configuration, Machine

TELEMETRY_PREFIX = "telemetry-"
TELEMETRY_SUFFIX = ".jsonl"
_STEP_S = 0.1
"""The load generator counts the operations of each."""
_EVEN = 1.5
"""An interval that is longer than the others by more than this leaves a gap: then there is no series."""


def derive(attempt: Attempt, intent: TrialIntent, benchmark: Benchmark) -> Derived:
    """Parses and checks one attempt; stores nothing.

    Raises:
        OutputUnreadable: the raw output is not from the benchmark's tool.
    """
    parameters = benchmark.parameters.model_validate(intent.benchmark.parameters)
    raw = attempt.raw()
    try:
        measurements = benchmark.parse(raw, parameters)
    except ValidationError as error:
        if error.title != Measurement.__name__:
            raise
        raise OutputUnreadable(f"{benchmark.name} printed what cannot be: {error.errors()[0]['msg']}") from error
    known = {metric.name: metric.unit for metric in benchmark.metrics(parameters)}
    for row in measurements:
        if known.get(row.metric) != row.unit:
            raise OutputUnreadable(f"{benchmark.name} reported {row.metric} in {row.unit}, which it does not declare")
    if not any(row.at_s is None for row in measurements):
        raise OutputUnreadable(f"{benchmark.name} found no numbers in its output")
    telemetry = _read_telemetry(raw)
    ended = benchmark.ended(raw, parameters)
    steps = [
        series.model_copy(update={"metric": f"step {number}"})
        for number, step in enumerate(benchmark.steps(raw, parameters), 1)
        for series in work_of(step)
    ]
    judged = () if benchmark.is_watched(parameters) else benchmark.metrics(parameters)
    series = series_of(measurements, judged, getattr(parameters, "ramp_s", 0.0))
    evidence = _evidence(attempt, intent, benchmark, parameters, raw, telemetry)
    work = [*evidence.work, *work_of(ended)]
    evidence = evidence.model_copy(update={"series": series, "work": work, "steps": steps})
    # A server that was started again counts anew.
    costs = () if evidence.faults else server_costs_of(attempt, ended, telemetry.lines, raw)
    if evidence.cpu_phases and not series:
        evidence = evidence.model_copy(update={"work": cpu_time(evidence.telemetry, evidence.commands)})
    return Derived(
        measurements=[*measurements, *costs],
        errors=None if evidence.operations is None else evidence.operations.errors,
        network=network_bytes(evidence.telemetry),
        resources=resource_use(evidence.telemetry, evidence.measured_cpus, evidence.burstable, evidence.commands),
        verdicts=run_checks(evidence),
    )


def _evidence(
    attempt: Attempt,
    intent: TrialIntent,
    benchmark: Benchmark,
    parameters: Any,
    raw: Mapping[str, bytes],
    telemetry: "_Telemetry",
) -> Evidence:
    started = attempt.started()
    operations = benchmark.operations(raw, parameters, started.client_cpus if started else None)
    observed = benchmark.observations(raw, parameters)
    found = _of_machines(attempt, intent, telemetry)
    if benchmark.needs(parameters).raw_device == VOLUME:
        found = found.model_copy(update={"expected": _without_disk(found.expected, intent)})
    return found.model_copy(
        update={"operations": operations, **{name: getattr(observed, name) for name in Observations.model_fields}}
    )


def _without_disk(expected: Expected, intent: TrialIntent) -> Expected:
    """Where no disk got a filesystem for the trial, the data folder is on the image's, of which nothing is expected."""
    machine = left_raw(read_as_provided(intent.configuration)).database_machine
    if disks_of(machine, raw=False):
        return expected
    return expected.model_copy(update=dict.fromkeys(("disk_bytes", "disk_kind", "filesystem", "mount_options")))


def evidence_of_machines(attempt: Attempt, intent: TrialIntent, raw: Mapping[str, bytes]) -> Evidence:
    """What was observed of an attempt's machines, whatever its benchmark; `raw` holds at least their telemetry."""
    return _of_machines(attempt, intent, _read_telemetry(raw))


def _of_machines(attempt: Attempt, intent: TrialIntent, telemetry: "_Telemetry") -> Evidence:
    configuration = read_as_provided(intent.configuration)
    facts, started = attempt.facts(), attempt.started()
    machine = configuration.database_machine
    return Evidence(
        expected=_expected(machine, co_located=CO_LOCATED in (started.conditions if started else [])),
        facts_before={record.machine: record.before for record in facts},
        facts_after={record.machine: record.after for record in facts if record.after is not None},
        telemetry=telemetry.samples,
        telemetry_problems=telemetry.problems,
        commands=attempt.commands(),
        measured_cpus=started.measured_cpus if started else {},
        emulated=EMULATED in (started.conditions if started else []),
        disturbance=(started.disturbance if started else None) or "reject",
        lost_connections=intent.lost_connections,
        margin_percent=intent.margin_percent,
        burstable=_burstable(configuration, started, facts),
        own_quotas=_own_quotas(configuration, started),
        load_machines=started.load_machines if started else [],
        usual_kind=attempt.usual_kind(),
        replication_before=attempt.replication("before"),
        replication_after=attempt.replication("after"),
        database_before=attempt.database("before"),
        database_after=attempt.database("after"),
    )


def series_of(measurements: Sequence[Measurement], metrics: Sequence[Metric], ramp_s: float = 0.0) -> list[Series]:
    """Headline rates that have a value for each interval, in order of time; all intervals must be equally long.

    The ramp is left out: it is in no mean.
    """
    by_metric: dict[str, list[Measurement]] = {}
    for row in measurements:
        if row.at_s is not None and row.at_s > ramp_s:
            by_metric.setdefault(row.metric, []).append(row)
    found: list[Series] = []
    for metric in metrics:
        rows = sorted(by_metric.get(metric.name, ()), key=lambda row: row.at_s or 0.0)
        times = [row.at_s for row in rows if row.at_s is not None]
        steps = [later - earlier for earlier, later in pairwise(times)]
        rate = metric.headline and metric.direction is Direction.HIGHER
        if rate and steps and min(steps) > 0 and max(steps) <= _EVEN * median(steps):
            values = [row.value for row in rows]
            found.append(Series(metric=metric.name, unit=metric.unit, step_s=median(steps), values=values))
    return found


def work_of(ended: Sequence[Ended]) -> Iterator[Series]:
    """Operations of each stretch of the measurement in steps of 100 ms; nothing of outputs that do not tell them."""
    for stretch in stretches(ended):
        counts = [count for one in stretch for count in one.per_100_ms]
        whole = round(stretch[-1].to_unix_ms - stretch[0].from_unix_ms) // round(_STEP_S * MS_PER_SECOND)
        if whole > 1 and all(one.per_100_ms for one in stretch):
            rates = [count / _STEP_S for count in counts[:whole]]
            yield Series(
                metric="operations", unit="1/s", step_s=_STEP_S, values=rates, at_unix_ms=stretch[0].from_unix_ms
            )


def network_bytes(telemetry: Mapping[str, Sequence[TelemetrySample]]) -> list[NetworkBytes]:
    """Traffic of each machine whose counters were read throughout, by name."""
    found: list[NetworkBytes] = []
    for machine, samples in sorted(telemetry.items()):
        received = _bytes_of((one.network_receive_bytes_per_s, one.duration_s) for one in samples)
        sent = _bytes_of((one.network_send_bytes_per_s, one.duration_s) for one in samples)
        if samples and received is not None and sent is not None:
            sampled_s = fsum(one.duration_s for one in samples)
            found.append(NetworkBytes(machine=machine, sampled_s=sampled_s, received_bytes=received, sent_bytes=sent))
    return found


def _bytes_of(rates: Iterable[tuple[float | None, float]]) -> float | None:
    """None: in some interval no counter was read."""
    known = [None if rate is None else rate * duration_s for rate, duration_s in rates]
    return None if None in known else fsum(one or 0 for one in known)


def _own_quotas(configuration: Configuration, started: StartedRecord | None) -> dict[str, float]:
    """Quotas of emulated machines by name; the type of load machines may differ from the others."""
    load = configuration.load_machine or configuration.database_machine
    loads = started.load_machines if started else []
    names = started.measured_cpus if started else {}
    types = {name: (load if name in loads else configuration.database_machine).emulated for name in names}
    return {name: one.cpu_quota for name, one in types.items() if one is not None and one.cpu_quota is not None}


def _burstable(
    configuration: Configuration, started: StartedRecord | None, facts: Sequence[FactsRecord]
) -> dict[str, str]:
    """Machine -> its type, if the type earns CPU credits: as ordered, else as the machine says (Amazon EC2 does)."""
    loads = started.load_machines if started and configuration.load_machine else []
    found: dict[str, str] = {}
    for record in facts:
        role = configuration.load_machine if record.machine in loads else configuration.database_machine
        kinds = (role.type if role else None, record.before.product)
        kind = next((kind for kind in kinds if kind is not None and is_burstable(kind)), None)
        if kind is not None:
            found[record.machine] = kind
    return found


def _expected(machine: Machine, *, co_located: bool) -> Expected:
    return Expected(
        cpus=machine.cpus,
        cores=machine.cores,
        threads_per_core=machine.threads_per_core,
        memory_bytes=_bytes(machine.expect_memory_gib, GIB),
        cpu_model_contains=machine.expect_cpu_model,
        sockets=machine.expect_sockets,
        numa_nodes=machine.expect_numa_nodes,
        l3_bytes=_bytes(machine.expect_l3_mib, MIB),
        disk_bytes=_bytes(machine.expect_disk_gib, GIB),
        disk_kind=machine.expect_disk_kind,
        filesystem=machine.filesystem,
        mount_options=_mount_options(machine),
        clock_source=machine.expect_clock_source,
        kernel_contains=machine.expect_kernel,
        co_located=co_located,
    )


def _mount_options(machine: Machine) -> list[str] | None:
    """The mount options that the study requires; the type of an emulated machine says whether its disk has barriers."""
    barriers = [] if machine.emulated is None else ["barrier" if machine.emulated.disk_barriers else "nobarrier"]
    return [*(machine.mount_options or []), *barriers] or None


def _bytes(size: float | None, unit: int) -> int | None:
    return None if size is None else int(size * unit)


@dataclass(frozen=True)
class _Telemetry:
    """What the samplers wrote, by machine."""

    lines: dict[str, Lines]
    samples: dict[str, list[TelemetrySample]]
    problems: dict[str, str]
    """Why there are no samples: checks then say `unknown` with that reason."""


def _read_telemetry(raw: Mapping[str, bytes]) -> _Telemetry:
    telemetry = _Telemetry({}, {}, {})
    for name, content in raw.items():
        if not name.startswith(TELEMETRY_PREFIX):
            continue
        machine = name.removeprefix(TELEMETRY_PREFIX).removesuffix(TELEMETRY_SUFFIX)
        telemetry.samples[machine] = []
        try:
            telemetry.lines[machine] = read_lines(content.decode(errors="replace"))
            telemetry.samples[machine] = samples_of(telemetry.lines[machine])
        except OutputUnreadable as error:
            telemetry.problems[machine] = error.message
    return telemetry


@dataclass(frozen=True)
class StealJudge:
    """Judges the steal of stored attempts as one `disturbance` demands."""

    disturbance: Disturbance

    def read(self, attempt: Attempt, intent: TrialIntent) -> Attempt:
        """The attempt, with its verdict on steal made again from its telemetry, if it has one."""
        return _JudgedAgain(attempt, intent, self.disturbance)


class _JudgedAgain(Attempt):
    def __init__(self, attempt: Attempt, intent: TrialIntent, disturbance: Disturbance) -> None:
        super().__init__(attempt.folder)
        self._intent = intent
        self._disturbance = disturbance

    @cached_property
    def _evidence(self) -> Evidence:
        logs = sorted(self.raw_dir.glob(f"{TELEMETRY_PREFIX}*"))
        found = evidence_of_machines(self, self._intent, {path.name: path.read_bytes() for path in logs})
        return found.model_copy(update={"disturbance": self._disturbance})

    @cached_property
    def _verdicts(self) -> Sequence[Verdict]:
        stored = super().verdicts()
        judged = any(verdict.check == Steal.name for verdict in stored)
        new = Steal()(self._evidence) if judged else None
        return [new if new and verdict.check == new.check else verdict for verdict in stored]

    def verdicts(self) -> list[Verdict]:
        return list(self._verdicts)

    def started(self) -> StartedRecord | None:
        stored = super().started()
        return stored.model_copy(update={"disturbance": self._disturbance}) if stored else None
