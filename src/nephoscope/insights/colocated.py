"""Client and database on one machine: how much CPU time the client took."""

from collections import defaultdict
from collections.abc import Mapping

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, percent_range, say
from nephoscope.model.records import CO_LOCATED
from nephoscope.stats.median import median_interval

NAME = "colocated"


def colocated(lookup: Lookup) -> list[Draft]:
    """One note per benchmark and configuration whose client ran on the database machine."""
    shares: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in lookup.study.trials:
        stated = CO_LOCATED in row.conditions
        if row.counts and stated and row.client_cpu_share is not None:
            shares[row.benchmark, row.configuration][row.trial] = 100 * row.client_cpu_share
    return [_note(*key, of) for key, of in sorted(shares.items())]


def _note(benchmark: str, configuration: str, of: Mapping[str, float]) -> Draft:
    numbers = {
        "median": median_interval(list(of.values())).median,
        "smallest": min(of.values()),
        "largest": max(of.values()),
        "n": len(of),
    }
    return say(
        NAME,
        "note",
        "{benchmark_name} on {name}: client and database shared a machine. The client took a median of "
        "{median:percent} of its CPU time ("
        + percent_range("smallest", "largest", numbers)
        + ", n = {n:count}), which the database could not use.",
        numbers=numbers,
        trials=list(of),
        benchmark=benchmark,
        benchmark_name=benchmark,
        name=configuration,
    )
