"""Which configuration gives most per dollar on each price basis, and whether that is certain."""

from collections.abc import Mapping

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, interval_of_one, say
from nephoscope.model.priced_quantity import priced_quantity
from nephoscope.model.rows import Insight, PricePerformance, RankRow

NAME = "price_leaders"


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
    sold = priced_quantity(best.unit, best.usd_per_unit)
    numbers: dict[str, float] = {
        "usd": sold.size * best.usd_per_unit,
        "quantity": sold.count,
        "month": best.month_usd,
        "low": sold.size * best.low,
        "high": sold.size * best.high,
        "coverage": 100 * best.coverage,
        "n": best.n,
        "all": len(rows),
    }
    return say(
        NAME,
        "answer",
        "{benchmark_name}, {basis} prices: {name} costs least for its {title}: ${usd:money} a month per "
        + ("{quantity:count}{unit} (" if sold.needs_count else "{unit} (")
        + interval_of_one(best.n, "exact_money", sign="$")
        + "; price from {date}). "
        + _certainty(best.n, rank, numbers),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=best.benchmark,
        benchmark_name=best.benchmark,
        basis=best.basis,
        name=best.configuration,
        title=findings.title(best.benchmark, best.metric),
        unit=sold.suffix if sold.needs_count else sold.suffix.strip(),
        date=best.date or "the study",
        tied=enumeration(rank.ties),
    )


def _certainty(n: int, rank: RankRow, numbers: dict[str, float]) -> str:
    """How certain the first rank is, by the verdicts corrected within the price basis."""
    if rank.last == 1:
        return "It is certainly the first of {all:count}."
    if n == 1:
        return "It was measured once, so a repeat may change the order of the {all:count}."
    numbers["last"] = rank.last
    ties = " It ties with {tied}." if rank.ties else ""
    if rank.of == rank.last:
        return "Whether it really is first is unresolved: none of the {all:count} is certainly worse." + ties
    numbers["beaten"] = rank.of - rank.last
    return (
        "Whether it really is first is unresolved: it is certainly better than {beaten:count} of the {all:count}."
        + ties
    )
