"""Is high-performance storage worth its price on the same machine, and where do volumes dominate the bill?"""

from nephoscope.insights.base import Findings
from nephoscope.insights.pairs import INTERVAL, oriented
from nephoscope.insights.words import enumeration, percent_range, plural, say
from nephoscope.model.rows import Comparison, ComparisonVerdict, CostRow, Insight, PriceComparison

NAME = "storage"
HIGH_PERFORMANCE = ("io1", "io2", "pd-extreme", "hyperdisk-extreme", "Ultra Disk")
"""Kinds that are sold for their IOPS; all others in the price book are general-purpose."""
LARGE_SHARE = 0.25
"""Volumes are mentioned from this share of the monthly cost: then a discount on machines helps little."""


def storage(findings: Findings) -> list[Insight]:
    """A sentence per pair of equal machines on both classes of storage, and one about large shares of volumes."""
    return [*_worth_it(findings), *_shares(findings)]


def _worth_it(findings: Findings) -> list[Insight]:
    kinds = {
        (line.configuration, line.basis): line.what.removesuffix(" size")
        for line in findings.cost_lines
        if line.what.endswith(" size")
    }
    costs = {(row.configuration, row.basis): row for row in findings.costs}
    plain = {(row.benchmark, row.metric, row.left, row.right): row for row in findings.comparisons if not row.per_cpu}
    told: list[Insight] = []
    for row in findings.price_comparisons:
        left, right = (row.left, row.basis), (row.right, row.basis)
        if left not in kinds or right not in kinds or not _same_machine(costs[left], costs[right]):
            continue
        high = [name for name, _ in (left, right) if kinds[name, row.basis] in HIGH_PERFORMANCE]
        if len(high) == 1:
            other = row.right if high[0] == row.left else row.left
            performance = plain[row.benchmark, row.metric, row.left, row.right]
            words = {"fast": kinds[high[0], row.basis], "plain": kinds[other, row.basis]}
            told.append(_sentence(findings, row, performance, high[0], words))
    return told


def _same_machine(left: CostRow, right: CostRow) -> bool:
    return (left.provider, left.region, left.machine_type) == (right.provider, right.region, right.machine_type)


_ENDINGS = {
    ComparisonVerdict.BETTER: "it is worth its price.",
    ComparisonVerdict.WORSE: "it is not worth its price.",
    ComparisonVerdict.TIE: "it gives as much per dollar.",
    ComparisonVerdict.UNRESOLVED: "whether it is worth its price is unresolved.",
}


def _sentence(
    findings: Findings, row: PriceComparison, performance: Comparison, high: str, words: dict[str, str]
) -> Insight:
    dollars, speed = oriented(row, high), oriented(performance, high)
    numbers = dollars.numbers | {"speed": speed.numbers["ratio"]}
    interval = INTERVAL if "low" in numbers else "no interval, n = {n_first:count} and {n_second:count}"
    return say(
        NAME,
        "answer",
        "{benchmark_name}, {basis} prices: {first} (on {fast}) has {speed:ratio} \N{MULTIPLICATION SIGN} the {title} "
        "of {second} (on {plain}, same machine; {speed_verdict}), and {ratio:ratio} \N{MULTIPLICATION SIGN} per dollar "
        "(" + interval + "): " + _ENDINGS[dollars.verdict],
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        benchmark_name=row.benchmark,
        basis=row.basis,
        first=dollars.first,
        second=dollars.second,
        title=findings.title(row.benchmark, row.metric),
        speed_verdict=speed.verdict.value,
        **words,
    )


def _shares(findings: Findings) -> list[Insight]:
    """One note per price basis; a share comes from prices, not from measurements, so it has no verdict."""
    by_basis: dict[str, list[CostRow]] = {}
    for row in findings.costs:
        if row.storage_share is not None and row.storage_share >= LARGE_SHARE:
            by_basis.setdefault(row.basis, []).append(row)
    notes = []
    for basis, rows in sorted(by_basis.items()):
        shares = [100 * row.storage_share for row in rows if row.storage_share is not None]
        names = {row.configuration for row in rows}
        numbers = {"least": min(shares), "most": max(shares), "count": len(rows), "limit": 100 * LARGE_SHARE}
        notes.append(
            say(
                NAME,
                "note",
                "{basis} prices: volumes make up "
                + percent_range("least", "most", numbers)
                + " of the monthly cost of {count:count} "
                + plural(len(rows), "configuration")
                + " (listed from {limit:limit} % up): {names}.",
                numbers=numbers,
                trials=[row.trial for row in findings.trials if row.configuration in names and row.counts],
                basis=basis,
                names=enumeration(sorted(names)),
            )
        )
    return notes
