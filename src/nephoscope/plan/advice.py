"""What a plan shows before anything starts: whether it has enough replicates for the claims it will make."""

import itertools
import math
from collections import defaultdict

from nephoscope.benchmarks.database.tpcc_editions import EDITIONS
from nephoscope.model.words import counted
from nephoscope.plan.placement import one_machine_each
from nephoscope.study.model import Configuration, Study

MIN_REPLICATES_FOR_95_PERCENT = 6
"""The median of n values lies in [min, max] with probability 1 - 2 / 2^n: 93.75 % for 5, 96.88 % for 6."""

_TWO_SIDED_ORDERINGS_PER_CLAIM = 40
"""2 / 0.05: Holm's first step requires p <= 0.05 / claims of a smallest p of 2 / C(2n, n)."""


def warnings_for(study: Study, headline_metrics: int) -> list[str]:
    """Warnings about a study; `headline_metrics` is how many metrics its configurations are ranked by."""
    return [
        *_few_replicates(study),
        *_fewer_than_the_edition(study),
        *_many_claims(study, headline_metrics),
        *_equal_configurations(study),
        *one_machine_each(study),
    ]


def coverage_of_range(n: int) -> float:
    """Probability that the population's median lies between the smallest and the largest of n values."""
    return 1 - 2 * 0.5**n


def claims_decidable(n: int) -> int:
    """How many comparisons of n with n replicates Holm can decide at once at 5 %, at best; 23 for n = 6."""
    return math.comb(2 * n, n) // _TWO_SIDED_ORDERINGS_PER_CLAIM


def replicates_for(claims: int) -> int:
    """The smallest n with which this many comparisons can be decided at once."""
    return next(n for n in itertools.count(1) if claims_decidable(n) >= claims)


def _few_replicates(study: Study) -> list[str]:
    n = study.replicates
    if n >= MIN_REPLICATES_FOR_95_PERCENT:
        return []
    missing = MIN_REPLICATES_FOR_95_PERCENT - n
    if n == 1:
        what = "1 replicate gives no interval at all"
    else:
        what = f"{n} replicates give intervals of the median with {coverage_of_range(n):.2%} coverage, not 95 %"
    return [f"{what}; {MIN_REPLICATES_FOR_95_PERCENT} are needed: add {missing}"]


def _fewer_than_the_edition(study: Study) -> list[str]:
    """For TPC-C only: microbenchmarks repeat inside a trial what their edition repeated."""
    entries = [entry for entry in study.benchmarks if entry.uses == "tpcc"]
    editions = {entry.label: EDITIONS.get(str(entry.parameters.get("edition"))) for entry in entries}
    return [
        f"{label}: {edition.name} ran each point {edition.runs} times; this plan runs it {study.replicates} times"
        for label, edition in editions.items()
        if edition is not None and edition.runs is not None and study.replicates < edition.runs
    ]


def _many_claims(study: Study, headline_metrics: int) -> list[str]:
    pairs, n = math.comb(len(study.configurations), 2), study.replicates
    claims = pairs * headline_metrics
    if claims <= claims_decidable(n):
        return []
    comparisons = counted(claims, "comparison")
    made_of = f"{counted(pairs, 'pair')} of configurations × {counted(headline_metrics, 'headline metric')}"
    most = f"{n} replicates of each can decide at most {claims_decidable(n):,} at once (Holm, 5 %)"
    needed = f"{replicates_for(claims)} replicates are needed"
    return [f"{comparisons} ({made_of}), but {most}; {needed}"]


def _equal_configurations(study: Study) -> list[str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for configuration in study.configurations:
        groups[_what_is_measured(configuration)].append(configuration.name)
    return [
        f"configurations {', '.join(names)} differ only in name or price: an A/A comparison, whose differences are "
        "noise"
        for names in groups.values()
        if len(names) > 1
    ]


def _what_is_measured(configuration: Configuration) -> str:
    return configuration.model_dump_json(exclude={"name", "price_usd_per_hour", "price_basis"})
