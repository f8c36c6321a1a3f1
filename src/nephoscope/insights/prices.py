"""What to know of the prices: their age, and what data transfer adds."""

from collections.abc import Iterator, Sequence

from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.insights.names import type_name
from nephoscope.insights.words import Draft, warning
from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostRow, TransferRow
from nephoscope.model.rows import TrialRow


def price_age(lookup: Lookup) -> Iterator[Draft]:
    """One warning for all old prices that rank machines, and one for those of other contracts; each with its oldest."""
    priced = [row for row in lookup[CostRow] if row.month_usd is not None and row.age_days is not None]
    for what, ranks, so in (
        ("The prices of", True, "Rankings by cost hold only for these prices: enter newer ones to see what changes."),
        ("The prices under other terms of", False, "The answers do not use them."),
    ):
        rows = [row for row in priced if (row.basis == lookup.basis) is ranks]
        old = [(row.age_days, row) for row in rows if row.age_days is not None and row.age_days > OLD_PRICE_DAYS]
        if not old:
            continue
        days, oldest = max(old, key=lambda pair: (pair[0], pair[1].configuration))
        names = {row.configuration for _, row in old}
        yield warning(
            f"{what} {{old:count}} of {{all:counted:configuration}} were more than {{limit:limit}} days old on the day "
            f"of the study; the oldest, of {{part}} for {{name}}, is from {{date}} ({{days:count}} days). {so}",
            numbers={
                "old": len(names),
                "all": len({row.configuration for row in rows}),
                "limit": OLD_PRICE_DAYS,
                "days": days,
            },
            trials=_counting(lookup, names),
            name=oldest.configuration,
            part=type_name(oldest.configuration, oldest.oldest or "the machine"),
            date=oldest.oldest_date or oldest.date or "an unknown day",
        )


def _counting(lookup: Lookup, names: set[str]) -> list[str]:
    return [row.trial for row in lookup[TrialRow] if row.configuration in names and row.counts]


def price_doubts(lookup: Lookup) -> Iterator[Draft]:
    """One warning for all prices of another region, and one for those that another source contradicts."""
    priced = [row for row in lookup[CostRow] if row.month_usd is not None and row.basis == lookup.basis]
    far = [(row.configuration, row.price_region) for row in priced if row.price_region]
    disputed = [(row.configuration, row.disputed) for row in priced if row.disputed]
    for doubted, what in (
        (far, "are of another region, as their own has none: {name} costs what it does in"),
        (disputed, "are disputed, and neither source is known to be wrong: an hour of {name} is also listed at"),
    ):
        if not doubted:
            continue
        (name, other), names = min(doubted), {name for name, _ in doubted}
        yield warning(
            f"The prices of {{doubted:count}} of {{all:counted:configuration}} {what} {{other}}.",
            numbers={"doubted": len(names), "all": len(priced)},
            trials=_counting(lookup, names),
            name=name,
            other=other,
        )


MANY_PERCENT = 200.0
"""From here on people say 'times'."""
LARGE_SHARE = 0.05
"""Transfer is mentioned from this share of the monthly cost of machines and volumes."""


def transfer(lookup: Lookup) -> Iterator[Draft]:
    """A warning with what transfer adds to monthly costs: where the machines stood, else where they could stand."""
    months = {row.configuration: row.month_usd for row in lookup[CostRow] if row.basis == lookup.basis}
    ways = grouped(lookup[TransferRow], lambda row: (row.configuration, row.benchmark, row.way, row.stood))
    large: dict[bool, list[tuple[float, TransferRow]]] = {True: [], False: []}
    for (name, _, _, stood), rows in ways.items():
        month_usd = months.get(name)
        moved_usd = [row.month_usd for row in rows if row.month_usd is not None]
        if month_usd and len(moved_usd) == len(rows) and sum(moved_usd) >= LARGE_SHARE * month_usd:
            large[stood].append((sum(moved_usd) / month_usd, rows[0]))
    near = [row for row in lookup[TransferRow] if row.way == "same zone" or (row.stood and row.way != "none")]
    if large[True]:
        yield _added("Monthly costs leave out transfer between machines. Under load all month it", large[True], ".")
    elif large[False] and not any(row.reason_missing or row.month_usd for row in near):
        where = " if load generator and database were in different zones; within one zone it is free."
        yield _added("Under load all month, transfer", large[False], where)


def _added(what: str, rows: Sequence[tuple[float, TransferRow]], where: str) -> Draft:
    share = max(share for share, _ in rows)
    added = "{most:percent} of" if 100 * share < MANY_PERCENT else "{times:statistic} times"
    return warning(
        f"{what} would add up to {added} the monthly cost of machines and volumes{where}",
        numbers={"most": 100 * share, "times": share},
        trials=[trial for _, row in rows for trial in row.trials],
    )
