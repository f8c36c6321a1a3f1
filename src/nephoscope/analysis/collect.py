"""Reads the inputs of the analysis from stored trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit

from pydantic import ValidationError

from nephoscope.analysis.equal_benchmarks import under_test, with_equals
from nephoscope.analysis.inputs import ObservedMachine, StudyInputs
from nephoscope.analysis.machines import SeenMachine, Sighting, machine_keys
from nephoscope.analysis.stored_trials import Stored, stamp_of_inputs, verified_trials
from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.load.output import client_cpu_share
from nephoscope.checks.kinds import differing_facts
from nephoscope.checks.registry import overall
from nephoscope.checks.thresholds import STEAL
from nephoscope.checks.verdicts import Check
from nephoscope.model.errors import InputError
from nephoscope.model.quantities import Bound
from nephoscope.model.records import (
    BenchmarkUse,
    CommandRecord,
    Disturbance,
    Metric,
    OperationErrors,
    Plan,
    ResourceUse,
    SourceRecord,
    StartedRecord,
    TrialIntent,
    Verdict,
    VerdictKind,
)
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, NetworkRow, RawFileRow, TrialRow, TrialState
from nephoscope.model.subjects import Subject, subject_by_name
from nephoscope.model.words import NOBODY_MEASURED, SIMULATED
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.prices.rows import read_csv
from nephoscope.store.attempt import Attempt
from nephoscope.store.digests import RAW
from nephoscope.store.files import read_text
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.claims import Claims, load_claims
from nephoscope.study.model import Study

NOT_RUN_CLASSES = frozenset({"tool_missing"})
"""Failures that mean that a benchmark could not even start on this machine."""

Metrics = Mapping[str, Mapping[str, Metric]]
"""Benchmark of the study -> metric by its name."""


class JudgeAgain(Protocol):
    """Reads stored attempts as if their steal had been judged otherwise; changes nothing in the folder."""

    @property
    def disturbance(self) -> Disturbance:
        """How it judges."""

    def read(self, attempt: Attempt, intent: TrialIntent) -> Attempt:
        """The attempt with the new verdict."""


def collect(
    folder: ResultsFolder,
    study: Study,
    benchmarks: Mapping[str, Benchmark],
    checks: Sequence[Check],
    version: str,
    again: JudgeAgain | None = None,
    *,
    remember: bool = True,
) -> StudyInputs:
    """Everything the analysis starts from; `again` reads each attempt as if its steal had been judged otherwise.

    `remember`: see `verified_trials`.

    Raises:
        InputError: the plan names a benchmark that this version does not know, or one of another version that cannot
            be read with this one's parameters and metrics.
        DamagedFile, NewerSchema: a stored file cannot be read.
    """
    plan, source = folder.plan(), folder.source()
    used = imported_rows(plan, source) if source else benchmark_rows(plan, benchmarks)
    metrics = {row.benchmark: {metric.name: metric for metric in row.metrics} for row in used}
    subjects = {row.benchmark: row.subject for row in used}
    intents = [planned.intent for planned in plan.trials]
    stamp = stamp_of_inputs(folder, plan)  # before anything is read: what changes meanwhile must differ later
    found = []
    for row in verified_trials(folder, remember=remember):
        judged = again.read(row.readable, row.intent) if again and row.readable else row.attempt
        found.append(
            _read(folder, replace(row, attempt=judged), subjects[row.intent.benchmark.name], metrics, benchmarks)
        )
        row.forget()
    begun = [one for one in found if one.sighting is not None]
    finished = {one.row.trial: one for one in begun if one.row.state == "finished"}
    keys = machine_keys([one.sighting for one in begun if one.sighting is not None])
    return StudyInputs(
        study=_as_simulated(study) if plan.simulated else study,
        study_toml=folder.study_text(),
        plan=plan,
        nephoscope_version=version,
        benchmarks=used,
        trials=with_equals(
            [
                one.row.model_copy(update={"machine": keys[one.row.trial]}) if one.row.trial in keys else one.row
                for one in found
            ],
            {one.row.trial: one.node_cpus for one in begun if one.node_cpus},
            uses_of(plan),
            {} if source else benchmarks,
            {intent.id: under_test(intent.configuration, subjects[intent.benchmark.name]) for intent in intents},
        ),
        measurements=[row for one in finished.values() for row in one.measurements],
        bounds=[row for one in finished.values() for row in one.bounds],
        machines=[seen for one in begun for seen in one.machines],
        commands={one.row.trial: one.commands for one in begun},
        network=[row for one in finished.values() for row in one.network],
        verdicts={trial: one.verdicts for trial, one in finished.items()},
        errors={trial: one.errors for trial, one in finished.items()},
        resources={trial: one.resources for trial, one in finished.items()},
        raw_files=[row for one in begun for row in one.raw_files],
        check_texts=source.checks if source else {check.name: check.text for check in checks},
        source=source,
        database_settings=_settings(begun),
        versions_of_trials={one.row.trial: one.tool_versions for one in begun if one.tool_versions is not None},
        book=_book(folder),
        claims=_claims(folder),
        looks=folder.looks(),
        judged_again=again.disturbance if again else None,
        stamp=stamp,
    )


@dataclass(frozen=True)
class _Read:
    """What an analysis reads of one trial, so that none of its files is read twice or kept."""

    row: TrialRow
    sighting: Sighting | None = None
    """None: it was never started, or its files were altered; then there is nothing else, either."""
    measurements: Sequence[MeasurementRow] = ()
    bounds: Sequence[MeasurementRow] = ()
    machines: Sequence[ObservedMachine] = ()
    commands: Sequence[CommandRecord] = ()
    network: Sequence[NetworkRow] = ()
    verdicts: Sequence[Verdict] = ()
    errors: Sequence[OperationErrors] = ()
    resources: Sequence[ResourceUse] = ()
    raw_files: Sequence[RawFileRow] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    tool_versions: Mapping[str, str] | None = None
    node_cpus: int | None = None
    """Of one machine under test."""


def _read(
    folder: ResultsFolder, stored: Stored, subject: Subject, metrics: Metrics, benchmarks: Mapping[str, Benchmark]
) -> _Read:
    row, intent, attempt = trial_row(folder, stored, subject), stored.intent, stored.readable
    if attempt is None:
        return _Read(row)
    started, finished = attempt.started(), row.state == "finished"
    measured = measurement_rows(intent, attempt, row, metrics, benchmarks) if finished else []
    return _Read(
        row=row,
        sighting=_sighting(intent, attempt),
        measurements=[found for found, bound in measured if bound is None],
        bounds=[found for found, bound in measured if bound is not None],
        machines=_observed(intent, attempt),
        commands=attempt.commands(),
        network=_network_rows(intent, attempt, row) if finished else (),
        verdicts=attempt.verdicts() if finished else (),
        errors=attempt.errors() if finished else (),
        resources=attempt.resources() if finished else (),
        raw_files=[
            RawFileRow(trial=intent.id, file=name, size_bytes=size_bytes, sha256=sha256)
            for name, size_bytes, sha256 in _raw_digests(stored)
        ],
        settings=attempt.settings(),
        tool_versions=started.tool_versions if started else None,
        node_cpus=len(started.measured_cpus.get(started.machines.get("database", ""), ())) if started else None,
    )


def _raw_digests(row: Stored) -> list[tuple[str, int, str]]:
    """Every raw file and log: path below `raw`, bytes, SHA-256; as stored with the attempt if that was compared."""
    if row.readable is None:
        return []
    status = row.readable.committed()
    if row.checked is None or status is None or status.files is None:
        return row.readable.raw_digests()
    names = sorted(row.checked.raw_bytes, key=lambda name: name.split("/"))
    return [(name, row.checked.raw_bytes[name], status.files[f"{RAW}{name}"]) for name in names]


def _as_simulated(study: Study) -> Study:
    """A rehearsal says in its title and first paragraph what it is."""
    title = f"{SIMULATED}: {study.title or study.name}"
    return study.model_copy(update={"title": title, "description": f"{NOBODY_MEASURED}\n\n{study.description}".strip()})


def _claims(folder: ResultsFolder) -> Claims | None:
    own = folder.claims_path
    return load_claims(read_text(own, mend="correct the file, or remove it"), str(own)) if own.exists() else None


def _book(folder: ResultsFolder) -> PriceBook:
    """The folder's own prices over those that ship."""
    own = folder.prices_path
    return PriceBook(read_csv(own)).over(shipped()) if own.exists() else shipped()


