"""One line of what was measured: machine, database, data and how long, as far as all configurations agree on it."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from nephoscope.analysis.lookup import Lookup, unique
from nephoscope.insights.names import enumerated
from nephoscope.model import numbers as people
from nephoscope.model.analysed import PartOfStudy
from nephoscope.model.rows import BenchmarkRow, ConfigurationRow
from nephoscope.model.subjects import Subject
from nephoscope.model.units import MIB, SECONDS_PER_MINUTE
from nephoscope.model.words import counted, provider_name
from nephoscope.report.main.boards import in_order
from nephoscope.report.main.chapters import TITLES

_SYSTEMS: Mapping[str, str] = {
    "postgres": "PostgreSQL",
    "mariadb": "MariaDB",
    "mysql": "MySQL",
    "cockroachdb": "CockroachDB",
    "aerospike": "Aerospike",
    "valkey": "Valkey",
}
_OF_WAREHOUSE = (
    (1, 89), (10, 95), (30_000, 655), (30_000, 46), (30_000, 24), (9_000, 8), (100_000, 306), (300_000, 54),
)  # fmt: skip
"""Rows of the tables warehouse, district, customer, history, order, new-order, stock and order-line, and their typical
length in bytes, by TPC-C 5.11, 4.2.2: without indexes, versions and copies."""
_ITEMS = (100_000, 82)
"""The same for all warehouses."""
_T = TypeVar("_T")
_MARKS = re.compile(r"\((?:R|TM|C)\)|(?<!\s)\s+(?:(?:Processor|CPU)\b|@.*$)", re.IGNORECASE)
"""What says nothing about a CPU in the name of its model."""
_SIZE = re.compile(r"(\d+)\s*([kMGT]B)")


def measured(lookup: Lookup) -> str:
    """'Intel Xeon, 2 vCPUs, 23.5 GiB; PostgreSQL 18, 8 connections; TPC-C with 2 warehouses for 5 s'.

    Leaves out what is not known, and what differs between configurations.
    """
    loads = [row for row in lookup.study.benchmarks if row.subject is Subject.DATABASE]
    parts = [
        _machine(lookup),
        _database(lookup, loads) if loads else "",
        *unique(_data(row, _used(loads, row.parameters.get("warehouses"))) for row in in_order(lookup)),
    ]
    said = "; ".join(part for part in parts if part)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _common(values: Iterable[_T | None]) -> _T | None:
    """What all agree on; None if they do not, or one is not known."""
    found = set(values)
    return next(iter(found)) if len(found) == 1 else None


def _machine(lookup: Lookup) -> str:
    """Of a rehearsal only its size: no such machine exists."""
    rows, real = lookup[ConfigurationRow], not lookup.study.plan.simulated
    model = _common(row.cpu_model for row in rows) if real else None
    cpus = _common(row.vcpus for row in rows if real or row.machine_type)
    each = _common(row.memory_gib_per_vcpu and round(row.memory_gib_per_vcpu, 2) for row in rows) if real else None
    return ", ".join(
        part
        for part in (
            _MARKS.sub("", model).strip() if model else "",
            counted(cpus, "vCPU") if cpus else "",
            f"{people.grouped(cpus * each, 1).removesuffix('.0')} GiB" if cpus and each else "",
        )
        if part
    )


def _database(lookup: Lookup, loads: Sequence[BenchmarkRow]) -> str:
    """'PostgreSQL 18, shared_buffers 256 MB, 8 connections', 'PostgreSQL 18 and Valkey' of several systems.

    Empty for results of others, which state no database.
    """
    names = {row.benchmark for row in loads}
    intents = (planned.intent for planned in lookup.study.plan.trials)
    used = {
        one.configuration_name: one.configuration.get("database", {}) for one in intents if one.benchmark.name in names
    }
    systems = unique(one.get("system") for one in used.values())
    if not systems or None in systems or lookup.study.source is not None:
        return ""
    if len(systems) > 1:
        every = {(one["system"], one.get("version")) for one in used.values()}
        versions = {name: _common(version for system, version in every if system == name) for name in systems}
        return enumerated(sorted(f"{_SYSTEMS.get(name, name)} {versions[name] or ''}".strip() for name in systems))
    (system,) = systems
    settings = [lookup.study.database_settings.get(name, {}) for name in used]
    observed = _common(one.get("server_version") for one in settings)
    version = observed or _common(one.get("version") for one in used.values())
    buffers = _common(one.get("shared_buffers") for one in settings)
    said = [
        f"{_SYSTEMS.get(system, system)} {version or ''}".strip(),
        f"shared_buffers {_spaced(buffers)}" if buffers else "",
        _connections(used.values(), loads),
    ]
    return ", ".join(part for part in said if part)


def _spaced(size: str) -> str:
    """'256 MB' of the server's '256MB'."""
    return _SIZE.sub(r"\1 \2", size)


