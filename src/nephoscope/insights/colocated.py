"""Client and database on one machine: what the client took."""

from collections import defaultdict

from nephoscope.insights.base import Findings
from nephoscope.insights.words import say
from nephoscope.model.records import CO_LOCATED
from nephoscope.model.rows import Insight
from nephoscope.stats.median import median_interval

NAME = "colocated"


def colocated(findings: Findings) -> list[Insight]:
    """One note per benchmark and configuration whose client shared the machine of the database."""
    shares: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in findings.trials:
        stated = CO_LOCATED in row.conditions
        if row.counts and stated and row.client_cpu_share is not None:
            shares[row.benchmark, row.configuration][row.trial] = 100 * row.client_cpu_share
    return [
        say(
            NAME,
            "note",
            "{benchmark_name} on {name}: client and database share a machine; the client took a median of "
            "{median:percent} % of the CPU time ({smallest:percent} % to {largest:percent} %, n = {n:count}), which a "
            "client on a machine of its own would have left to the database.",
            numbers={
                "median": median_interval(list(of.values())).median,
                "smallest": min(of.values()),
                "largest": max(of.values()),
                "n": len(of),
            },
            trials=list(of),
            benchmark=benchmark,
            benchmark_name=benchmark,
            name=configuration,
        )
        for (benchmark, configuration), of in sorted(shares.items())
    ]