def subjects_of(plan: Plan, source: SourceRecord | None, benchmarks: Mapping[str, Benchmark]) -> dict[str, Subject]:
    """The study's name of each benchmark -> its subject, also of benchmarks that this version cannot analyse."""
    uses = uses_of(plan)
    stated = {one.name: one.subject for one in source.benchmarks} if source else {}
    return {name: stated.get(name) or _subject_of(use, benchmarks) for name, use in uses.items()}


def uses_of(plan: Plan) -> dict[str, BenchmarkUse]:
    """The study's name of each benchmark -> its use, in the order of the plan."""
    return {planned.intent.benchmark.name: planned.intent.benchmark for planned in plan.trials}


def _subject_of(use: BenchmarkUse, benchmarks: Mapping[str, Benchmark]) -> Subject:
    try:
        benchmark = benchmarks[use.uses]
        return benchmark.subject_of(benchmark.parameters.model_validate(use.parameters))
    except (KeyError, ValidationError):
        return subject_by_name(use.uses)


def trial_row(folder: ResultsFolder, row: Stored, subject: Subject) -> TrialRow:
    """One row of trials.parquet."""
    intent, attempt = row.intent, row.readable
    status = attempt.status() if attempt else None
    started = attempt.started() if attempt else None
    state = _state(row)
    verdicts = attempt.verdicts() if attempt and state == "finished" else []
    machines = attempt.resources() if attempt and state == "finished" else []
    other_kinds = _other_kinds(folder, row)
    return TrialRow(
        trial=intent.id,
        configuration=intent.configuration_name,
        benchmark=intent.benchmark.name,
        subject=subject,
        uses=intent.benchmark.uses,
        replicate=intent.replicate,
        block=intent.block,
        position=intent.position,
        position_in_block=intent.position_in_block,
        cpus=cpus_of(started, subject) if started else None,
        state=state,
        verdict=overall(verdicts) if state == "finished" else None,
        reasons=_reasons(row),
        attempt=row.attempt.number if row.attempt else None,
        attempts=row.attempts,
        other_kinds=[", ".join(names) for names in other_kinds],
        started_unix_ms=started.at_unix_ms if started else None,
        duration_s=status.duration_s if status else None,
        client_cpu_share=_client_cpu_share(row) if state == "finished" else None,
        conditions=started.conditions if started else [],
        folder=folder.relative(row.attempt) if row.attempt else None,
        stolen_share=_stolen_share(machines),
        disturbance=_disturbance(started, verdicts) if state == "finished" else None,
        at_baseline=_at_baseline(machines),
        has_digests=row.checked.has_digests if row.checked else None,
        rejected_by=[said.check for said in _not_valid(verdicts)],
        differs_in=sorted({name for names in other_kinds for name in names}),
        events=[event for said in verdicts for event in said.events],
    )