def _connections(databases: Collection[Mapping[str, Any]], loads: Sequence[BenchmarkRow]) -> str:
    """'8 connections', '8 connections per vCPU'; empty where a search, a rate or an edition's rule decides how many."""
    if not all("connections" in row.parameters for row in loads):
        return ""
    if any(row.parameters.get("edition") and row.parameters["connections"] is None for row in loads):
        return ""
    own = {row.parameters["connections"] for row in loads}
    per_cpu = _common(one.get("connections_per_cpu") for one in databases)
    if per_cpu is not None and own == {None}:
        return f"{counted(per_cpu, 'connection')} per vCPU"
    if any(one.get("connections_per_cpu") for one in databases):
        return ""
    count = _common(number or one.get("connections") for number in own for one in databases)
    return counted(count, "connection") if count else ""


def _used(loads: Iterable[BenchmarkRow], loaded: int | None) -> str:
    """'1,200 warehouses or 50 to 150 per vCPU', of so many loaded; empty where a benchmark may use all of them."""
    alike = [row.parameters for row in loads if loaded and row.parameters.get("warehouses") == loaded]
    fixed, per_cpu = (
        sorted({one[name] for one in alike if one.get(name)})
        for name in ("active_warehouses", "active_warehouses_per_cpu")
    )
    if not all(one.get("active_warehouses") or one.get("active_warehouses_per_cpu") for one in alike):
        return ""
    noun = " warehouses"
    parts = [f"{_span(fixed)}{noun}"] if fixed else []
    parts += [f"{_span(per_cpu)}{'' if fixed else noun} per vCPU"] if per_cpu else []
    return " or ".join(parts)


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "")


def _data(row: BenchmarkRow, used: str) -> str:
    """'TPC-C with 2 warehouses for 5 s', 'point selects on 100,000 rows for 3 s', 'fio on a file of 64 GiB'."""
    given = row.parameters
    if row.subject is Subject.STORAGE:
        size = given.get("file_size_mib")
        return f"{row.uses} on a file of {people.byte_size(size * MIB)}" if size and not given.get("raw_device") else ""
    if row.subject is not Subject.DATABASE:
        return ""
    if warehouses := given.get("warehouses"):
        loaded = f"{used}, of {warehouses:,} loaded" if used else counted(warehouses, "warehouse")
        return f"TPC-C with {loaded} ({_rows_of(warehouses)}){_how_long(row)}"
    if rows := given.get("rows"):
        tables = given.get("tables")
        many = f"{counted(tables, 'table')} of {counted(rows, 'row')}" if tables else counted(rows, "row")
        title = row.title[:1].lower() + row.title[1:] if row.title[1:2].islower() else row.title
        return f"{title} on {many}{_how_long(row)}"
    return ""


def _rows_of(warehouses: int) -> str:
    """'69.9 billion rows, 8.7 TiB': 140,000 warehouses as they are loaded."""
    tables = [*[(warehouses * rows, length) for rows, length in _OF_WAREHOUSE], _ITEMS]
    rows, size = sum(rows for rows, _ in tables), sum(rows * length for rows, length in tables)
    many, name = (rows / 1e9, "billion") if rows >= 1e9 else (rows / 1e6, "million")
    return f"{people.significant(many, 3)} {name} rows, {people.byte_size(size)}"


def _how_long(row: BenchmarkRow) -> str:
    """' for 15 min': the load, without what comes before it."""
    seconds = row.parameters.get("duration_s")
    if not seconds:
        return ""
    minutes = seconds / SECONDS_PER_MINUTE
    return f" for {minutes:,.0f} min" if minutes > 1 and minutes == int(minutes) else f" for {seconds:,g} s"


def part_words(part: PartOfStudy | None) -> str:
    """'26 of 234 configurations, 4 of 9 benchmarks; left out: Google Cloud, network'; empty: it is all of the study."""
    if part is None:
        return ""
    counts = [
        (part.configurations, part.of_configurations, "configuration"),
        (part.benchmarks, part.of_benchmarks, "benchmark"),
    ]
    fewer = [f"{some:,} of {counted(whole, noun)}" for some, whole, noun in counts if some < whole]
    if not fewer:
        fewer = [f"each benchmark on some of its configurations ({part.cells:,} of {part.of_cells:,} combinations)"]
    left_out = [*map(provider_name, part.providers), *map(_chapter, part.chapters)]
    return ", ".join(fewer) + (f"; left out: {enumerated(left_out)}" if left_out else "")


def _chapter(name: str) -> str:
    """As it is called in the middle of a sentence."""
    title = TITLES.get(name, name)
    return title if title.isupper() else title.lower()
