"""What clients saw of faults: how long outages were, which acknowledged writes were lost, what is saved by less."""

from collections.abc import Iterator, Mapping, Sequence

from nephoscope.analysis.faults import FaultRow
from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.analysis.outage_costs import OutageCostRow
from nephoscope.insights.names import MAX_NAMED, names_of
from nephoscope.insights.words import Draft, note
from nephoscope.model.numbers import Number, interval
from nephoscope.model.words import enumeration

_RATE_S = 1.0
"""In which a rate is counted: by so much the usual one may seem later than the end of an outage."""


def outages(lookup: Lookup) -> Iterator[Draft]:
    """For each benchmark with faults, how long the longest outage was on each configuration."""
    for rows in _by_benchmark(lookup):
        yield _longest(rows, lookup)


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
        template += "did not surely have shorter outages in {benchmark_name}."
    else:
        numbers["saved"] = interval(row.saved_s, row.saved_low_s, row.saved_high_s)
        numbers["pays"] = row.pays_from_usd_per_hour
        template += (
            "had outages shorter by {saved:quantity:s} in {benchmark_name}, which at {faults:limit} such faults a year "
            "is {year:quantity:s} of outage less"
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


def _longest(rows: Sequence[FaultRow], lookup: Lookup) -> Draft:
    """'The longest outage that any client saw in kill was 3.54 s on a and 11.2 s on b: medians, each of 12 faults.'.

    Where only a part of the data was away, clients had success long before they had their usual rate.
    """
    names, numbers, words = names_of(lookup), dict[str, Number](), dict[str, str]()
    shown = rows if len(rows) <= MAX_NAMED else [*rows[: MAX_NAMED - 1], rows[-1]]
    said, later = list[str](), list[str]()
    for place, row in enumerate(shown):
        key, usual_s = f"k{place}", row.time_to_usual_rate_s
        words[f"name_{key}"] = names[row.configuration]
        if row.longest_outage_s is None:
            said.append(f"mostly longer than it was watched on {{name_{key}}}")
            continue
        numbers[key] = interval(row.longest_outage_s, row.longest_outage_low_s, row.longest_outage_high_s)
        said.append(f"{{{key}:quantity:s}} on {{name_{key}}}")
        if usual_s is not None and usual_s > row.longest_outage_s + _RATE_S:
            numbers[f"usual_{key}"] = usual_s
            later.append(f"{{usual_{key}:quantity:s}} on {{name_{key}}}")
    least, most = min(row.faults for row in rows), max(row.faults for row in rows)
    numbers |= {"least": least, "most": most}
    many = "{least:counted:fault}" if least == most else "{least:count} to {most:counted:fault}"
    more = ""
    if len(shown) < len(rows):
        numbers["of"] = len(rows)
        more = " (the first and the last of {of:count})"
    each = "median of" if len(rows) == 1 else "medians, each of"
    text = f"The longest outage that any client saw in {{benchmark_name}} was {enumeration(said)}{more}: {each} {many}."
    return note(
        f"{text} Clients had their usual rate again after {enumeration(later)}." if later else text,
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
