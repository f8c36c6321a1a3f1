"""The same rate on several machine types: a limit set by the provider.

Only rates of bytes, bits and I/Os are examined: equal CPUs are equally fast for a better reason.
"""

from collections import defaultdict

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, say
from nephoscope.model.records import Metric
from nephoscope.model.words import provider_name
from nephoscope.stats.plateau import Cap, caps

NAME = "caps"
_LIMITED = {"B/s", "bit/s", "IO/s"}
"""Units of the rates that providers limit."""


def provider_caps(lookup: Lookup) -> list[Draft]:
    """One note for each headline rate of a provider that is the same on three or more machine types."""
    return [
        _told(lookup, benchmark, metric, provider, cap)
        for benchmark, metric in lookup.headlines()
        if metric.unit in _LIMITED
        for provider, by_type in sorted(_by_type(lookup, benchmark, metric).items())
        for cap in caps(by_type)
    ]


def _by_type(lookup: Lookup, benchmark: str, metric: Metric) -> dict[str, dict[str, list[float]]]:
    """Provider -> machine type -> values of its valid trials."""
    types = {row.configuration: (row.provider, row.machine_type) for row in lookup.study.configurations}
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup.study.measurements:
        if (row.benchmark, row.metric, row.at_s, row.valid) == (benchmark, metric.name, None, True):
            provider, machine_type = types.get(row.configuration, (None, None))
            if provider and machine_type:
                found[provider][machine_type].append(row.value)
    return found


def _told(lookup: Lookup, benchmark: str, metric: Metric, provider: str, cap: Cap) -> Draft:
    names = {
        row.configuration
        for row in lookup.study.configurations
        if row.provider == provider and row.machine_type in cap.types
    }
    return say(
        NAME,
        "note",
        "{metric}: {n:count} machine types of {provider} ({types}) all reach about {level:quantity:"
        + metric.unit
        + "}, with a spread of at most {spread:percent} within a type. This looks like a limit set by the provider, "
        "not by the machines.",
        numbers={"n": len(cap.types), "level": cap.level, "spread": 100 * cap.largest_spread},
        trials=sorted(
            row.trial
            for row in lookup.study.trials
            if row.counts and row.benchmark == benchmark and row.configuration in names
        ),
        benchmark=benchmark,
        metric=f"{lookup.title(benchmark, metric.name)} in {benchmark}",
        provider=provider_name(provider),
        types=", ".join(cap.types),
    )
