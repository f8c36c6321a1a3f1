"""What to know of the prices: their age, and what data transfer adds."""

from collections import defaultdict
from collections.abc import Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, percent_range, plural, say
from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostRow, TransferRow
from nephoscope.model.words import enumeration


def price_age(lookup: Lookup) -> list[Draft]:
    """One warning for all old prices that rank machines, and one for those of other contracts; each with its oldest."""
    priced = [row for row in lookup.study.costs if row.month_usd is not None and row.age_days is not None]
    return [
        *_old(
            lookup,
            [row for row in priced if row.basis == lookup.basis],
            "The prices of",
            "Rankings by cost hold only for these prices: enter newer ones to see what changes.",
        ),
        *_old(
            lookup,
            [row for row in priced if row.basis != lookup.basis],
            "Prices under other terms, of",
            "Rankings by {basis} prices do not use them.",
        ),
    ]


def _old(lookup: Lookup, priced: Sequence[CostRow], what: str, so: str) -> list[Draft]:
    old = [(row.age_days, row) for row in priced if row.age_days is not None and row.age_days > OLD_PRICE_DAYS]
    if not old:
        return []
    days, oldest = max(old, key=lambda pair: (pair[0], pair[1].configuration))
    names = {row.configuration for _, row in old}
    return [
        say(
            "price_age",
            "warning",
            what
            + " {old:count} of {all:count} "
            + plural(len({row.configuration for row in priced}), "configuration")
            + " were more than {limit:limit} days old on the day of the study; the oldest, for {name}, is from {date} "
            "({days:count} days). " + so,
            numbers={
                "old": len(names),
                "all": len({row.configuration for row in priced}),
                "limit": OLD_PRICE_DAYS,
                "days": days,
            },
            trials=[row.trial for row in lookup.study.trials if row.configuration in names and row.counts],
            name=oldest.configuration,
            date=oldest.date or "an unknown day",
            basis=lookup.basis or "other",
        )
    ]


LARGE_SHARE = 0.05
"""Transfer is mentioned from this share of the monthly cost of machines and volumes."""


def transfer(lookup: Lookup) -> list[Draft]:
    """One note for each benchmark and path on which transfer costs much."""
    months = {row.configuration: row.month_usd for row in lookup.study.costs if row.basis == lookup.basis}
    large: dict[tuple[str, str, bool], list[tuple[float, TransferRow]]] = defaultdict(list)
    for (name, benchmark, way, stood), rows in _by_way(lookup.study.transfers).items():
        month_usd = months.get(name)
        moved_usd = [row.month_usd for row in rows if row.month_usd is not None]
        if month_usd and len(moved_usd) == len(rows) and sum(moved_usd) >= LARGE_SHARE * month_usd:
            large[benchmark, way, stood].append((sum(moved_usd) / month_usd, rows[0]))
    return [_sentence(*key, rows, basis=lookup.basis or "") for key, rows in sorted(large.items())]


def _by_way(transfers: Sequence[TransferRow]) -> dict[tuple[str, str, str, bool], list[TransferRow]]:
    found: dict[tuple[str, str, str, bool], list[TransferRow]] = defaultdict(list)
    for row in transfers:
        found[row.configuration, row.benchmark, row.way, row.stood].append(row)
    return found


def _sentence(benchmark: str, way: str, stood: bool, rows: list[tuple[float, TransferRow]], *, basis: str) -> Draft:
    shares = [100 * share for share, _ in rows]
    names = [row.configuration for _, row in rows]
    beginning = "transfer {way} would add " if stood else "with machines {way}, transfer would add "
    least, most = ("least", "most") if stood else ("least_elsewhere", "most_elsewhere")
    numbers = {least: min(shares), most: max(shares), "count": len(rows), "limit": 100 * LARGE_SHARE}
    return say(
        "transfer",
        "note",
        "{benchmark_name}, {basis} prices: if the load ran all month, "
        + beginning
        + percent_range(least, most, numbers)
        + " to the monthly cost of {count:count} "
        + plural(len(rows), "configuration")
        + " (listed from {limit:limit} % up): {names}.",
        numbers=numbers,
        trials=[trial for _, row in rows for trial in row.trials],
        benchmark=benchmark,
        case="stood" if stood else "",
        basis=basis,
        way=way,
        names=enumeration(sorted(names)),
    )
