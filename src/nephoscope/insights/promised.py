"""Whether a volume delivered, second by second, the rate that it was sold with: a sentence for each job."""

from collections.abc import Iterator

from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.analysis.promised import PromisedRow
from nephoscope.insights.words import Draft, note
from nephoscope.model.numbers import Number
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.stats.shortfalls import LEAST


def promised(lookup: Lookup) -> Iterator[Draft]:
    """A note for each job of a configuration that was watched, of the trial that lacked most."""
    groups = grouped(lookup[PromisedRow], lambda row: (row.configuration, row.benchmark, row.metric))
    yield from (_sentence(max(rows, key=lambda row: row.lacking_share), len(rows)) for rows in groups.values())


def _sentence(row: PromisedRow, trials: int) -> Draft:
    numbers: dict[str, Number] = {
        "least": 100 * LEAST,
        "sold": row.promised_iops,
        "share": 100 * row.share_at_least,
        "watched": row.watched_s / SECONDS_PER_HOUR,
    }
    worst = "" if trials == 1 else ", the worst of {trials:count} trials"
    template = (
        "{configuration} delivered at least {least:percent} of the promised {sold:limit} IO/s in {share:percent} of "
        f"{{watched:hours}} ({{job}}{worst})"
    )
    if trials > 1:
        numbers["trials"] = trials
    if row.shortfalls:
        numbers["longest"] = row.longest_s / SECONDS_PER_HOUR
        times = "once, for"
        if len(row.shortfalls) > 1:
            numbers["times"] = len(row.shortfalls)
            times = "{times:count} times, the longest for"
        template += f": it fell short {times} {{longest:hours}}"
    template += "."
    if row.throttled_after_s is not None:
        numbers["throttled"] = row.throttled_after_s / SECONDS_PER_HOUR
        template += " It was throttled after {throttled:hours}, to the end."
    if row.shortfalls and row.lacking_usd is not None:
        numbers |= {"lacking": 100 * row.lacking_share, "usd": row.lacking_usd}
        template += " What was lacking, {lacking:percent} of the I/Os, is {usd:money} of the volume's month."
    return note(
        template,
        numbers=numbers,
        trials=[row.trial],
        benchmark=row.benchmark,
        configuration=row.configuration,
        job=row.metric.removesuffix(".iops"),
    )
