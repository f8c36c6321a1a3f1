"""Spare Cores' SQLite: the scores of `benchmark_score` that nephoscope knows, with the machines of `server`.

The crawler writes into it what it read from the inspector's files, so a score is one run of one machine here too. Newer
files name a machine by `resource_type` and `resource_id`, older ones by `server_id`.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nephoscope.importers.imported import ImportedStudy, ImportedTrial, machine, read_whole
from nephoscope.importers.spare_cores.words import (
    DESCRIPTION,
    FORMAT,
    LICENCE,
    PRICED_IN,
    TITLE,
    UNKNOWN,
    cores_measurements,
    moment,
    of_cores,
    of_redis,
    redis_measurements,
)
from nephoscope.importers.tree import require_regular
from nephoscope.model.bounded_json import load_json
from nephoscope.model.bounded_sqlite import MAGIC, BoundedSqlite
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.quantities import may_be
from nephoscope.model.records import Facts
from nephoscope.model.units import MIB
from nephoscope.model.words import counted

SOURCE = "https://github.com/SpareCores/sc-data, its SQLite file"
_STRESS_ID, _REDIS_ID = "stress_ng:div16", "redis:rps"
_NOT_IN_SQLITE = ["exit codes, raw output and NUMA nodes: not in the SQLite file"]


def read(path: Path) -> ImportedStudy:
    """The scores of a file; it is opened for reading only.

    Raises:
        InputError: it is no SQLite file, is damaged, or has other tables.
    """
    servers, scores = _tables(path)
    skipped: Counter[str] = Counter()
    series: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    seen: dict[tuple[str, str, str], str] = {}
    for row in scores:
        key, point = _point(row, skipped)
        if key is None or point is None:
            continue
        if point[0] in series[key]:
            raise InputError(f"{path}: two scores of {'/'.join(key)} at {point[0]}", hint="expected one score each")
        series[key][point[0]] = point[1]
        seen[key] = max(seen.get(key, ""), str(row.get("observed_at") or ""))
    trials = [
        trial
        for key, values in sorted(series.items())
        if (trial := _trial(key, values, servers.get(key[:2]), seen[key], skipped)) is not None
    ]
    return ImportedStudy(
        format=FORMAT,
        name="spare-cores-sqlite",
        title=TITLE,
        description=DESCRIPTION,
        source=SOURCE,
        licence=LICENCE,
        unknown=[*UNKNOWN, *_NOT_IN_SQLITE],
        trials=trials,
        left_out=[f"{counted(count, 'score')}: {why}" for why, count in sorted(skipped.items())],
    )


def _tables(path: Path) -> tuple[dict[tuple[str, str], Mapping[str, Any]], list[Mapping[str, Any]]]:
    hint = "expected the SQLite file of Spare Cores, or the folder of its inspector data"
    try:
        require_regular(path, path)
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
        if magic != MAGIC:
            raise InputError(f"{path}: not a SQLite file", hint=hint)
        with BoundedSqlite(path, ("server", "benchmark_score")) as opened:
            servers = list(opened.rows("select * from server"))
            known = (_STRESS_ID, _REDIS_ID)
            scores = list(opened.rows("select * from benchmark_score where benchmark_id in (?, ?)", known))
    except OutputUnreadable as error:
        raise InputError(f"{path}: {error.message}", hint=hint) from error
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}", hint=hint) from error
    return {(str(row.get("vendor_id")), str(row.get("server_id"))): row for row in servers}, scores


def _point(
    row: Mapping[str, Any], skipped: Counter[str]
) -> tuple[tuple[str, str, str] | None, tuple[int, float] | None]:
    """((vendor, server, benchmark), (workers or depth, score)); None, and counted in `skipped`: not imported."""
    benchmark = str(row.get("benchmark_id"))
    try:
        config = load_json(row["config"] or "")
        at = int(config["cores" if benchmark == _STRESS_ID else "pipeline"])
        score = float(row["score"])
    except (KeyError, TypeError, ValueError):
        skipped["config or score that cannot be read"] += 1
        return None, None
    if str(row.get("status", "active")).lower() != "active":
        skipped["not active"] += 1
    elif str(row.get("resource_type", "server")).lower() != "server":
        skipped["of a managed database"] += 1
    elif benchmark == _REDIS_ID and str(config.get("operation", "SET")) != "SET":
        skipped["of another Redis operation than SET"] += 1
    elif not (score > 0 and may_be(score, "1/s")) or at < 1:
        skipped["not above 0, or far too large"] += 1
    else:
        return (str(row["vendor_id"]), str(row.get("resource_id") or row.get("server_id")), benchmark), (at, score)
    return None, None


def _trial(
    key: tuple[str, str, str],
    values: Mapping[int, float],
    server: Mapping[str, Any] | None,
    observed: str,
    skipped: Counter[str],
) -> ImportedTrial | None:
    vendor, server_id, benchmark = key
    if server is None:
        skipped["of a machine that is not in `server`"] += len(values)
        return None
    cpus = server.get("vcpus")
    if benchmark == _STRESS_ID and (not isinstance(cpus, int) or (min(values), max(values)) != (1, cpus)):
        skipped["of a series that does not run from 1 to the machine's vCPUs"] += len(values)
        return None
    of = machine(vendor, str(server.get("api_reference") or server.get("name") or server_id), PRICED_IN.get(vendor))
    return ImportedTrial(
        origin="/".join(key),
        machine=of,
        **(of_cores() if benchmark == _STRESS_ID else of_redis(values)),
        measurements=cores_measurements(values) if benchmark == _STRESS_ID else redis_measurements(values),
        verdicts=[read_whole(counted(len(values), "score"))],
        facts=_facts(server, observed),
        cpus=cpus if isinstance(cpus, int) else None,
        started_unix_ms=_unix_ms(observed),
    )


def _facts(server: Mapping[str, Any], observed: str) -> Facts:
    memory_mib = server.get("memory_amount")
    return Facts(
        at_unix_ms=_unix_ms(observed),
        cpu_model=server.get("cpu_model"),
        cpu_vendor=server.get("cpu_manufacturer"),
        architecture=server.get("cpu_architecture"),
        cpus_online=server.get("vcpus"),
        memory_bytes=memory_mib * MIB if isinstance(memory_mib, int) and memory_mib > 0 else None,
    )


def _unix_ms(text: str) -> int | None:
    try:
        return round(moment(text).timestamp() * 1000)
    except ValueError:
        return None