def _stolen_share(machines: Sequence[ResourceUse]) -> float | None:
    """Of the machine that lost most; None: of one of them it is not known."""
    shares = [machine.stolen_share for machine in machines]
    known = [share for share in shares if share is not None]
    return max(known) if known and len(known) == len(shares) else None


def _at_baseline(machines: Sequence[ResourceUse]) -> bool:
    """True if each machine that lost CPU time did so because its credits were spent."""
    lost = [machine for machine in machines if (machine.stolen_share or 0.0) > STEAL.value]
    return bool(lost) and all(machine.at_baseline for machine in lost)


def _disturbance(started: StartedRecord | None, verdicts: Sequence[Verdict]) -> Disturbance | None:
    """How steal was judged; None: it was not."""
    judged = any(verdict.check == "steal" for verdict in verdicts)
    return (started.disturbance if started else None) or ("reject" if judged else None)


def cpus_of(started: StartedRecord, subject: Subject) -> int | None:
    """CPUs that gave a trial's numbers: of all machines of a database that is driven, else of the one that is measured.

    None: of one of them they are not known.
    """
    first, masks = started.machines.get("database", ""), started.measured_cpus
    others = [name for name in masks if name not in {first, *started.load_machines}]
    measured = [first, *others] if subject is Subject.DATABASE else [first]
    found = [len(masks.get(name, [])) for name in measured]
    return sum(found) if all(found) else None


