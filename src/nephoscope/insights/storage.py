"""Is high-performance storage worth its price on the same machine, and where do volumes dominate the bill?"""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights import contrasts
from nephoscope.insights.words import Draft, percent_range, plural, say
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import ContrastRow
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.model.storage_classes import HIGH, storage_class
from nephoscope.model.words import enumeration

NAME = "storage"
KIND = "volume kind"
"""The question about it."""
LARGE_SHARE = 0.25
"""Volumes are mentioned from this share of the monthly cost: then a discount on machines helps little."""


def storage(lookup: Lookup) -> list[Draft]:
    """A sentence per contrast of both classes of storage and price basis, and one about large shares of volumes."""
    return [*_worth_it(lookup), *_shares(lookup)]


def _worth_it(lookup: Lookup) -> list[Draft]:
    rows = [row for row in map(_high_first, lookup.study.contrasts) if row is not None]
    plain = {(row.benchmark, row.metric, row.left, row.right): row.ratio for row in rows if row.view == "plain"}
    return [
        contrasts.sentence(
            lookup,
            row,
            NAME,
            _ENDINGS.get(row.verdict),
            as_measured=plain.get((row.benchmark, row.metric, row.left, row.right)),
        )
        for row in rows
        if row.view == "per dollar"
    ]


def _high_first(row: ContrastRow) -> ContrastRow | None:
    """The contrast with the high-performance kind on the left; None if it is about something else."""
    high = [storage_class(kind) == HIGH for kind in (row.left, row.right)]
    if row.question != KIND or high.count(True) != 1:
        return None
    return row if high[0] else row.mirrored()


_ENDINGS = {
    ComparisonVerdict.BETTER: ": it is worth its price.",
    ComparisonVerdict.WORSE: ": it is not worth its price.",
}


def _shares(lookup: Lookup) -> list[Draft]:
    """One note per price basis; a share comes from prices, not from measurements, so it has no verdict."""
    by_basis: dict[str, list[CostRow]] = {}
    for row in lookup.study.costs:
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
                trials=[row.trial for row in lookup.study.trials if row.configuration in names and row.counts],
                basis=basis,
                names=enumeration(sorted(names)),
            )
        )
    return notes
