"""The lines of what was measured and compared: configurations, machine, database, data, how often and how long."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from nephoscope.analysis.lookup import Lookup, unique
from nephoscope.insights.names import enumerated, value_of
from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy, PartOfStudy
from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostLineRow, CostRow
from nephoscope.model.rows import BenchmarkRow, ConfigurationRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.model.units import MIB, SECONDS_PER_MINUTE
from nephoscope.model.words import counted, provider_name
from nephoscope.report.main.boards import in_order
from nephoscope.report.main.chapters import TITLES

_MONTH, _DAY = len("2026-06"), len("2026-06-01")


def compared(lookup: Lookup) -> str:
    """One line: which configurations, what differs between them, how often and when each was measured."""
    study = lookup.study
    parts = [_machines(lookup)]
    if study.benchmarks:
        parts.append(counted(len(study.benchmarks), "benchmark"))
    if study.source is None and study[TrialRow]:
        parts.append(_replicates(lookup))
    others = "" if study.source is None else f" by others ({study.source.source})"
    if others or study.started_unix_ms is not None:
        parts.append(f"{'simulated' if study.plan.simulated else 'measured'}{others}{_days(study)}")
    if prices := _prices(lookup):
        parts.append(prices)
    return f"{parts[0]} {', '.join(parts[1:])}." if len(parts) > 1 else parts[0]


def _days(study: AnalysedStudy) -> str:
    """' on 2026-08-02', the day of the first trial; of results of others, which may be years apart, to the last one."""
    if study.started_unix_ms is None:
        return ""
    first = people.moment(study.started_unix_ms)[:_DAY]
    started = [row.started_unix_ms for row in study[TrialRow] if row.started_unix_ms is not None and study.source]
    last = people.moment(max(started))[:_DAY] if started else first
    return f" on {first}" if last == first else f" from {first} to {last}"


def _replicates(lookup: Lookup) -> str:
    """'6 replicates each', '3 to 6 replicates each (338 of 468 planned trials)': of those that count."""
    trials = lookup[TrialRow]
    cells = Counter({(row.benchmark, row.configuration): 0 for row in trials})
    cells.update((row.benchmark, row.configuration) for row in trials if row.counts)
    least, most, used = min(cells.values()), max(cells.values()), cells.total()
    each = f"{counted(most, 'replicate')} each" if least == most else f"{least:,} to {most:,} replicates each"
    return each if used == len(trials) else f"{each} ({used:,} of {counted(len(trials), 'planned trial')})"


def design(lookup: Lookup) -> str:
    """What the plan repeats how often, and what it left out; of results of others, what are replicates."""
    study = lookup.study
    if study.source is not None:
        return f"As imported, {study.source.rule}." if study.source.rule else ""
    times = {1: "once", 2: "twice"}.get(study.replicates, f"{study.replicates:,} times")
    skipped = sum(row.state == "not needed" for row in study[TrialRow])
    often = f"up to {times}" if skipped else times
    text = f"The plan runs each benchmark {often} on each configuration that it applies to, in randomised blocks"
    if not skipped:
        return f"{text}."
    were = "was skipped once its" if skipped == 1 else "were skipped once their"
    return f"{text}; {counted(skipped, 'trial')} {were} questions were closed."


def _prices(lookup: Lookup) -> str:
    """'prices as of 2026-06 to 2026-08': oldest and newest of the page's basis, and the age of old ones."""
    study, basis = lookup.study, lookup.basis
    if basis is None:
        return ""
    priced = {row.configuration: row.date for row in study[CostRow] if row.basis == basis and row.month_usd is not None}
    dates = {date for date in priced.values() if date} | {row.date for row in study[CostLineRow] if row.basis == basis}
    if not dates:
        return "prices as the study states them" if priced else ""
    oldest, newest = min(dates), max(dates)
    ages = [row.age_days for row in study[CostRow] if row.basis == basis and row.month_usd is not None and row.age_days]
    age = f", up to {counted(max(ages), 'day')} old" if ages and max(ages) > OLD_PRICE_DAYS else ""
    if oldest == newest:
        return f"prices as of {oldest}{age}"
    first, last = oldest[:_MONTH], newest[:_MONTH]
    return f"prices as of {first}{age}" if first == last else f"prices as of {first} to {last}{age}"


def _machines(lookup: Lookup) -> str:
    names, only = lookup.configurations, lookup.study.only_difference
    count = counted(len(names), "configuration")
    if len(names) < 2:
        return f"{count}: {enumerated(names)}." if names else "Nothing was measured."
    if only is not None:
        shown = sorted({value_of(lookup, only.what, *pair) for pair in only.values.items()}, key=_by_size)
        said = " against ".join(shown) if len(shown) < 3 else enumerated(shown)
        # Files of others need not say what else differed.
        alone = "" if lookup.study.source else "only "
        return f"{count}: they differ {alone}in {only.what} ({said})."
    sold, differences = _of_providers(lookup), lookup.study.differences
    obvious = bool(sold) and lookup.study.several_differences  # machines of several types
    return f"{count}{sold}{'' if obvious or not differences else f': {differences}'}."


def _of_providers(lookup: Lookup) -> str:
    """' on AWS (33), Azure (26) and Google Cloud (23)': of machines that somebody sells."""
    sold = {row.configuration: row.provider for row in lookup[CostRow] if row.machine_type and row.provider}
    sold |= {row.configuration: row.provider for row in lookup[ConfigurationRow] if row.machine_type}
    counts = Counter(provider for name in lookup.configurations if (provider := sold.get(name)))
    if len(counts) < 2:
        return f" on {provider_name(name)}" if (name := next(iter(counts), "")) else ""
    return f" on {enumerated([f'{provider_name(name)} ({count:,})' for name, count in counts.items()])}"


def _by_size(value: str) -> tuple[bool, float, str]:
    digits = value.partition(" ")[0]
    number = digits.replace(".", "", 1).isdigit()
    return (not number, float(digits) if number else 0.0, value)


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
