"""Whether databases of a study promise the same: what a commit means, isolation, and how many copies there are."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import MAX_NAMED
from nephoscope.insights.words import Draft, note, plural, warning
from nephoscope.model.rows import TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.model.words import enumeration, named_or_counted


class Acknowledged(StrEnum):
    """What a crash of the machine can take of what was acknowledged."""

    ON_DISK = "on disk"
    """Nothing: the log is synced first."""
    WITHIN_A_SECOND = "within a second"
    """The last second or less: the log is synced in the background."""
    UNSYNCED = "unsynced"
    """More: when the system writes the log, or whether there is one, is left to others."""


_OFF = frozenset({"off", "no", "0"})


def acknowledged(settings: Mapping[str, str]) -> Acknowledged | None:
    """Of PostgreSQL, MariaDB, MySQL, Valkey and Redis; None: the settings do not say."""
    if "innodb_flush_log_at_trx_commit" in settings:
        synced = settings["innodb_flush_log_at_trx_commit"] == "1"
        return Acknowledged.ON_DISK if synced else Acknowledged.WITHIN_A_SECOND
    if "synchronous_commit" in settings:
        if settings.get("fsync", "on") in _OFF:
            return Acknowledged.UNSYNCED
        background = settings["synchronous_commit"] in _OFF
        return Acknowledged.WITHIN_A_SECOND if background else Acknowledged.ON_DISK
    if "appendfsync" in settings and settings.get("appendonly") == "yes":
        of = {"always": Acknowledged.ON_DISK, "everysec": Acknowledged.WITHIN_A_SECOND}
        return of.get(settings["appendfsync"], Acknowledged.UNSYNCED)
    return Acknowledged.UNSYNCED if "appendfsync" in settings else None


Way = TypeVar("Way")
_SQL: Mapping[str, str] = {
    "postgres": "PostgreSQL",
    "mariadb": "MariaDB",
    "mysql": "MySQL",
    "cockroachdb": "CockroachDB",
}
_IN_WORDS = {
    Acknowledged.ON_DISK: "once on disk",
    Acknowledged.WITHIN_A_SECOND: "up to a second before that",
    Acknowledged.UNSYNCED: "without any sync to disk",
}

_COPIES = ("no", "one copy", "two copies", "three copies", "four copies", "five copies", "six copies")


def availability(lookup: Lookup) -> Iterator[Draft]:
    """A warning if databases with unequal copies were compared, as the study asked, and else a note."""
    kept: dict[str, str] = {}
    for planned in lookup.study.plan.trials:
        copies = planned.intent.configuration.get("database", {}).get("copies")
        if copies is not None:
            kept[planned.intent.configuration_name] = _in_words(copies["count"], synchronous=copies["synchronous"])
    trials = [row.trial for row in lookup[TrialRow] if row.counts and row.configuration in kept]
    ways = sorted(set(kept.values()))
    if not trials or len(kept) == 1:
        return
    if len(ways) > 1:
        yield warning(
            "Databases were compared at {count:count} levels of availability, as the study asks: {ways}. A copy "
            "more costs dollars, and a synchronous one delays commits.",
            numbers={"count": len(ways)},
            trials=trials,
            ways=each_way(kept, {way: way for way in ways}),
        )
        return
    yield note(
        "{count:count} databases with the same copies of the data, as the study says: {way}. Rates and dollars are "
        "compared at equal availability.",
        numbers={"count": len(kept)},
        trials=trials,
        way=ways[0],
    )


def each_way(of: Mapping[str, Way], in_words: Mapping[Way, str], most: int = MAX_NAMED) -> str:
    """'once on disk (a and b) and without any sync to disk (c)', of what each configuration has."""
    those = {way: sorted(name for name in of if of[name] == way) for way in in_words}
    return enumeration([f"{in_words[way]} ({named_or_counted(names, most)})" for way, names in those.items()])


def failover(lookup: Lookup) -> Iterator[Draft]:
    """A warning if another server takes over from one that fails in some of the configurations, and in others not."""
    managers: dict[str, str] = {
        planned.intent.configuration_name: planned.intent.configuration.get("database", {}).get("failover") or "nothing"
        for planned in lookup.study.plan.trials
    }
    trials = [row.trial for row in lookup[TrialRow] if row.counts]
    ways = sorted(set(managers.values()))
    if trials and len(ways) > 1:
        yield warning(
            "What lets another server take over from one that fails differs in {count:count} ways: {ways}. Outages, "
            "lost writes and what copies cost are compared between systems that differ in it.",
            numbers={"count": len(ways)},
            trials=trials,
            ways=each_way(managers, {way: way for way in ways}),
        )


def _in_words(count: int, *, synchronous: bool) -> str:
    if count == 1:
        return _COPIES[1]
    return f"{_COPIES[count]}, {'synchronous' if synchronous else 'asynchronous'}"


def durability(lookup: Lookup) -> Iterator[Draft]:
    """A warning if commits mean different things, and else a note if several systems of SQL were compared."""
    settings = lookup.study.database_settings
    kept = {name: found for name, held in settings.items() if (found := acknowledged(held)) is not None}
    trials = [row.trial for row in lookup[TrialRow] if row.counts and row.configuration in kept]
    ways = [way for way in Acknowledged if way in kept.values()]
    systems, levels = _systems(lookup), _levels(lookup)
    if trials and len(ways) > 1:
        yield warning(
            "Databases acknowledged a commit in {count:count} ways: {ways}. A difference between these configurations "
            "may come from what a crash of the machine would take, rather than from the rest.",
            numbers={"count": len(ways)},
            trials=trials,
            ways=each_way(kept, {way: _IN_WORDS[way] for way in ways}),
        )
    elif trials and len(systems) > 1 and levels:
        yield note(
            "{count:count} database systems, {systems}, acknowledged commits alike, {way}. Transactions ran at the "
            f"isolation {plural(len(levels), 'level')} {{levels}}, which each of them has in its own way.",
            numbers={"count": len(systems)},
            trials=trials,
            systems=enumeration(systems),
            way=_IN_WORDS[ways[0]],
            levels=enumeration(levels),
        )


def _systems(lookup: Lookup) -> list[str]:
    """The systems of SQL, by their names."""
    used = {
        planned.intent.configuration.get("database", {}).get("system", "postgres")
        for planned in lookup.study.plan.trials
        if planned.intent.configuration_name in lookup.study.database_settings
    }
    return [name for system, name in _SQL.items() if system in used]


def _levels(lookup: Lookup) -> list[str]:
    """What the benchmarks ask for: the load generator measures nothing where the server has another level."""
    loads = (row.parameters for row in lookup.study.benchmarks if row.subject is Subject.DATABASE)
    return sorted({str(one["isolation"]) for one in loads if "isolation" in one})
