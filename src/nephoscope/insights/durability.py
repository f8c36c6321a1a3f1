"""What databases promise of a commit, and what clients saw of faults: back after how long, which writes were lost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from nephoscope.analysis.durability import Acknowledged, acknowledged
from nephoscope.analysis.faults import FaultRow
from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.analysis.outage_costs import OutageCostRow
from nephoscope.insights.names import MAX_NAMED, names_of
from nephoscope.insights.words import Draft, note, plural, warning
from nephoscope.model.numbers import Number, interval
from nephoscope.model.rows import TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.model.words import enumeration, named_or_counted


def outages(lookup: Lookup) -> Iterator[Draft]:
    """For each benchmark with faults, how long the longest outage was on each configuration."""
    for rows in _by_benchmark(lookup):
        yield _back(rows, lookup)


def losses(lookup: Lookup) -> Iterator[Draft]:
    """For each benchmark whose writes were read again, what was lost; those with losses first."""
    counted = [rows for rows in _by_benchmark(lookup) if any(row.writes_acknowledged for row in rows)]
    yield from (_lost(rows, lookup) for rows in sorted(counted, key=lambda rows: not any(r.writes_lost for r in rows)))


def outage_costs(lookup: Lookup) -> Iterator[Draft]:
    """For each benchmark with faults, what the dearer configurations cost more and save."""
    names = names_of(lookup)
    yield from (_saved(row, names) for row in lookup[OutageCostRow])


def _saved(row: OutageCostRow, names: Mapping[str, str]) -> Draft:
    numbers: dict[str, Number] = {"more": row.more_usd, "faults": row.faults_per_year, "year": row.saved_s_per_year}
    template = "{configuration} costs {more:money} a month more than {than} and "
    if row.pays_from_usd_per_hour is None:
        template += "was not surely back earlier in {benchmark_name}."
    else:
        numbers["saved"] = interval(row.saved_s, row.saved_low_s, row.saved_high_s)
        numbers["pays"] = row.pays_from_usd_per_hour
        template += (
            "was back {saved:quantity:s} earlier in {benchmark_name}, which at {faults:limit} such faults a year is "
            "{year:quantity:s} of outage less"
        )
        if row.saved_usd is None or row.outage_usd_per_hour is None:
            template += ": it pays where an hour of outage costs more than {pays:money}."
        else:
            numbers |= {"saves": row.saved_usd, "hour": row.outage_usd_per_hour}
            template += ", and saves {saves:money} a month at {hour:money} for an hour of outage"
            template += "." if row.saved_usd >= row.more_usd else ": it would pay from {pays:money} on."
    return note(
        template,
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        configuration=names[row.configuration],
        than=names[row.than],
    )


def _by_benchmark(lookup: Lookup) -> list[list[FaultRow]]:
    """Shortest outage first."""
    groups = grouped(lookup[FaultRow], lambda row: row.benchmark)
    return [sorted(rows, key=_length) for rows in groups.values()]


def _length(row: FaultRow) -> tuple[bool, float, str]:
    known = row.longest_outage_s is not None
    return not known, row.longest_outage_s or row.longest_outage_low_s, row.configuration


def _back(rows: Sequence[FaultRow], lookup: Lookup) -> Draft:
    """'postgres was back after 3.54 s and valkey after 11.2 s in kill: medians, each of 12 faults, of ...'."""
    names, numbers, words = names_of(lookup), dict[str, Number](), dict[str, str]()
    shown = rows if len(rows) <= MAX_NAMED else [*rows[: MAX_NAMED - 1], rows[-1]]
    said = []
    for place, row in enumerate(shown):
        key = f"k{place}"
        words[f"name_{key}"] = names[row.configuration]
        if row.longest_outage_s is None:
            said.append(f"{{name_{key}}} mostly not while it was watched")
        else:
            numbers[key] = interval(row.longest_outage_s, row.longest_outage_low_s, row.longest_outage_high_s)
            said.append(f"{{name_{key}}} {'' if said else 'was back '}after {{{key}:quantity:s}}")
    least, most = min(row.faults for row in rows), max(row.faults for row in rows)
    numbers |= {"least": least, "most": most}
    many = "{least:counted:fault}" if least == most else "{least:count} to {most:counted:fault}"
    more = ""
    if len(shown) < len(rows):
        numbers["of"] = len(rows)
        more = " (the first and the last of {of:count})"
    each = "median of" if len(rows) == 1 else "medians, each of"
    return note(
        f"{enumeration(said)}{more} in {{benchmark_name}}: {each} {many}, of the longest outage that any client saw.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        **words,
    )


def _lost(rows: Sequence[FaultRow], lookup: Lookup) -> Draft:
    """'In kill, no acknowledged write was lost on a and b in 12 faults each: at most 22 % of such faults lose any.'."""
    names, numbers, words = names_of(lookup), dict[str, Number](), dict[str, str]()
    kept = [row for row in rows if row.losing_at_most_share is not None]
    losing = sorted((row for row in rows if row.writes_lost), key=lambda row: -row.writes_lost)
    said = []
    if kept:
        more = "" if len({row.faults for row in kept}) == 1 else " or more"
        numbers["faults"] = min(row.faults for row in kept)
        numbers["share"] = 100 * max(row.losing_at_most_share or 0.0 for row in kept)
        words["kept"] = _named([names[row.configuration] for row in kept])
        said.append(
            "In {benchmark_name}, no acknowledged write was lost on {kept} in {faults:counted:fault}"
            f"{' each' if len(kept) > 1 else ''}{more}: at most {{share:percent}} of such faults lose any."
        )
    each = []
    for place, row in enumerate(losing[:MAX_NAMED]):
        numbers |= {f"lost{place}": row.writes_lost, f"all{place}": row.writes_acknowledged}
        words[f"name{place}"] = names[row.configuration]
        of = f"of {{all{place}:count}} acknowledged writes"
        each.append(f"{{name{place}}} lost {{lost{place}:count}} {of}")
    said += [f"{enumeration(each)}{'' if kept else ' in {benchmark_name}'}."] if each else []
    return note(
        " ".join(said),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        **words,
    )


def _named(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return enumeration([*names[:MAX_NAMED], *([f"others ({more})"] if more > 0 else [])])


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
