"""Spare Cores' inspector data: folders PROVIDER/TYPE/TASK/{stdout,meta.json} of the tasks in `_TASKS`, and lscpu.

Each task ran once on one machine of the type, hours or years apart; lscpu is often of yet another start of that type.
Tasks that are not known here are counted as left out.
"""

import csv
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nephoscope.checks.verdicts import invalid, unknown, valid
from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.importers.imported import ImportedMachine, ImportedStudy, ImportedTrial, Priced, machine, read_whole
from nephoscope.importers.spare_cores import sqlite as spare_cores_sqlite
from nephoscope.importers.spare_cores.machine_tasks import MACHINE_TASKS
from nephoscope.importers.spare_cores.pgbench import LADDER, LADDER_TEXT, read_pgbench
from nephoscope.importers.spare_cores.words import (
    DESCRIPTION,
    FORMAT,
    LICENCE,
    PRICED_IN,
    PRICED_IN_2026,
    TITLE,
    UNKNOWN,
    UNKNOWN_OF_POSTGRES,
    Output,
    cores_measurements,
    moment,
    of_cores,
    of_redis,
    positive,
    redis_measurements,
)
from nephoscope.importers.tree import DAMAGED, content_of, files_below, is_regular, why
from nephoscope.machines.facts import cpu_facts
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.records import Facts, Verdict
from nephoscope.model.subjects import Subject
from nephoscope.model.units import MS_PER_SECOND, SECONDS_PER_DAY
from nephoscope.model.words import counted, enumeration
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.text import decoded, whole_lines
from nephoscope.study.machine_names import is_burstable, machine_name

SOURCE = "https://github.com/SpareCores/sc-inspector-data"
CHECKS = {
    "exit-code": "Rejects a task whose exit code is not 0; unknown if none was stored.",
    "cpu-lines": "Rejects a run on another number of CPUs than lscpu saw on the type; unknown without lscpu.",
}
_LSCPU, _STRESS, _REDIS, _POSTGRES = "lscpu", "stressngfull", "redis", "pgbench_postgres_multi_ro_durable"
_STDOUT, _META = "stdout", "meta.json"
_DEEP_ENOUGH = 2
_MOST_DAYS_APART = 180
"""Of lscpu and PostgreSQL: what a type was two years ago need not be what a cloud sells under its name today."""
_MOST_FALL = 0.05
_BASES = ("on-demand", "spot", "reserved-1y", "reserved-3y")
_BUILD = re.compile(r" build=[0-9a-f]+")
"""For Redis: one version has several builds."""


def read(path: Path) -> ImportedStudy:
    """Every type below a folder, or every score of a SQLite file.

    Raises:
        InputError: it cannot be read, or holds no such data.
    """
    if path.is_file():
        return spare_cores_sqlite.read(path)
    left_out: list[str] = []
    refused: list[str] = []
    folders = list(_types(path, left_out))
    read_ones: list[_TaskTrial] = []
    # One region for all, so that prices of two are never compared.
    regions = PRICED_IN_2026 if any((folder / _POSTGRES / _STDOUT).is_file() for folder in folders) else PRICED_IN
    for folder in folders:
        try:
            read_ones += _trials(path, folder, refused, regions)
        except DAMAGED as error:
            refused.append(f"{folder.relative_to(path).as_posix()}: {why(error)}")
    trials = _once([one.trial for one in _named_alike(read_ones)], refused)
    if not trials:
        first = f": {refused[0]}" if refused else ""
        raise InputError(
            f"no inspector data below {path}{first}", hint="expected PROVIDER/TYPE/{lscpu,stressngfull,redis,...}/"
        )
    of_postgres = any(one.task == _POSTGRES for one in read_ones)
    return ImportedStudy(
        format=FORMAT,
        name="spare-cores-inspector",
        title="PostgreSQL on machine types, measured by Spare Cores" if of_postgres else TITLE,
        description=_description(read_ones),
        source=SOURCE,
        licence=LICENCE,
        unknown=[*UNKNOWN, *(UNKNOWN_OF_POSTGRES if of_postgres else ()), *_old_lscpu(read_ones), *_odd(read_ones)],
        checks={**CHECKS, **({LADDER: LADDER_TEXT} if of_postgres else {})},
        trials=trials,
        left_out=[*left_out, *_other_tasks(folders), *_without_output(path, folders)],
        refused=refused,
        priced=Priced(on=_day(trials), bases=list(_BASES)) if of_postgres else None,
    )


