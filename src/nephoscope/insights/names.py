"""What configurations and metrics are called in sentences and labels."""

import re
from collections.abc import Collection, Mapping, Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.numbers import SECONDS, Number
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import ConfigurationRow
from nephoscope.model.words import counted, provider_name

MAX_NAMED = 6
"""A sentence never names more; it counts the others."""
CPUS = "CPUs"
UNKNOWN_PROVIDER = "not known"
_LOWER_CASE = ("fio", "stress-ng", "sysbench")
"""Names that no sentence capitalises."""
_MAX_NOUN_WORDS = 3
_RATES = ("/s", "/min")
_WORD = re.compile(r"[^\W_]+")


def names_of(lookup: Lookup) -> Mapping[str, str]:
    """Configuration -> its name for a reader.

    Where no provider named the machines and they differ in one thing only, that is their name: '1 CPU', 'version 15'.
    """
    names = {name: name for name in lookup.configurations}
    typed = any(row.machine_type for row in lookup[ConfigurationRow])
    only = lookup.study.only_difference
    if typed or only is None:
        return names
    values = {name: value for name, value in only.values.items() if name in names}
    short = {name: _called(only.what, value_of(lookup, only.what, name, value)) for name, value in values.items()}
    return {**names, **short} if len(set(short.values())) == len(names) else names


def type_name(configuration: str, machine_type: str) -> str:
    """'gs4' of Standard_GS4 for 'gs4-md': on one page a machine is spelled as the names of configurations spell it."""
    whole = machine_type.lower().replace("_", "-")
    spelled = (whole, whole.removeprefix("standard-"))
    return next((one for one in spelled if f"{configuration}-".startswith(f"{one}-")), machine_type)


def provider_of(lookup: Lookup, configuration: str) -> str:
    """The provider as people write it: the one whose price its machine has, else the one it was created by."""
    priced = [row.provider for row in lookup.costs.get(configuration, ()) if row.provider]
    known = lookup.described.get(configuration)
    name = next(iter(priced), known.provider if known else None)
    return UNKNOWN_PROVIDER if name is None else provider_name(name)


def setups(lookup: Lookup, configurations: Sequence[str]) -> dict[str, list[str]]:
    """'with nobarrier' -> its configurations, where they are mounted in several ways; '' -> all of them if not.

    A filesystem that need not wait for its disk writes faster for a reason that is no machine's.
    """
    by_options: dict[str, list[str]] = {}
    for name in configurations:
        machine = lookup.asked.get(name, {}).get("database_machine") or {}
        options = ", ".join(machine.get("mount_options") or ())
        by_options.setdefault(f"with {options}" if options else "as mounted by default", []).append(name)
    return by_options if len(by_options) > 1 else {"": list(configurations)}


def value_of(lookup: Lookup, what: str, name: str, value: str) -> str:
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


def listed(key: str, names: Sequence[str], numbers: dict[str, Number], words: dict[str, str]) -> str:
    """A template for 'a, b and 12 more', whose names and number it adds to `words` and `numbers`."""
    if len(names) <= MAX_NAMED:
        words[key] = enumerated(names)
        return f"{{{key}}}"
    words[key], numbers[f"{key}_more"] = ", ".join(names[: MAX_NAMED - 1]), len(names) - MAX_NAMED + 1
    return f"{{{key}}} and {{{key}_more:count}} more"


def mostly(counts: Mapping[str, float], numbers: dict[str, Number], words: dict[str, str]) -> str:
    """A template that says where most of them are: ', all in fio', ', most of them in fio', ', in 12 benchmarks'."""
    name, count = max(counts.items(), key=lambda pair: pair[1])
    words["place"], numbers["places"] = name, len(counts)
    if len(counts) == 1:
        return ", all in {place}"
    return ", most of them in {place}" if 2 * count > sum(counts.values()) else ", in {places:count} benchmarks"


def in_reading_order(lookup: Lookup, configurations: Collection[str]) -> list[str]:
    """The names for a reader, in the order of the study."""
    names = names_of(lookup)
    return [names[name] for name in lookup.configurations if name in configurations]


def metric_title(metric: Metric, *, per_cpu: bool = False) -> str:
    """The title for people."""
    title = metric.title or metric.name
    if title[1:2].islower() and metric.title and not title.startswith(_LOWER_CASE):
        title = title[:1].upper() + title[1:]
    return f"{title}, per CPU" if per_cpu else title


def names_benchmark(metric: Metric, benchmark: str) -> bool:
    """Whether the title says it, in whatever spelling: 'stress-ng matrix' of stress-ng-matrix, 'TPC-C tpmC' of tpcc."""
    title = _WORD.findall(metric_title(metric).casefold())
    name = "".join(_WORD.findall(benchmark.casefold()))
    ends = [(start, end) for end in range(len(title) + 1) for start in range(end)]
    return any("".join(title[start:end]) == name for start, end in ends)


def title_with_benchmark(metric: Metric, benchmark: str) -> str:
    """'fio: Random reads, I/O rate'; the title alone if it names its benchmark."""
    title = metric_title(metric)
    return title if names_benchmark(metric, benchmark) else f"{benchmark}: {title}"


def title_in(metric: Metric, benchmark: str) -> str:
    """'Operations in reads'; the title alone if it names its benchmark."""
    title = metric_title(metric)
    return title if names_benchmark(metric, benchmark) else f"{title} in {benchmark}"


def title_in_sentence(metric: Metric, *, per_cpu: bool = False) -> str:
    """Before a colon: a title of its own has commas instead."""
    return metric_title(metric, per_cpu=per_cpu).replace(": ", ", ")


def title_within(metric: Metric) -> str:
    """Behind other words: 'Cost of maximum TPC-C tpmC'."""
    return (metric.title or metric.name).replace(": ", ", ")


def quantity_noun(metric: Metric) -> str:
    """What it counts, for '1.30× the I/O rate of b': the end of its title, or else 'rate', 'time' or 'value'."""
    _, colon, last = metric.title.rpartition(": ")
    if colon and len(last.split()) <= _MAX_NOUN_WORDS:
        return last
    return "rate" if metric.unit.endswith(_RATES) else "time" if metric.unit in SECONDS else "value"


def pace_words(metric: Metric) -> tuple[str, str]:
    """('fastest', 'slower') of rates and times, else ('best', 'worse')."""
    higher = metric.direction is Direction.HIGHER
    fast = metric.unit.endswith(_RATES) if higher else metric.unit in SECONDS
    return ("fastest", "slower") if fast else ("best", "worse")
