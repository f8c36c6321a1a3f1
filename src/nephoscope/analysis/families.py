"""Statements about families of machine types, where single types have too few runs for any.

The unit is a configuration with the median of its valid runs: n counts machine types, not runs. Types are compared only
within a block of matching types, so that differences of cloud or size are not mistaken for differences of CPUs.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

from nephoscope.analysis.cells import Metrics, declared
from nephoscope.analysis.comparisons import verdict_of
from nephoscope.analysis.configurations import configurations
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.renamed import metrics
from nephoscope.analysis.statistics import statistics
from nephoscope.analysis.table import Table
from nephoscope.model.rows import ConfigurationRow, FamilyComparison, Statistic
from nephoscope.stats.blocked import BlockedEstimate, compare_in_blocks
from nephoscope.stats.decide import ALPHA, benjamini_hochberg, relation

LARGE_OVER_SMALL = 3
"""A large type has at least this many times the vCPUs of the small one: 30 and 8, as in the 2022 report."""
SOLD = frozenset({"aws", "azure", "gcp", "other"})
"""Providers that offer machine types; a local machine has no type."""

Key = Callable[[ConfigurationRow], Hashable]


@dataclass(frozen=True)
class Question:
    """Two groups of types, and what must be equal to compare them."""

    question: str
    left: str
    right: str
    matched_by: str
    blocks: Sequence[tuple[Sequence[str], Sequence[str]]]
    """Configurations of the left and the right group, in each block that has both."""


def questions_of(configurations: Sequence[ConfigurationRow]) -> list[Question]:
    """All questions about these types: vendors, designs, each design against all others, large against small."""
    types = [row for row in configurations if row.provider in SOLD and row.machine_type and row.vcpus]
    return [*_vendors(types), *_designs(types), *_against_all(types), *_sizes(types)]


def families_of(
    configurations: Sequence[ConfigurationRow],
    statistics: Sequence[Statistic],
    metrics: Metrics,
    *,
    margin_percent: float,
    same: Mapping[tuple[str, str], str] = MappingProxyType({}),
    alpha: float = ALPHA,
) -> list[FamilyComparison]:
    """Every question for every headline metric: per vCPU where dividing means something, else as it is.

    All p-values of a study are one family, corrected by Benjamini-Hochberg. A question whose types cannot give a small
    enough p-value stays unresolved and takes no power from the others (Tarone 1990). A metric that is a constant times
    another one has no questions of its own.

    Args:
        configurations: what is known of each machine type.
        statistics: medians of each type.
        metrics: what each benchmark declares.
        margin_percent: the study's equivalence margin.
        same: benchmark and metric -> the metric of which it is a constant multiple.
        alpha: level of the verdicts.

    Returns:
        Sorted by question, benchmark, metric, left and right.
    """
    values: dict[tuple[str, str], dict[str, Statistic]] = defaultdict(dict)
    headlines = {key: metric for key, metric in declared(metrics).items() if metric.headline}
    for row in statistics:
        metric = headlines.get((row.benchmark, row.metric))
        key = (row.benchmark, row.metric)
        if metric is not None and key not in same and row.per_cpu == metric.per_cpu and row.median > 0:
            values[row.benchmark, row.metric][row.configuration] = row
    asked = [
        (question, by_name, blocks, compare_in_blocks([_values(block, by_name) for block in blocks], 1 - alpha))
        for question in questions_of(configurations)
        for _, by_name in sorted(values.items())
        if (blocks := _measured(question, by_name))
    ]
    claims = [estimate.p_value for *_, estimate in asked if estimate.smallest_p_value <= alpha]
    adjusted = iter(benjamini_hochberg(claims))
    found = [
        _row(question, by_name, blocks, estimate, p, margin_percent / 100, alpha)
        for question, by_name, blocks, estimate in asked
        for p in [next(adjusted) if estimate.smallest_p_value <= alpha else 1.0]
    ]
    return sorted(found, key=lambda row: (row.question, row.benchmark, row.metric, row.left, row.right))


Names = tuple[list[str], list[str]]


def _measured(question: Question, by_name: Mapping[str, Statistic]) -> list[Names]:
    """Its blocks, without the types that have no value of this metric."""
    blocks = [([n for n in a if n in by_name], [n for n in b if n in by_name]) for a, b in question.blocks]
    return [block for block in blocks if all(block)]


def _values(block: Names, by_name: Mapping[str, Statistic]) -> tuple[list[float], list[float]]:
    left, right = ([by_name[name].median for name in side] for side in block)
    return left, right


def matched_words(blocks: Sequence[Names]) -> list[str]:
    """'block side configuration' of each member, in the order of blocks."""
    return [
        f"{number} {word} {name}"
        for number, block in enumerate(blocks, start=1)
        for word, side in zip(("left", "right"), block, strict=True)
        for name in side
    ]


def _row(
    question: Question,
    by_name: Mapping[str, Statistic],
    blocks: Sequence[Names],
    estimate: BlockedEstimate,
    p_adjusted: float,
    margin: float,
    alpha: float,
) -> FamilyComparison:
    one, interval = next(iter(by_name.values())), estimate.interval
    said = relation(interval, p_adjusted, equivalence_margin=margin, alpha=alpha)
    names = sorted({name for block in blocks for side in block for name in side})
    return FamilyComparison(
        question=question.question,
        benchmark=one.benchmark,
        subject=one.subject,
        metric=one.metric,
        per_cpu=one.per_cpu,
        unit=one.unit,
        direction=one.direction,
        left=question.left,
        right=question.right,
        matched_by=question.matched_by,
        blocks=estimate.blocks,
        n_left=estimate.n_left,
        n_right=estimate.n_right,
        ratio=estimate.ratio,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        coverage=interval.coverage if interval else None,
        p_value=estimate.p_value,
        p_adjusted=p_adjusted,
        verdict=verdict_of(said, one.direction),
        margin_percent=100 * margin,
        configurations=names,
        matched=matched_words(blocks),
        trials=sorted({trial for name in names for trial in by_name[name].trials}),
    )


def _cloud_and_size(row: ConfigurationRow) -> Hashable:
    return row.provider, row.vcpus, row.threads_per_core


def _vendors(types: Sequence[ConfigurationRow]) -> Iterator[Question]:
    yield from _two("CPU vendor", types, ("AMD", "Intel"), lambda row: row.cpu_vendor, _cloud_and_size)


def _designs(types: Sequence[ConfigurationRow]) -> Iterator[Question]:
    designs = sorted({row.cpu_design for row in types if row.cpu_design})
    for pair in combinations(designs, 2):
        yield from _two("CPU design", types, pair, lambda row: row.cpu_design, _cloud_and_size)


def _two(
    question: str,
    types: Sequence[ConfigurationRow],
    groups: tuple[str, str],
    group_of: Callable[[ConfigurationRow], str | None],
    key: Key,
) -> Iterator[Question]:
    sides = [[row for row in types if group_of(row) == group] for group in groups]
    yield from _asked(question, groups, sides, key, "same cloud, vCPUs and threads per core")


def _against_all(types: Sequence[ConfigurationRow]) -> Iterator[Question]:
    """One design against the types of every other one, in all clouds: is it first, or last?"""
    known = [row for row in types if row.cpu_design]
    for design in sorted({str(row.cpu_design) for row in known}):
        sides = [[row for row in known if row.cpu_design == design], [row for row in known if row.cpu_design != design]]
        yield from _asked(
            "CPU design against all others",
            (design, "all other designs"),
            sides,
            lambda row: (row.vcpus, row.threads_per_core),
            "same vCPUs and threads per core, in any cloud",
        )


def _sizes(types: Sequence[ConfigurationRow]) -> Iterator[Question]:
    """The largest against the smallest type of a family with the same CPU design, by NUMA nodes of the large one."""
    families: dict[Hashable, list[ConfigurationRow]] = defaultdict(list)
    for row in types:
        if row.family and row.cpu_design:
            families[_family(row)].append(row)
    pairs = [(max(many, key=_vcpus), min(many, key=_vcpus)) for many in families.values()]
    pairs = [(large, small) for large, small in pairs if _vcpus(large) >= LARGE_OVER_SMALL * _vcpus(small)]
    for words, several in (("with one NUMA node", False), ("with several NUMA nodes", True)):
        chosen = [
            (large, small)
            for large, small in pairs
            if large.numa_nodes and small.numa_nodes == 1 and (large.numa_nodes > 1) == several
        ]
        sides = [[large for large, _ in chosen], [small for _, small in chosen]]
        labels = (f"large types {words}", "small types")
        yield from _asked("size", labels, sides, _family, "same cloud, family and CPU design")


def _vcpus(row: ConfigurationRow) -> int:
    return row.vcpus or 0


def _family(row: ConfigurationRow) -> Hashable:
    return row.provider, row.family, row.cpu_design


def _asked(
    question: str,
    labels: tuple[str, str],
    sides: Sequence[Sequence[ConfigurationRow]],
    key: Key,
    matched_by: str,
) -> Iterator[Question]:
    by_block: dict[Hashable, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate(sides):
        for row in rows:
            by_block[key(row)][side].append(row.configuration)
    blocks = [block for _, block in sorted(by_block.items(), key=lambda item: str(item[0])) if all(block)]
    if blocks:
        yield Question(question, *labels, matched_by, blocks)


FAMILY_COMPARISONS = Table(
    "family_comparisons",
    FamilyComparison,
    lambda of: families_of(
        of(configurations),
        of(statistics),
        of(metrics),
        margin_percent=of.inputs.study.equivalence_margin_percent,
        same={(cell.benchmark, cell.metric): cell.same_as for cell in of(cells) if cell.same_as is not None},
    ),
)
