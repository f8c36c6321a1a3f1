"""How many replicates a given precision takes, estimated from the replicates at hand (CONFIRM)."""

from collections.abc import Sequence

from nephoscope.analysis.answers import more_replicates
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.records import Metric
from nephoscope.model.rows import Statistic
from nephoscope.model.words import enumeration
from nephoscope.stats.median import least_n
from nephoscope.stats.precision import replicates_for_precision

NAME = "precision"
SHARES = (0.01, 0.02, 0.05)
"""Half-widths of the interval as a share of the median; the ones that Maricq et al. use."""


def precision(lookup: Lookup) -> list[Draft]:
    """One note for each headline metric with more than the minimum of replicates: fewer allow no extrapolation."""
    found = []
    for benchmark, metric in lookup.headlines():
        rows = [row for row in lookup.statistics_of(benchmark, metric.name) if row.n > least_n()]
        if rows:
            found.append(_note(lookup, metric, rows))
    return found


def _note(lookup: Lookup, metric: Metric, rows: Sequence[Statistic]) -> Draft:
    """Estimated from the configuration with the least precise median: the others need no more replicates."""
    worst = max(rows, key=lambda row: (row.margin_percent or 0.0, row.configuration))
    values = lookup.values_behind(worst)
    numbers: dict[str, float] = {"n": worst.n}
    needed = replicates_for_precision(values, SHARES)
    beyond = max((share for share in SHARES if needed[share] is None), default=None)
    parts = []
    for key, (share, least) in keyed(needed.items()):
        numbers |= {f"share_{key}": 100 * share, f"needed_{key}": least or worst.n}
        if least or share == beyond:  # even higher precision takes more than that, too
            parts.append(("" if least else "more than ") + f"{{needed_{key}:count}} for ±{{share_{key}:limit}} %")
    names = [row.configuration for row in lookup.statistics_of(worst.benchmark, worst.metric)]
    effort = more_replicates(lookup, worst.benchmark, names, 1)
    one_more = f" One more replicate of {plural(len(names), 'the', 'each of the')} {{all:count}} "
    one_more += f"{plural(len(names), 'configuration')} takes about {{hours:hours}} of machine time"
    one_more += " (about {usd:money})." if effort and effort.usd is not None else "."
    numbers["all"] = len(names)
    if effort is not None:
        numbers |= {"hours": effort.hours, "usd": effort.usd or 0.0}
    return say(
        NAME,
        "note",
        "{benchmark_name}: number of replicates needed for the median of {title}, estimated from the {n:count} "
        "replicates of {name}, the least precise configuration (CONFIRM): "
        + enumeration(parts)
        + "."
        + (one_more if effort else ""),
        numbers=numbers,
        trials=worst.trials,
        benchmark=worst.benchmark,
        benchmark_name=worst.benchmark,
        name=worst.configuration,
        title=metric.title,
    )
