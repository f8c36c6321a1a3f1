"""Sets of latencies among numbers that a file names one by one: 'read p99 latency', 'Latency: Average'."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import Bounded, LowerBound
from nephoscope.parsers.latencies import COCKROACH, EXACT, FIO, GO_TPC, NETPERF, SYSBENCH, Histogram, latencies

SECONDS_OF: Mapping[str, float] = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
}
"""Unit of a time, in small letters -> its seconds."""
_HISTOGRAMS = {"cockroach": COCKROACH, "sysbench": SYSBENCH, "netperf": NETPERF, "go-tpc": GO_TPC, "fio": FIO}
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where a word begins inside 'AverageLatency'."""
_TAIL = 95.0
"""The least percentile that a mean above it speaks against, where no maximum is named: one above a median is usual."""
_STATISTIC = re.compile(
    r"""(?<![a-z0-9.])(?:
    (?P<maximum>max(?:imum)?|p100|longest)
    | p\.?(?P<p>[0-9]{1,2}(?:\.?[0-9]{1,4})?)
    | (?P<nth>[0-9]{1,2}(?:\.[0-9]{1,4})?)(?:st|nd|rd|th)?[\ _-]?(?:percentile|pctl|%(?:ile)?)
    | percentile[\ _:-]{0,2}(?P<after>[0-9]{1,2}(?:\.[0-9]{1,4})?)
    | (?P<mean>average|avg|mean) | (?P<median>median)
    )(?![a-z0-9])""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass
class _Set:
    """Names of the members of one set."""

    percentiles: dict[float, str] = field(default_factory=dict)
    mean: str | None = None
    maximum: str | None = None


@dataclass(frozen=True)
class Checked:
    """What is not a value among the latencies of a run."""

    bounds: frozenset[str]
    """Names of latencies that are longer than what is printed."""
    refused: Mapping[str, str]
    """Name -> why it can be no latency of its set."""

    def told(self, values: Mapping[str, float]) -> dict[str, Bounded]:
        """The values that can be, in their own units, with bounds for those that are longer."""
        return {
            name: LowerBound(above=value) if name in self.bounds else value
            for name, value in values.items()
            if name not in self.refused
        }


def checked(test: str, named_s: Mapping[str, float]) -> Checked:
    """Which latencies their sets show to be longer than their tool could tell, and which sets cannot be.

    Args:
        test: what its tool is called: its histogram may end.
        named_s: name -> seconds, of one run. What no word calls a percentile, mean or maximum stands for itself.
    """
    histogram = next((ends for tool, ends in _HISTOGRAMS.items() if _holds(test, tool)), EXACT)
    bounds: set[str] = set()
    refused: dict[str, str] = {}
    for about, members in _sets(named_s).items():
        try:
            bounds |= _bounds(histogram, about, members, named_s)
        except OutputUnreadable as error:
            names = [*members.percentiles.values(), *filter(None, (members.mean, members.maximum))]
            refused |= dict.fromkeys(names, error.message)
    return Checked(frozenset(bounds), refused)


def _bounds(histogram: Histogram, about: str, members: _Set, named_s: Mapping[str, float]) -> set[str]:
    percentiles_s = {percent: named_s[name] for percent, name in members.percentiles.items()}
    mean_s, maximum_s = ((named_s[name] if name else None) for name in (members.mean, members.maximum))
    judged = maximum_s is not None or max(percentiles_s, default=0.0) >= _TAIL
    told = latencies(about, histogram, percentiles_s, mean_s=mean_s if judged else None, maximum_s=maximum_s)
    named = {name: told.percentiles_s[percent] for percent, name in members.percentiles.items()}
    ends = {members.mean: told.mean_s, members.maximum: told.maximum_s}
    return {name for name, value in (*named.items(), *ends.items()) if name and isinstance(value, LowerBound)}


def _sets(names: Mapping[str, float]) -> dict[str, _Set]:
    """What the names leave when the word for the statistic is taken out -> the set."""
    sets: dict[str, _Set] = defaultdict(_Set)
    for name in names:
        words = _HUMP.sub(" ", name)
        if len(matches := list(_STATISTIC.finditer(words))) != 1:
            continue
        (match,) = matches
        of = sets[" ".join(f"{words[: match.start()]} {words[match.end() :]}".casefold().split())]
        if match["mean"]:
            of.mean = of.mean or name
        elif match["maximum"]:
            of.maximum = of.maximum or name
        else:
            of.percentiles.setdefault(_percent(match), name)
    return sets


def _percent(match: re.Match[str]) -> float:
    """50 of 'median', 99.9 of 'p999'."""
    digits = match["p"] or match["nth"] or match["after"] or "50"
    return float(digits if "." in digits else f"{digits[:2]}.{digits[2:] or '0'}")


def _holds(test: str, tool: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){tool}(?![a-z0-9])", test.casefold().replace("_", "-")) is not None