def _description(trials: Sequence["_TaskTrial"]) -> str:
    types = {one.trial.machine.name for one in trials if one.task == _POSTGRES}
    if not types:
        return DESCRIPTION
    return (
        f"PostgreSQL on {counted(len(types), 'machine type')}, measured and published by Spare Cores and imported "
        "here: nephoscope measured none of it."
    )


def _day(trials: Iterable[ImportedTrial]) -> str | None:
    """Of the newest trial: its prices are those that somebody who reads of it today could pay."""
    newest = max((trial.started_unix_ms for trial in trials if trial.started_unix_ms), default=None)
    return datetime.fromtimestamp(newest / MS_PER_SECOND, UTC).date().isoformat() if newest else None


def parse_cores(text: str) -> dict[int, float]:
    """Workers -> bogo operations a second, of lines 'workers,rate'; the first has one worker, each next one more.

    Large machines were measured at some numbers of workers only.

    Raises:
        OutputUnreadable: other lines, workers that do not rise from 1, or a rate that is not above 0.
    """
    found: dict[int, float] = {}
    for number, line in enumerate(whole_lines(text, "series of workers"), start=1):
        workers, _, rate = line.partition(",")
        value = positive(rate)
        rises = re.fullmatch(r"[1-9][0-9]{0,4}", workers) and (int(workers) > max(found) if found else workers == "1")
        if not rises or value is None:
            raise OutputUnreadable(f"series of workers: line {number} is {line[:40]!r}")
        found[int(workers)] = value
    return found


def parse_redis(text: str) -> dict[int, float]:
    """Depth of the pipeline -> SET operations a second, of the CSV that the task writes.

    Raises:
        OutputUnreadable: no CSV, other columns, another operation, a depth twice, or a rate that is not above 0.
    """
    lines = whole_lines(text, "redis CSV")
    try:
        rows = list(csv.DictReader(lines))
    except csv.Error as error:
        raise OutputUnreadable(f"redis CSV: {error}") from error
    found: dict[int, float] = {}
    for row in rows:
        depth, value = str(row.get("pipeline")), positive(row.get("rps"))
        alien = row.get("operation") != "SET" or not (depth.isascii() and depth.isdigit() and len(depth) < 9)
        if alien or value is None or int(depth) in found or None in row or None in row.values():
            raise OutputUnreadable(f"redis CSV: a row is {str(dict(row))[:80]}")
        found[int(depth)] = value
    if not found:
        raise OutputUnreadable("redis CSV: no rows")
    return found


def _types(root: Path, left_out: list[str]) -> Iterator[Path]:
    found = sorted({path.parent.parent for path in files_below(root) if path.name == _STDOUT and path.parent != root})
    for folder in found:
        if len(folder.relative_to(root).parts) < _DEEP_ENOUGH:
            left_out.append(f"{folder.name}: not below PROVIDER/TYPE")
        else:
            yield folder


@dataclass(frozen=True)
class _TaskTrial:
    """A trial, and which task it was."""

    task: str
    trial: ImportedTrial
    lscpu_days_apart: float | None = None
    falls_by: float = 0.0


def _cores(text: str, version: str) -> Output:
    series = parse_cores(text)
    described = of_cores(_BUILD.sub("", version))
    return Output(**described, measurements=cores_measurements(series), cpus=max(series))


def _redis(text: str, version: str) -> Output:
    rates = parse_redis(text)
    return Output(**of_redis(rates, _BUILD.sub("", version)), measurements=redis_measurements(rates))


_TASKS: Mapping[str, Callable[[str, str], Output]] = {
    _STRESS: _cores,
    _REDIS: _redis,
    _POSTGRES: read_pgbench,
    **MACHINE_TASKS,
}
"""Task -> what its output and the stored version say."""
_TOOLS = {_STRESS: "stress-ng", _POSTGRES: "pgbench"}
"""Where it is not called as the task."""


def _trials(root: Path, folder: Path, refused: list[str], regions: Mapping[str, str]) -> Iterator[_TaskTrial]:
    provider, machine_type = folder.parts[-2:]
    tasks = sorted(path.name for path in folder.iterdir() if (path / _STDOUT).is_file())
    of = machine(provider, machine_type, regions.get(provider))
    facts = _facts(root, folder / _LSCPU, refused) if _LSCPU in tasks else None
    outputs = {task: _output(root, folder / task) for task in _TASKS if task in tasks}
    apart = _days_apart(root, folder) if _POSTGRES in tasks else None
    if facts is not None:
        postgres = outputs.get(_POSTGRES)
        memory_bytes = postgres.memory_bytes if isinstance(postgres, Output) else None
        facts = facts.model_copy(update={"memory_bytes": memory_bytes})
        if apart is not None and apart > _MOST_DAYS_APART:
            facts = _of_the_name(facts, of)
    for task, output in outputs.items():
        falls_by = output.falls_by if isinstance(output, Output) else 0.0
        yield _TaskTrial(task, _trial(root, folder / task, of, facts, output), apart, falls_by)


