"""The main page's lines of what was compared, and how often."""

from collections import Counter

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import enumerated, value_of
from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostLineRow, CostRow
from nephoscope.model.rows import ConfigurationRow, TrialRow
from nephoscope.model.words import counted, provider_name

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