def _state(row: Stored) -> TrialState:
    if row.attempt is None:
        return "planned" if row.not_needed_after is None else "not needed"
    if row.readable is None:
        return "altered"
    status = row.attempt.status()
    if status is None:
        return "running" if row.running else "interrupted"
    return "not run" if status.failure_class in NOT_RUN_CLASSES else status.state


def _reasons(row: Stored) -> list[str]:
    if row.attempt is None and row.not_needed_after is not None:
        return [f"no open question needed it after block {row.not_needed_after}"]
    if row.attempt is None:
        return ["not started yet"]
    if row.checked is not None and row.checked.altered:
        return ["; ".join(map(str, row.checked.altered))]
    status = row.attempt.status()
    if status is None:
        return ["running now" if row.running else "killed before it ended"]
    if status.state == "finished":
        return [f"{said.check}: {said.reason}" for said in _not_valid(row.attempt.verdicts())]
    said = "not run" if status.failure_class in NOT_RUN_CLASSES else status.failure_class or status.state
    return [
        said + (f": {status.message}" if status.message else "") + (f"; hint: {status.hint}" if status.hint else "")
    ]


def _not_valid(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [row for row in verdicts if row.verdict is not VerdictKind.VALID]


def _other_kinds(folder: ResultsFolder, row: Stored) -> list[list[str]]:
    """Of each attempt on machines of another kind than the usual one: the facts in which they differ."""
    if row.readable is None:
        return []
    attempts = folder.trial(row.intent.id).finished_attempts() if row.attempts > 1 else [row.readable]
    return list(filter(None, map(_unlike, attempts)))


def _unlike(attempt: Attempt) -> list[str]:
    kind, started = attempt.usual_kind(), attempt.started()
    if kind is None or started is None:
        return []
    return differing_facts({one.machine: one.before for one in attempt.facts()}, started.load_machines, kind)


def _client_cpu_share(row: Stored) -> float | None:
    """As the checks judged it, from the same measurement."""
    attempt = row.attempt
    started = attempt.started() if attempt else None
    if attempt is None or started is None:
        return None
    found = [said.value for said in attempt.measurements() if said.metric == "client_cpu" and said.at_s is None]
    return client_cpu_share(found[0], started.client_cpus) if found else None


def benchmark_rows(plan: Plan, benchmarks: Mapping[str, Benchmark]) -> list[BenchmarkRow]:
    """Every benchmark of a plan with its metrics.

    Raises:
        InputError: this version does not know one of them, or knows another version of it.
    """
    rows: dict[str, BenchmarkRow] = {}
    for planned in plan.trials:
        use = planned.intent.benchmark
        if use.name in rows:
            continue
        if use.uses not in benchmarks:
            raise InputError(
                f"the plan uses the benchmark {use.uses!r}, which this nephoscope does not know",
                hint="use the version that ran the study; it is recorded in every started.json",
            )
        benchmark = benchmarks[use.uses]
        try:
            parameters = benchmark.parameters.model_validate(use.parameters)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in problem["loc"])
            raise _of_another_version(use, benchmark.version, f"{where}: {problem['msg']}") from error
        rows[use.name] = BenchmarkRow(
            benchmark=use.name,
            subject=benchmark.subject_of(parameters),
            uses=use.uses,
            version=use.version,
            title=benchmark.title,
            parameters=use.parameters,
            notes=benchmark.notes(parameters),
            metrics=list(benchmark.metrics(parameters)),
            database_load=benchmark.database_load_of(parameters),
            extent=benchmark.extent_of(parameters),
            measured_s=benchmark.measured_s(parameters),
        )
    return list(rows.values())


