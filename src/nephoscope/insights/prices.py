"""What to know of the prices: their age, and what data transfer adds."""

from collections import defaultdict
from collections.abc import Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostRow, TransferRow
from nephoscope.model.rows import TrialRow


def price_age(lookup: Lookup) -> list[Draft]:
    """One warning for all old prices that rank machines, and one for those of other contracts; each with its oldest."""
    priced = [row for row in lookup[CostRow] if row.month_usd is not None and row.age_days is not None]
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
            "The prices under other terms of",
            "The answers do not use them.",
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
            trials=[row.trial for row in lookup[TrialRow] if row.configuration in names and row.counts],
            name=oldest.configuration,
            date=oldest.date or "an unknown day",
        )
    ]


_FAR = "are of another region, as their own has none: {name} costs what it does in"
_DISPUTED = "are disputed, and neither source is known to be wrong: an hour of {name} is also listed at"


def price_doubts(lookup: Lookup) -> list[Draft]:
    """One warning for all prices of another region, and one for those that another source contradicts."""
    priced = [row for row in lookup[CostRow] if row.month_usd is not None and row.basis == lookup.basis]
    far = [(row.configuration, row.price_region) for row in priced if row.price_region]
    disputed = [(row.configuration, row.disputed) for row in priced if row.disputed]
    return [
        *_doubted(lookup, far, len(priced), _FAR),
        *_doubted(lookup, disputed, len(priced), _DISPUTED),
    ]


def _doubted(lookup: Lookup, doubted: Sequence[tuple[str, str]], priced: int, what: str) -> list[Draft]:
    if not doubted:
        return []
    (name, other), names = min(doubted), {name for name, _ in doubted}
    return [
        say(
            "price_doubts",
            "warning",
            "The prices of {doubted:count} of {all:count} " + plural(priced, "configuration") + f" {what} {{other}}.",
            numbers={"doubted": len(names), "all": priced},
            trials=[row.trial for row in lookup[TrialRow] if row.configuration in names and row.counts],
            name=name,
            other=other,
        )
    ]


MANY_PERCENT = 200.0
"""From here on people say 'times'."""
LARGE_SHARE = 0.05
"""Transfer is mentioned from this share of the monthly cost of machines and volumes."""


def transfer(lookup: Lookup) -> list[Draft]:
    """A warning with what transfer adds to monthly costs: where the machines stood, else where they could stand."""
    months = {row.configuration: row.month_usd for row in lookup[CostRow] if row.basis == lookup.basis}
    large: dict[bool, list[tuple[float, TransferRow]]] = {True: [], False: []}
    for (name, _, _, stood), rows in _by_way(lookup[TransferRow]).items():
        month_usd = months.get(name)
        moved_usd = [row.month_usd for row in rows if row.month_usd is not None]
        if month_usd and len(moved_usd) == len(rows) and sum(moved_usd) >= LARGE_SHARE * month_usd:
            large[stood].append((sum(moved_usd) / month_usd, rows[0]))
    if large[True]:
        return [_added("Monthly costs leave out transfer between machines. Under load all month it", large[True], ".")]
    near = [row for row in lookup[TransferRow] if row.way == "same zone" or (row.stood and row.way != "none")]
    if not large[False] or any(row.reason_missing or row.month_usd for row in near):
        return []
    where = " if load generator and database were in different zones; within one zone it is free."
    return [_added("Under load all month, transfer", large[False], where)]


def _added(what: str, rows: Sequence[tuple[float, TransferRow]], where: str) -> Draft:
    share = max(share for share, _ in rows)
    added = "{most:percent} of" if 100 * share < MANY_PERCENT else "{times:statistic} times"
    return say(
        "transfer",
        "warning",
        f"{what} would add up to {added} the monthly cost of machines and volumes{where}",
        numbers={"most": 100 * share, "times": share},
        trials=[trial for _, row in rows for trial in row.trials],
    )


def _by_way(transfers: Sequence[TransferRow]) -> dict[tuple[str, str, str, bool], list[TransferRow]]:
    found: dict[tuple[str, str, str, bool], list[TransferRow]] = defaultdict(list)
    for row in transfers:
        found[row.configuration, row.benchmark, row.way, row.stood].append(row)
    return found
