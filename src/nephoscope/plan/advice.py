"""What a plan warns of before anything starts: too few replicates, and configurations that are the same."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from nephoscope.benchmarks.database.tpcc_editions import EDITIONS
from nephoscope.model.records import PlannedTrial
from nephoscope.model.words import counted
from nephoscope.plan.cut import HasChapter, chapter_of
from nephoscope.plan.placement import one_machine_each
from nephoscope.study.model import Configuration, Study

MIN_REPLICATES_FOR_95_PERCENT = 6
"""The median of n values lies in [min, max] with probability 1 - 2 / 2^n: 93.75 % for 5, 96.88 % for 6."""

_TPCC = frozenset({"tpcc", "max-warehouses"})
"""Benchmarks that drive TPC-C."""
_COCKROACHDB_WITHOUT_TPCC = "22."
"""Versions before 23.1, which lack a function and a statement that it uses; nephoscope rejects older ones."""


def warnings_for(study: Study) -> list[str]:
    """Warnings about a study."""
    return [
        *_few_replicates(study),
        *_fewer_than_the_edition(study),
        *_equal_configurations(study),
        *one_machine_each(study),
    ]


def fails_today(trials: Sequence[PlannedTrial], benchmarks: Mapping[str, HasChapter]) -> list[str]:
    """A warning of trials that drive TPC-C on a CockroachDB which lacks what its load, run and checks need."""
    failing = 0
    chapter_by_label: dict[str, str] = {}
    chapters: dict[str, bool] = {}
    versions: set[str] = set()
    for intent in (trial.intent for trial in trials):
        use, database = intent.benchmark, intent.configuration.get("database") or {}
        version = str(database.get("version") or "")
        fails = (
            use.uses in _TPCC
            and database.get("system") == "cockroachdb"
            and version.startswith(_COCKROACHDB_WITHOUT_TPCC)
        )
        if use.name not in chapter_by_label:
            benchmark = benchmarks[use.uses]
            chapter_by_label[use.name] = chapter_of(benchmark, benchmark.parameters.model_validate(use.parameters))
        chapter = chapter_by_label[use.name]
        chapters[chapter] = chapters.get(chapter, False) or fails
        failing += fails
        versions |= {version} if fails else set()
    if not failing:
        return []
    others = " ".join(f"--only {chapter}" for chapter, fails in chapters.items() if not fails)
    instead = f"; to run the other chapters: {others}" if others else ""
    where = f"CockroachDB {', '.join(sorted(versions))}"
    return [f"TPC-C does not work on {where} yet, so {counted(failing, 'trial')} would fail{instead}"]


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
    return [
        f"{label}: {edition.name} ran each point {edition.runs} times; this plan runs it {study.replicates} times"
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