def _output(root: Path, folder: Path) -> Output | str:
    """What a task's output says, or why it cannot be read."""
    text = content_of(folder / _STDOUT, root).decode(errors="replace")
    try:
        return _TASKS[folder.name](text, str(_meta(root, folder).get("version") or ""))
    except OutputUnreadable as error:
        return error.message


def _days_apart(root: Path, folder: Path) -> float | None:
    """Between lscpu and PostgreSQL; None: not known."""
    starts = [_meta(root, folder / task).get("start") for task in (_LSCPU, _POSTGRES)]
    if starts[0] is None or starts[1] is None:
        return None
    return float(abs(starts[1] - starts[0]) / MS_PER_SECOND / SECONDS_PER_DAY)


def _of_the_name(facts: Facts, of: ImportedMachine) -> Facts:
    """Facts that hold for every machine of a type: which CPU it has may have changed, unless the name says the vendor.

    Google sells n2 with two designs of Intel's, and e2 with the CPUs of two vendors.
    """
    vendor = machine_name(of.provider, of.machine_type or "").vendor
    told = {"Intel": "GenuineIntel", "AMD": "AuthenticAMD", "Arm": "ARM"}.get(vendor or "")
    lost = ("cpu_model", "cpu_family", "cpu_model_number", "cpu_stepping", "l2_bytes", "l3_bytes")
    same = told is not None and facts.cpu_vendor == told
    return facts.model_copy(
        update={**dict.fromkeys(lost), "cpu_vendor": facts.cpu_vendor if same else None, "core_kinds": {}}
    )


def _old_lscpu(trials: Iterable[_TaskTrial]) -> list[str]:
    apart = [one.lscpu_days_apart for one in trials if one.task == _POSTGRES and one.lscpu_days_apart is not None]
    old = sum(days > _MOST_DAYS_APART for days in apart)
    if not old:
        return []
    where = f"the CPU under PostgreSQL on {old} of {counted(len(apart), 'type')}"
    return [f"{where}, but for the vendor in a type's name: lscpu ran more than {_MOST_DAYS_APART} days apart from it"]


def _odd(trials: Sequence[_TaskTrial]) -> Iterator[str]:
    """Types of which PostgreSQL's highest rung is not what a machine at work would give."""
    of_postgres = [one for one in trials if one.task == _POSTGRES]
    if falling := [one.trial.machine.name for one in of_postgres if one.falls_by > _MOST_FALL]:
        yield f"the rate of a machine at work where more clients made it fall by over 5 %: {enumeration(falling)}"
    if shared := [one.trial.machine.name for one in of_postgres if is_burstable(one.trial.machine.machine_type)]:
        yield f"the rate that lasts of a type that may not use its vCPUs all the time: {enumeration(shared)}"


def _other_tasks(folders: Iterable[Path]) -> list[str]:
    tasks = Counter(path.parent.name for folder in folders for path in folder.glob(f"*/{_STDOUT}"))
    return [
        f"{task} of {counted(count, 'type')}: no importer"
        for task, count in sorted(tasks.items())
        if task not in _TASKS and task != _LSCPU
    ]


def _without_output(root: Path, folders: Iterable[Path]) -> Iterator[str]:
    """Tasks that ran, or began, and left nothing: a number that is missing is missed."""
    for folder in folders:
        for meta in sorted(folder.glob(f"*/{_META}")):
            if not (meta.parent / _STDOUT).exists() and meta.parent.name in (*_TASKS, _LSCPU):
                yield f"{meta.parent.relative_to(root).as_posix()}: no output"


def _once(trials: Sequence[ImportedTrial], refused: list[str]) -> list[ImportedTrial]:
    """The trials without copies: the same output of the same machine twice is one run, not two that agree."""
    found: dict[tuple[str, str, str], ImportedTrial] = {}
    for trial in trials:
        content = b"".join(trial.raw[name] for name in sorted(trial.raw) if name.endswith(_STDOUT))
        first = found.setdefault((trial.machine.name, trial.benchmark, hashlib.sha256(content).hexdigest()), trial)
        if first is not trial:
            refused.append(f"{trial.origin}: a copy of {first.origin}, which counts once")
    return list(found.values())


