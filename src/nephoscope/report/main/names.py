"""How the main page names configurations, and its one line of what was compared."""

from collections import Counter
from collections.abc import Mapping, Sequence

from nephoscope.model import numbers as people
from nephoscope.model.price_rows import OLD_PRICE_DAYS
from nephoscope.model.words import counted, provider_name
from nephoscope.report.lookup import Lookup, unique

MAX_NAMED = 6
"""A sentence never names more; it counts the others."""
CPUS = "CPUs"
_MONTH = len("2026-06")


def names_of(lookup: Lookup) -> Mapping[str, str]:
    """Configuration -> its name for a reader.

    Where no provider named the machines and they differ in one thing only, that is their name: '1 CPU', 'version 15'.
    """
    names = {name: name for name in lookup.configurations}
    typed = any(row.machine_type for row in lookup.study.configurations)
    only = lookup.study.only_difference
    if typed or only is None:
        return names
    values = {name: value for name, value in only.values.items() if name in names}
    said = {name: _called(only.what, _value(lookup, only.what, name, value)) for name, value in values.items()}
    return {**names, **said} if len(set(said.values())) == len(names) else names


def _value(lookup: Lookup, what: str, name: str, value: str) -> str:
    """As observed where the study asks for 'all' CPUs."""
    seen = lookup.cpus.get(name) if what == CPUS else None
    return value if seen is None else str(seen)


def _called(what: str, value: str) -> str:
    if what == CPUS and value.isdigit():
        return counted(int(value), "CPU")
    return f"{what} {value}"


def enumerated(names: Sequence[str], most: int = MAX_NAMED, last: str = "and") -> str:
    """'a', 'a and b', 'a, b and c', 'a, b and 12 more'."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} {last} {len(names) - most + 1:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else ""


def compared(lookup: Lookup) -> str:
    """One line: which configurations, what differs between them, how often and when each was measured."""
    study = lookup.study
    parts = [_machines(lookup)]
    if study.benchmarks:
        parts.append(counted(len(study.benchmarks), "benchmark"))
    if study.source is None and study.trials:
        parts.append(_replicates(lookup))
    day = people.moment(study.started_unix_ms)[:10] if study.started_unix_ms is not None else None
    others = "" if study.source is None else f" by others ({study.source.source})"
    if others or day:
        parts.append(f"{'simulated' if study.plan.simulated else 'measured'}{others}{f' on {day}' if day else ''}")
    if prices := _prices(lookup):
        parts.append(prices)
    return f"{parts[0]} {', '.join(parts[1:])}." if len(parts) > 1 else parts[0]


def _replicates(lookup: Lookup) -> str:
    """'6 replicates each', '3 to 6 replicates each (338 of 468 planned trials)': of those that count."""
    trials = lookup.study.trials
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
    skipped = sum(row.state == "not needed" for row in study.trials)
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
    priced = {row.configuration: row.date for row in study.costs if row.basis == basis and row.month_usd is not None}
    dates = {date for date in priced.values() if date} | {row.date for row in study.cost_lines if row.basis == basis}
    if not dates:
        return "prices as the study states them" if priced else ""
    oldest, newest = min(dates), max(dates)
    ages = [row.age_days for row in study.costs if row.basis == basis and row.month_usd is not None and row.age_days]
    age = f", up to {counted(max(ages), 'day')} old" if ages and max(ages) > OLD_PRICE_DAYS else ""
    if oldest == newest:
        return f"prices as of {oldest}{age}"
    first, last = oldest[:_MONTH], newest[:_MONTH]
    return f"prices as of {first}{age}" if first == last else f"prices as of {first} to {last}{age}"


def hosts_of(lookup: Lookup) -> list[str]:
    """The hosts on which databases ran, where the study names them."""
    asked = {one.intent.configuration_name: one.intent.configuration for one in lookup.study.plan.trials}
    machines = ((asked.get(name) or {}).get("database_machine") or {} for name in lookup.configurations)
    return unique(host for machine in machines for host in machine.get("hosts") or ())


def _machines(lookup: Lookup) -> str:
    names, only = lookup.configurations, lookup.study.only_difference
    count = counted(len(names), "configuration")
    if len(names) < 2:
        return f"{count}: {enumerated(names)}." if names else "Nothing was measured."
    if only is not None:
        shown = sorted({_value(lookup, only.what, *pair) for pair in only.values.items()}, key=_by_size)
        said = " against ".join(shown) if len(shown) < 3 else enumerated(shown)
        return f"{count}: they differ only in {only.what} ({said})."
    sold, differences = _of_providers(lookup), lookup.study.differences
    obvious = bool(sold) and lookup.study.several_differences  # machines of several types
    return f"{count}{sold}{'' if obvious or not differences else f': {differences}'}."


def _of_providers(lookup: Lookup) -> str:
    """' on AWS (33), Azure (26) and Google Cloud (23)': of machines that somebody sells."""
    sold = {row.configuration: row.provider for row in lookup.study.costs if row.machine_type and row.provider}
    sold |= {row.configuration: row.provider for row in lookup.study.configurations if row.machine_type}
    counts = Counter(provider for name in lookup.configurations if (provider := sold.get(name)))
    if len(counts) < 2:
        return f" on {provider_name(name)}" if (name := next(iter(counts), "")) else ""
    return f" on {enumerated([f'{provider_name(name)} ({count:,})' for name, count in counts.items()])}"


def _by_size(value: str) -> tuple[bool, float, str]:
    digits = value.partition(" ")[0]
    number = digits.replace(".", "", 1).isdigit()
    return (not number, float(digits) if number else 0.0, value)
