"""An imported study -> a results folder, so that `analyze`, `report` and everything after them read it as any other.

What was not stored is missing: an imported trial has no commands, no telemetry, and facts only where its source shows
them. `source.json` marks the folder, and `nephoscope parse` leaves it alone.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from nephoscope.importers.imported import WHOLE, WHOLE_TEXT, ImportedMachine, ImportedStudy, ImportedTrial
from nephoscope.model.errors import InputError
from nephoscope.model.records import (
    BenchmarkUse,
    FactsRecord,
    Plan,
    PlannedTrial,
    SourceRecord,
    StartedRecord,
    Status,
    TrialIntent,
)
from nephoscope.model.text import visible
from nephoscope.store.atomic import sync_all
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Configuration
from nephoscope.study.toml_text import quoted, toml_value

IMPORTED = "imported"
"""Stated condition: measured by others."""
SEED = 1
BATCH = 1000
"""Trials that are written, synced to disk together, and then committed: an fsync for each of their files took three
quarters of an import."""


def write(study: ImportedStudy, folder: ResultsFolder, version: str) -> SourceRecord:
    """Stores every trial of an import; equal files make equal bytes.

    Raises:
        InputError: there is nothing in it, two trials cannot be told apart, or the folder holds a study that was
            measured here.
        FolderInUse: somebody works on it.
        StorageFailed: it cannot be written.
    """
    if not study.trials:
        why = next((f": {one}" for one in (*study.refused, *study.left_out)), "")
        raise InputError(f"nothing to import{why}", hint="`nephoscope import --help` says what each format looks like")
    if folder.plan_path.exists() and folder.source() is None:
        raise InputError(
            f"{folder.path} already holds a study", hint="an import needs its own folder: choose another --out"
        )
    planned = list(_planned(study))
    plan = Plan(
        study=study.name,
        seed=SEED,
        trials=[row for row, _ in planned],
        expected_duration_s=0,
        price_usd=None,
        unpriced=[],
        warnings=[],
    )
    source = _source(study)
    with folder.lock():
        folder.forget_analysis()
        folder.write_source(source)
        folder.write_plan(_study_toml(study), plan)
        for begin in range(0, len(planned), BATCH):
            batch = planned[begin : begin + BATCH]
            stored = [_store(folder, row.intent, trial, version) for row, trial in batch]
            sync_all(folder.path)
            for attempt, (_, trial) in zip(stored, batch, strict=True):
                _commit(attempt, trial)
        sync_all(folder.path)
    return source


def _planned(study: ImportedStudy) -> Iterator[tuple[PlannedTrial, ImportedTrial]]:
    """In the order in which they were measured, as far as that is known; the n-th of a kind is its replicate n."""
    # Shared by all trials of a machine: those of 30,000 would take half a gigabyte.
    configurations = {
        name: Configuration.model_validate(_keys(one)).model_dump(mode="json") for name, one in study.machines.items()
    }
    seen: dict[tuple[str, str], int] = defaultdict(int)
    in_block: dict[int, int] = defaultdict(int)
    ids: set[str] = set()
    in_time = sorted(study.trials, key=lambda one: (one.started_unix_ms or 0, one.origin, one.benchmark))
    for position, trial in enumerate(in_time, start=1):
        seen[trial.machine.name, trial.benchmark] += 1
        replicate = seen[trial.machine.name, trial.benchmark]
        in_block[replicate] += 1
        use = BenchmarkUse(
            name=trial.benchmark,
            uses=trial.benchmark,
            version=1,
            parameters=trial.identity.described,
        )
        identity = json.dumps([study.source, trial.origin, trial.machine.name, trial.benchmark])
        name = hashlib.sha256(identity.encode()).hexdigest()[:12]
        if name in ids:  # the second would overwrite the first
            raise InputError(
                f"two results of {trial.benchmark} on {trial.machine.name} have the same origin {trial.origin!r}",
                hint="import them one by one, each into its own --out",
            )
        ids.add(name)
        intent = TrialIntent(
            id=name,
            study=study.name,
            configuration=configurations[trial.machine.name],
            benchmark=use,
            replicate=replicate,
            block=replicate,
            position=position,
            position_in_block=in_block[replicate],
            seed=SEED,
        )
        yield PlannedTrial(intent=intent, expected_duration_s=trial.duration_s or 0, price_usd=None), trial


def _keys(machine: ImportedMachine) -> dict[str, object]:
    kind = None if machine.machine_type is None else visible(machine.machine_type)
    of_machine = {"type": kind, "count": machine.count if machine.count > 1 else None}
    keys: dict[str, object] = {"name": machine.name, "provider": machine.provider}
    if inner := {key: value for key, value in of_machine.items() if value is not None}:
        keys["database_machine"] = inner
    if machine.priced_in and kind:
        sold_as = {"provider": machine.provider, "region": machine.priced_in, "type": kind}
        volumes = [volume.model_dump(exclude_defaults=True) for volume in machine.volumes]
        keys["priced_as"] = {**sold_as, **({"volumes": volumes} if volumes else {})}
    return keys


def _source(study: ImportedStudy) -> SourceRecord:
    return SourceRecord(
        format=study.format,
        source=study.source,
        licence=study.licence,
        unknown=study.unknown,
        benchmarks=study.benchmarks,
        rule=study.rule,
        checks={WHOLE: WHOLE_TEXT, **study.checks},
        left_out=[*study.left_out, *study.refused],
    )


def _store(folder: ResultsFolder, intent: TrialIntent, trial: ImportedTrial, version: str) -> Attempt:
    """Everything of a trial but its commit mark, not synced yet."""
    stored, machine = folder.trial(intent.id, sync=False), trial.machine.name
    attempts = stored.attempts()
    attempt = attempts[0] if attempts else stored.new_attempt(intent)
    attempt.write_started(
        StartedRecord(
            at_unix_ms=trial.started_unix_ms,
            nephoscope_version=version,
            machines={"database": machine},
            measured_cpus={machine: [f"cpu{number}" for number in range(trial.cpus)]} if trial.cpus else {},
            tool_versions=trial.tool_versions,
            conditions=[IMPORTED],
            same_machine=trial.same_machine,
        )
    )
    if trial.facts is not None:
        attempt.write_facts(FactsRecord(machine=machine, before=trial.facts))
    if trial.settings:
        attempt.write_settings(trial.settings)
    for name, content in trial.raw.items():
        attempt.write_raw(name, content)
    if trial.failure is None:
        attempt.write_measurements(trial.measurements)
        attempt.write_verdicts(trial.verdicts)
    return attempt


def _commit(attempt: Attempt, trial: ImportedTrial) -> None:
    refused = trial.failure is not None
    attempt.write_status(
        Status(
            state="failed" if refused else "finished",
            failure_class="output_unreadable" if refused else None,
            message=trial.failure,
            at_unix_ms=None,
            duration_s=trial.duration_s,
        )
    )


def _study_toml(study: ImportedStudy) -> str:
    """A study file as a person would write it; JSON's quoted text is also TOML's.

    A study may hold no control characters, but a folder that somebody else named after a machine type may.
    """
    machines = study.machines
    replicates = max(_counts(study.trials))
    unknown = f"Not known: {'; '.join(study.unknown)}."
    lines = [
        "# Written by `nephoscope import`: nobody ran this study in this form.",
        f"name = {quoted(study.name)}",
        f"title = {quoted(visible(study.title))}",
        f"description = {quoted(visible(chr(10).join((study.description, '', unknown))))}",
        f"seed = {SEED}",
        f"replicates = {min(1000, replicates)}",
    ]
    if (priced := study.priced) is not None:
        costs = {key: value for key, value in (("date", priced.on), ("bases", priced.bases)) if value}
        lines += ["", "[costs]", *(f"{key} = {toml_value(value)}" for key, value in costs.items())]
    for name in sorted(machines):
        lines += [
            "",
            "[[configurations]]",
            *(f"{key} = {toml_value(value)}" for key, value in _keys(machines[name]).items()),
        ]
    for benchmark in study.benchmarks:
        lines += ["", "[[benchmarks]]", f"uses = {quoted(benchmark.name)}"]
    return "\n".join(lines) + "\n"


def _counts(trials: Sequence[ImportedTrial]) -> list[int]:
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for trial in trials:
        seen[trial.machine.name, trial.benchmark] += 1
    return list(seen.values())