def _of_another_version(use: BenchmarkUse, ours: int, problem: str) -> InputError:
    """The folder is from an older or newer version: fail rather than silently leave out a number."""
    return InputError(
        f"{use.name!r} was planned with version {use.version} of the benchmark {use.uses!r}, and this nephoscope has "
        f"version {ours}: {problem}",
        hint="use the version that ran the study; it is recorded in every started.json",
    )


def imported_rows(plan: Plan, source: SourceRecord) -> list[BenchmarkRow]:
    """Benchmarks of an import, named as in its source; only those in the plan."""
    used = {planned.intent.benchmark.name for planned in plan.trials}
    return [
        BenchmarkRow(benchmark=one.name, uses=one.name, version=1, **one.model_dump(exclude={"name"}))
        for one in source.benchmarks
        if one.name in used
    ]


def measurement_rows(
    intent: TrialIntent, attempt: Attempt, trial: TrialRow, metrics: Metrics, benchmarks: Mapping[str, Benchmark]
) -> list[tuple[MeasurementRow, Bound | None]]:
    """What a trial measured, each with whether it is a value or a bound.

    Raises:
        InputError: another version of its benchmark measured it.
    """
    use, stored = intent.benchmark, attempt.measurements()
    unknown = sorted({found.metric for found in stored} - metrics[use.name].keys())
    if unknown and use.uses in benchmarks:
        raise _of_another_version(use, benchmarks[use.uses].version, f"trial {intent.id} holds {', '.join(unknown)}")
    declared, configuration, counts = metrics[use.name], intent.configuration_name, trial.counts
    return [
        (
            MeasurementRow(
                trial=intent.id,
                configuration=configuration,
                benchmark=use.name,
                subject=trial.subject,
                metric=found.metric,
                unit=found.unit,
                direction=declared[found.metric].direction,
                value=found.value,
                role=found.role,
                at_s=found.at_s,
                replicate=intent.replicate,
                block=intent.block,
                position=intent.position,
                valid=counts,
            ),
            found.bound,
        )
        for found in stored
        if found.metric in declared
    ]


def _network_rows(intent: TrialIntent, attempt: Attempt, trial: TrialRow) -> list[NetworkRow]:
    roles = _roles(attempt)
    return [
        NetworkRow(
            trial=intent.id,
            configuration=intent.configuration_name,
            benchmark=intent.benchmark.name,
            subject=trial.subject,
            role=roles.get(found.machine, "database"),
            valid=trial.counts,
            **dict(found),
        )
        for found in attempt.network()
    ]


def _roles(attempt: Attempt) -> dict[str, str]:
    """Machine -> its role; if several machines have the same role, only the first."""
    started = attempt.started()
    return {name: role.partition(" ")[0] for role, name in reversed(started.machines.items())} if started else {}


def _observed(intent: TrialIntent, attempt: Attempt) -> list[ObservedMachine]:
    roles = _roles(attempt)
    return [
        ObservedMachine(
            trial=intent.id,
            configuration=intent.configuration_name,
            role=roles.get(record.machine, "database"),
            machine=record.machine,
            facts=record.before,
        )
        for record in attempt.facts()
    ]


def _sighting(intent: TrialIntent, attempt: Attempt) -> Sighting:
    started = attempt.started()
    lease, dsn = attempt.lease(), intent.configuration.get("database", {}).get("dsn")
    return Sighting(
        trial=intent.id,
        provider=str(intent.configuration.get("provider", "local")),
        machines=tuple(
            SeenMachine(seen.machine, seen.facts.hostname, seen.facts.boot_id)
            for seen in _observed(intent, attempt)
            if seen.role == "database"
        ),
        cluster=lease.cluster if lease else None,
        server=urlsplit(dsn).hostname if dsn else None,
        stated=started.same_machine if started else None,
    )


def _settings(begun: Sequence[_Read]) -> dict[str, Mapping[str, str]]:
    """Settings in force of each configuration, as its first trial with a database saw them."""
    found: dict[str, Mapping[str, str]] = {}
    for one in begun:
        if one.settings:
            found.setdefault(one.row.configuration, one.settings)
    return found
