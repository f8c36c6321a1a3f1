"""What a plan warns of before anything starts: too few replicates, and configurations that are the same."""

from collections import defaultdict

from nephoscope.benchmarks.database.tpcc_editions import EDITIONS
from nephoscope.study.model import Configuration, Study

MIN_REPLICATES_FOR_95_PERCENT = 6
"""The median of n values lies in [min, max] with probability 1 - 2 / 2^n: 93.75 % for 5, 96.88 % for 6."""


def warnings_for(study: Study) -> list[str]:
    """Warnings about a study."""
    return [
        *_few_replicates(study),
        *_fewer_than_the_edition(study),
        *_equal_configurations(study),
    ]


def coverage_of_range(n: int) -> float:
    """Probability that the population's median lies between the smallest and the largest of n values."""
    return 1 - 2 * 0.5**n


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
    times = "once" if study.replicates == 1 else f"{study.replicates} times"
    return [
        f"{label}: {edition.name} ran each point {edition.runs} times; this plan runs it {times}"
        for label, edition in editions.items()
        if edition is not None and edition.runs is not None and study.replicates < edition.runs
    ]


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
    return configuration.model_dump_json(exclude={"name", "labels", "price_usd_per_hour", "price_basis"})
