"""Prices that were old on the day of the study; they may no longer hold."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import plural, say
from nephoscope.model.price_rows import OLD_PRICE_DAYS
from nephoscope.model.rows import Insight

NAME = "price_age"


def price_age(findings: Findings) -> list[Insight]:
    """One warning for all old prices, with the oldest."""
    aged = [(row.age_days, row) for row in findings.costs if row.month_usd is not None and row.age_days is not None]
    old = [(days, row) for days, row in aged if days > OLD_PRICE_DAYS]
    if not old:
        return []
    days, oldest = max(old, key=lambda pair: (pair[0], pair[1].configuration))
    names = {row.configuration for _, row in old}
    return [
        say(
            NAME,
            "warning",
            "The prices of {old:count} of {all:count} "
            + plural(len({row.configuration for _, row in aged}), "configuration")
            + " were more than {limit:limit} days old on the day of the study; the oldest, for {name}, is from {date} "
            "({days:count} days). Rankings by cost hold only for these prices: enter newer ones to see what "
            "changes.",
            numbers={
                "old": len(names),
                "all": len({row.configuration for _, row in aged}),
                "limit": OLD_PRICE_DAYS,
                "days": days,
            },
            trials=[row.trial for row in findings.trials if row.configuration in names and row.counts],
            name=oldest.configuration,
            date=oldest.date or "an unknown day",
        )
    ]
