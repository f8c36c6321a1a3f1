"""Prices that were old on the day of the study; they may no longer hold."""

from collections.abc import Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostRow

NAME = "price_age"


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
            NAME,
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
