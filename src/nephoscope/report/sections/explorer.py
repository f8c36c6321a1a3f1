"""The data of the interactive part of the page: replicates, prices and filters.

Nothing is computed here. `explorer.js` repeats the statistics of the report with the reader's own prices; a test
compares its answers with the stored ones.
"""

from typing import Any

from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.report.lookup import Lookup, headlines, unique
from nephoscope.report.wording import metric_title


def explorer_data(lookup: Lookup) -> dict[str, Any] | None:
    """None when no trial is valid: then there is nothing to rank."""
    boards = [board for row in lookup.study.benchmarks for m in headlines(row) if (board := _board(lookup, row, m))]
    if not boards:
        return None
    ranked = unique(name for board in boards for name in board["values"])
    return {
        "margin": lookup.study.equivalence_margin_percent / 100,
        "alpha": lookup.study.levels.alpha,
        "confidence": lookup.study.levels.confidence,
        "exactPairs": lookup.study.levels.exact_pairs,
        "bases": unique(row.basis for row in lookup.study.costs),
        "configurations": [_configuration(lookup, name) for name in lookup.configurations if name in ranked],
        "boards": boards,
    }


def _board(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> dict[str, Any] | None:
    values: dict[str, list[list[float | int | None]]] = {}
    for found in lookup.values.get((row.benchmark, metric.name), []):
        trial = lookup.trials.get(found.trial)
        if found.valid and trial is not None:
            values.setdefault(found.configuration, []).append([found.value, trial.cpus])
    if not values:
        return None
    scale = lookup.scale(row.benchmark, metric)
    return {
        "benchmark": row.benchmark,
        "metric": metric.name,
        "title": metric_title(metric),
        "unit": scale.unit or "no unit",
        "divisor": scale.divisor,
        "decimals": scale.decimals,
        "higher": metric.direction is Direction.HIGHER,
        "perCpu": metric.per_cpu,
        "headline": metric.headline,
        "values": values,
    }


def _configuration(lookup: Lookup, name: str) -> dict[str, Any]:
    rows = lookup.costs.get(name, [])
    first = rows[0] if rows else None
    return {
        "name": name,
        "provider": first.provider if first else None,
        "family": first.family if first else None,
        "vcpus": lookup.cpus.get(name) or (first.vcpus if first else None),
        "type": first.machine_type if first else None,
        "prices": {row.basis: _price(row) for row in rows},
    }


def _price(row: CostRow) -> dict[str, Any]:
    """`volumes` is the monthly cost of one machine's volumes; None when one of them has no price."""
    volumes: float | None = 0.0
    if row.machine_month_usd is not None and row.storage_share is not None:
        volumes = row.machine_month_usd * row.storage_share
    elif row.usd_per_hour is not None and row.machine_month_usd is None:
        volumes = None
    return {
        "rate": row.usd_per_hour,
        "month": row.month_usd,
        "volumes": volumes,
        "hours": row.hours,
        "machines": max(1, row.machines),
        "terms": row.terms,
        "source": row.source,
        "date": row.date,
        "age": row.age_days,
        "missing": row.reason_missing,
    }