def _named_alike(trials: Sequence[_TaskTrial]) -> Iterator[_TaskTrial]:
    """Damaged output does not say its parameters: it is counted with the benchmark that the same task has elsewhere."""
    described: dict[str, dict[str, ImportedTrial]] = defaultdict(dict)
    for one in trials:
        if one.trial.failure is None:
            described[one.task].setdefault(one.trial.benchmark, one.trial)
    for one in trials:
        others = [*described[one.task].values()]
        if one.trial.failure is None or len(others) != 1:
            yield one
            continue
        same = {name: getattr(others[0], name) for name in ("identity", "subject", "title", "database_load", "metrics")}
        yield replace(one, trial=one.trial.model_copy(update=same))


def _facts(root: Path, folder: Path, refused: list[str]) -> Facts | None:
    try:
        found = parse_lscpu(decoded(content_of(folder / _STDOUT, root)))
    except OutputUnreadable:
        refused.append(f"{folder.parent.name}/{folder.name}: not the JSON of lscpu")
        return None
    return Facts(at_unix_ms=_meta(root, folder).get("start"), **cpu_facts(found))


def _trial(root: Path, folder: Path, of: ImportedMachine, facts: Facts | None, output: Output | str) -> ImportedTrial:
    meta, task = _meta(root, folder), folder.name
    version = _BUILD.sub("", str(meta.get("version") or ""))
    failure = output if isinstance(output, str) else None
    read_ones = _nothing(task, version) if isinstance(output, str) else output
    verdicts = [_exit_code(meta.get("exit_code")), *read_ones.verdicts]
    if failure is None:
        if read_ones.cpus is not None:
            verdicts.append(_cpu_lines(read_ones.cpus, facts))
        verdicts.append(read_whole(f"{task}/{_STDOUT}"))
    names = [name for name in (_STDOUT, _META) if is_regular(folder / name, root)]
    return ImportedTrial(
        origin=folder.relative_to(root).as_posix(),
        machine=of,
        identity=read_ones.identity,
        subject=read_ones.subject,
        title=read_ones.title,
        database_load=read_ones.database_load,
        metrics=read_ones.metrics,
        measurements=read_ones.measurements,
        verdicts=verdicts,
        failure=failure,
        facts=facts,
        cpus=(facts.cpus_online if facts else None) or read_ones.cpus,
        started_unix_ms=meta.get("start"),
        duration_s=meta.get("duration_s"),
        settings=read_ones.settings,
        tool_versions={**({_TOOLS.get(task, task): version} if version else {}), **read_ones.tool_versions},
        raw={f"{task}.{name}": content_of(folder / name, root) for name in names},
    )


def _nothing(task: str, version: str) -> Output:
    """What is known of a task whose output cannot be read."""
    if task == _STRESS:
        return Output(**of_cores(version), measurements=[])
    if task == _REDIS:
        return Output(**of_redis({}, version), measurements=[])
    tool = _TOOLS.get(task, task.replace("_", "-"))
    subject = Subject.DATABASE if task == _POSTGRES else Subject.CPU if task == "static_web" else Subject.MEMORY
    identity = BenchmarkIdentity(tool=tool, version=version)
    return Output(identity=identity, subject=subject, title=f"{tool} (Spare Cores)", metrics=[], measurements=[])


def _exit_code(code: Any) -> Verdict:
    if code is None:
        return unknown("exit-code", "not stored")
    return (valid if code == 0 else invalid)("exit-code", f"exit code {code}")


def _cpu_lines(cpus: int, facts: Facts | None) -> Verdict:
    seen = facts.cpus_online if facts else None
    if seen is None:
        return unknown("cpu-lines", "lscpu of the type does not report it")
    return (valid if seen == cpus else invalid)(
        "cpu-lines",
        f"on {counted(cpus, 'CPU')}, but lscpu saw {counted(seen, 'CPU')}"
        if seen != cpus
        else f"on {counted(cpus, 'CPU')}, as lscpu saw",
    )


def _meta(root: Path, folder: Path) -> dict[str, Any]:
    """What meta.json says: exit_code, version, start (Unix ms), duration_s; empty where it is damaged."""
    try:
        said = json.loads(content_of(folder / _META, root))
        start, end = (moment(said[key]) for key in ("start", "end"))
    except (OutputUnreadable, ValueError, KeyError, TypeError, RecursionError):
        return {}
    times = {"start": round(start.timestamp() * 1000), "duration_s": (end - start).total_seconds()}
    code = said.get("exit_code")
    return {**times, "version": said.get("version"), "exit_code": code if isinstance(code, int) else None}
