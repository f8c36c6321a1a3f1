"""Which configuration costs least for what it does on each price basis, and whether that is certain."""

from nephoscope.insights.base import Findings
from nephoscope.insights.bests import told
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import interval_of_one, say
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.priced_quantity import priced_quantity
from nephoscope.model.rows import Insight

NAME = "price_leaders"


def price_leaders(findings: Findings) -> list[Insight]:
    """One sentence for each leaderboard of costs with at least two configurations."""
    boards: dict[tuple[str, str, str], list[PricePerformance]] = {}
    for row in findings.price_performance:
        boards.setdefault((row.benchmark, row.metric, row.basis), []).append(row)
    return [_sentence(findings, rows) for _, rows in sorted(boards.items()) if len(rows) > 1]


def _sentence(findings: Findings, rows: list[PricePerformance]) -> Insight:
    best = min(rows, key=lambda row: (row.usd_per_unit, row.configuration))
    row = findings.best_of(best.benchmark, best.metric, view="per dollar", basis=best.basis)
    sold = priced_quantity(
        best.unit, min(row.usd_per_unit for row in findings.price_performance if row.unit == best.unit)
    )
    numbers: dict[str, float] = {
        "usd": sold.size * best.usd_per_unit,
        "quantity": sold.count,
        "month": best.month_usd,
        "low": sold.size * best.low,
        "high": sold.size * best.high,
        "coverage": 100 * best.coverage,
        "n": best.n,
    }
    certainty, words, delivered = "", {}, ""
    if row is not None:
        answer = told(row, best="lowest cost of {title}")
        certainty, words = f" {answer.template[0].upper()}{answer.template[1:]}", answer.words
        numbers |= answer.numbers
        delivered = "as delivered " if row.reason else ""
    insight = say(
        NAME,
        "answer",
        f"{{benchmark_name}}, {{basis}} prices: {delivered}"
        "{name} costs least for its {title}: ${usd:money} a month per "
        + ("{quantity:count}{unit} (" if sold.needs_count else "{unit} (")
        + interval_of_one(best.n, "exact_money", sign="$")
        + "; price from {date})."
        + certainty,
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=best.benchmark,
        benchmark_name=best.benchmark,
        basis=best.basis,
        name=best.configuration,
        title=findings.title(best.benchmark, best.metric),
        unit=sold.suffix if sold.needs_count else sold.suffix.strip(),
        date=best.date or "the study",
        **words,
    )
    return cautioned(insight, findings)
