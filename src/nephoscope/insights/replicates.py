"""Too few replicates for the interval that a report should show."""

from collections import defaultdict

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.rows import Statistic
from nephoscope.model.words import enumeration
from nephoscope.stats.median import CONFIDENCE

NAME = "replicates"
MAX_NAMED = 8
"""With more pairs of benchmark and configuration than this, the warning counts them instead of naming them."""


def replicates(lookup: Lookup) -> list[Draft]:
    """One warning per insufficient number of replicates, naming the benchmarks and configurations concerned."""
    by_n: dict[int, list[Statistic]] = defaultdict(list)
    enough = {(row.benchmark, row.configuration) for row in lookup.study.trials if row.state == "not needed"}
    for row in lookup.headline_statistics:
        if row.more_replicates_needed and (row.benchmark, row.configuration) not in enough:
            by_n[row.n].append(row)
    return [_warning(n, rows) for n, rows in sorted(by_n.items())]


def _warning(n: int, rows: list[Statistic]) -> Draft:
    more = rows[0].more_replicates_needed
    pairs = sorted({(row.benchmark, row.configuration) for row in rows})
    many = len(pairs) > MAX_NAMED
    where = "" if many else enumeration([f"{benchmark} on {configuration}" for benchmark, configuration in pairs])
    return say(
        NAME,
        "warning",
        (
            "A single valid replicate gives no interval, so how far its value can be trusted is unknown; "
            "{more:count} more "
            if n == 1
            else "With {n:count} valid replicates, the interval shown is the range of the values and covers the median "
            "with {coverage:coverage}, not {wanted:coverage}; {more:count} more "
        )
        + plural(more, "is", "are")
        + " needed for "
        + ("{pairs:count} pairs of benchmark and configuration." if many else "{where}."),
        numbers={
            "pairs": len(pairs),
            "n": n,
            "coverage": 100 * rows[0].coverage,
            "wanted": 100 * CONFIDENCE,
            "more": more,
        },
        trials=[trial for row in rows for trial in row.trials],
        **({} if many else {"where": where}),
    )
