"""Who gives most for a dollar, under each basis of prices, and whether that is certain."""

from collections.abc import Mapping

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, interval_of_one, plural, say
from nephoscope.model.rows import Insight, PricePerformance, RankRow
from nephoscope.model.units import MIB

NAME = "price_leaders"
_LARGER = {"bit/s": (1e9, "Gbit/s"), "B/s": (float(MIB), "MiB/s")}
"""Units of which one costs next to nothing, and the ones that people name."""


def price_leaders(findings: Findings) -> list[Insight]:
    """One sentence for each leaderboard per dollar with at least two configurations."""
    boards: dict[tuple[str, str, str], list[PricePerformance]] = {}
    for row in findings.price_performance:
        boards.setdefault((row.benchmark, row.metric, row.basis), []).append(row)
    ranks = {(row.benchmark, row.metric, row.basis, row.configuration): row for row in findings.ranks}
    return [_sentence(findings, rows, ranks) for _, rows in sorted(boards.items()) if len(rows) > 1]


def _sentence(
    findings: Findings,
    rows: list[PricePerformance],
    ranks: Mapping[tuple[str, str, str | None, str], RankRow],
) -> Insight:
    best = min(rows, key=lambda row: (row.usd_per_unit, row.configuration))
    rank = ranks[best.benchmark, best.metric, best.basis, best.configuration]
    many, unit = _LARGER.get(best.unit, (1.0, best.unit))
    numbers: dict[str, float] = {
        "usd": many * best.usd_per_unit,
        "month": best.month_usd,
        "low": many * best.low,
        "high": many * best.high,
        "coverage": 100 * best.coverage,
        "n": best.n,
        "all": len(rows),
    }
    return say(
        NAME,
        "answer",
        "{benchmark_name}, {basis} prices: {name} costs least for its {title}: ${usd:money} a month for {unit} ("
        + interval_of_one(best.n, "money", sign="$")
        + "; the price is of {date}). "
        + _certainty(best.n, rank, numbers),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=best.benchmark,
        benchmark_name=best.benchmark,
        basis=best.basis,
        name=best.configuration,
        title=findings.title(best.benchmark, best.metric),
        unit="one a second" if unit == "1/s" else f"one {unit}",
        date=best.date or "the study",
        tied=enumeration(rank.ties),
    )


def _certainty(n: int, rank: RankRow, numbers: dict[str, float]) -> str:
    """What is known of the first place, by the verdicts corrected within the basis."""
    if rank.last == 1:
        return "It is certainly the first of {all:count}."
    if n == 1:
        return "Of one run each no place among the {all:count} is certain."
    numbers["last"] = rank.last
    ties = " It is a tie with {tied}." if rank.ties else ""
    if rank.of == rank.last:
        return "Whether it is the first is unresolved: none of the {all:count} is certainly worse." + ties
    numbers["beaten"] = rank.of - rank.last
    return (
        "Whether it is the first is unresolved: it is certainly better than {beaten:count} "
        + plural(rank.of - rank.last, "other")
        + " of {all:count}."
        + ties
    )
