"""Spare Cores' inspector data: folders PROVIDER/TYPE/TASK/{stdout,meta.json} of lscpu, stressngfull and redis.

Each task ran once on one machine of the type, hours or months apart; lscpu is of yet another start of that type. Tasks
that are not known here are counted as left out.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nephoscope.importers.imported import ImportedMachine, ImportedStudy, ImportedTrial, machine, read_whole
from nephoscope.importers.spare_cores import sqlite as spare_cores_sqlite
from nephoscope.importers.spare_cores.words import (
    FORMAT,
    LICENCE,
    PRICED_IN,
    UNKNOWN,
    cores_measurements,
    moment,
    of_cores,
    of_redis,
    redis_measurements,
)
from nephoscope.importers.tree import DAMAGED, content_of, files_below, is_regular, why
from nephoscope.machines.facts import cpu_facts
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.records import Facts, Measurement, Verdict, VerdictKind
from nephoscope.model.words import counted
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.text import decoded, whole_lines

SOURCE = "https://github.com/SpareCores/sc-inspector-data"
CHECKS = {
    "exit-code": "Rejects a task whose exit code is not 0; unknown if none was stored.",
    "cpu-lines": "Rejects a series whose number of CPUs differs from lscpu's for the type; unknown without lscpu.",
}
_LSCPU, _STRESS, _REDIS = "lscpu", "stressngfull", "redis"
_KNOWN = {_LSCPU, _STRESS, _REDIS}
_STDOUT, _META = "stdout", "meta.json"
_DEEP_ENOUGH = 2
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
    trials: list[ImportedTrial] = []
    for folder in folders:
        try:
            trials += _trials(path, folder, refused)
        except DAMAGED as error:
            refused.append(f"{folder.relative_to(path).as_posix()}: {why(error)}")
    if not trials:
        first = f": {refused[0]}" if refused else ""
        raise InputError(
            f"no inspector data below {path}{first}", hint="expected PROVIDER/TYPE/{lscpu,stressngfull,redis}/"
        )
    return ImportedStudy(
        format=FORMAT,
        name="spare-cores-inspector",
        title="Machine types measured by Spare Cores",
        description="CPU and Redis rates of cloud machine types, one run each, measured and published by Spare "
        "Cores and imported here. nephoscope measured none of it.",
        source=SOURCE,
        licence=LICENCE,
        unknown=UNKNOWN,
        checks=CHECKS,
        trials=trials,
        left_out=[*left_out, *_other_tasks(folders)],
        refused=refused,
    )


def parse_cores(text: str) -> dict[int, float]:
    """Workers -> bogo operations a second, of lines 'workers,rate'; the first has one worker, each next one more.

    Large machines were measured at some numbers of workers only.

    Raises:
        OutputUnreadable: other lines, workers that do not rise from 1, or a rate that is not above 0.
    """
    found: dict[int, float] = {}
    for number, line in enumerate(whole_lines(text, "series of workers"), start=1):
        workers, _, rate = line.partition(",")
        value = _positive(rate)
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
        depth, value = str(row.get("pipeline")), _positive(row.get("rps"))
        alien = row.get("operation") != "SET" or not (depth.isascii() and depth.isdigit() and len(depth) < 9)
        if alien or value is None or int(depth) in found or None in row or None in row.values():
            raise OutputUnreadable(f"redis CSV: a row is {str(dict(row))[:80]}")
        found[int(depth)] = value
    if not found:
        raise OutputUnreadable("redis CSV: no rows")
    return found


def _positive(text: str | None) -> float | None:
    """A plain decimal number above 0."""
    clean = text or ""
    plain = clean.isascii() and clean.replace(".", "", 1).isdigit() and len(clean) <= 20
    return value if plain and (value := float(clean)) > 0 else None


def _types(root: Path, left_out: list[str]) -> Iterator[Path]:
    found = sorted({path.parent.parent for path in files_below(root) if path.name == _STDOUT and path.parent != root})
    for folder in found:
        if len(folder.relative_to(root).parts) < _DEEP_ENOUGH:
            left_out.append(f"{folder.name}: not below PROVIDER/TYPE")
        else:
            yield folder


def _trials(root: Path, folder: Path, refused: list[str]) -> Iterator[ImportedTrial]:
    provider, machine_type = folder.parts[-2:]
    of = machine(provider, machine_type, PRICED_IN.get(provider))
    tasks = sorted(path.name for path in folder.iterdir() if (path / _STDOUT).is_file())
    facts = _facts(root, folder / _LSCPU, refused) if _LSCPU in tasks else None
    for task in (_STRESS, _REDIS):
        if task in tasks:
            yield _trial(root, folder / task, of, facts)


def _other_tasks(folders: Iterable[Path]) -> list[str]:
    tasks = Counter(path.parent.name for folder in folders for path in folder.glob(f"*/{_STDOUT}"))
    return [
        f"{task} of {counted(count, 'type')}: no importer"
        for task, count in sorted(tasks.items())
        if task not in _KNOWN
    ]


def _facts(root: Path, folder: Path, refused: list[str]) -> Facts | None:
    try:
        found = parse_lscpu(decoded(content_of(folder / _STDOUT, root)))
    except OutputUnreadable:
        refused.append(f"{folder.parent.name}/{folder.name}: not the JSON of lscpu")
        return None
    return Facts(at_unix_ms=_meta(root, folder).get("start"), **cpu_facts(found))


def _trial(root: Path, folder: Path, of: ImportedMachine, facts: Facts | None) -> ImportedTrial:
    meta, task = _meta(root, folder), folder.name
    text = content_of(folder / _STDOUT, root).decode(errors="replace")
    cpus = facts.cpus_online if facts else None
    values: list[Measurement] = []
    failure = None
    version = _BUILD.sub("", str(meta.get("version") or ""))
    benchmark = of_cores(version) if task == _STRESS else of_redis({}, version)
    verdicts = [_exit_code(meta.get("exit_code"))]
    try:
        if task == _STRESS:
            series = parse_cores(text)
            values, cpus = cores_measurements(series), cpus or max(series)
            verdicts.append(_cpu_lines(max(series), facts))
        else:
            rates = parse_redis(text)
            values, benchmark = redis_measurements(rates), of_redis(rates, version)
        verdicts.append(read_whole(f"{task}/{_STDOUT}"))
    except OutputUnreadable as error:
        failure = error.message
    names = [name for name in (_STDOUT, _META) if is_regular(folder / name, root)]
    return ImportedTrial(
        origin=folder.relative_to(root).as_posix(),
        machine=of,
        **benchmark,
        measurements=values,
        verdicts=verdicts,
        failure=failure,
        facts=facts,
        cpus=cpus,
        started_unix_ms=meta.get("start"),
        duration_s=meta.get("duration_s"),
        tool_versions={"stress-ng" if task == _STRESS else task: version} if version else {},
        raw={f"{task}.{name}": content_of(folder / name, root) for name in names},
    )


def _exit_code(code: Any) -> Verdict:
    kind = VerdictKind.UNKNOWN if code is None else VerdictKind.VALID if code == 0 else VerdictKind.INVALID
    return Verdict(check="exit-code", verdict=kind, reason="not stored" if code is None else f"exit code {code}")


def _cpu_lines(workers: int, facts: Facts | None) -> Verdict:
    seen = facts.cpus_online if facts else None
    if seen is None:
        return Verdict(check="cpu-lines", verdict=VerdictKind.UNKNOWN, reason="lscpu of the type does not report it")
    kind = VerdictKind.VALID if seen == workers else VerdictKind.INVALID
    reason = f"up to {counted(workers, 'worker')}, but lscpu saw {counted(seen, 'CPU')}"
    return Verdict(check="cpu-lines", verdict=kind, reason=reason)


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
