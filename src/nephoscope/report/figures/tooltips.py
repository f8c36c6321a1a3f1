"""The fields of a tooltip, which all charts show in the same order, under the same names and in the same formats."""

from collections.abc import Iterable
from typing import Any

TITLES = {
    "configuration": "configuration",
    "provider": "provider",
    "processor": "processor",
    "machine": "machine type",
    "compared": "ratio of",
    "left": "left",
    "right": "right",
    "group": "group",
    "family": "family",
    "size": "size",
    "job": "job",
    "operation": "operation",
    "percentile": "percentile",
    "part": "part",
    "series": "shown",
    "at": "measured at",
    "at_text": "measured at",
    "machines": "machines",
    "warehouses": "active warehouses",
    "offered": "offered",
    "level": "level",
    "s": "second",
    "range_text": "range",
    "price_text": "price",
    "text": "value",
    "value": "value",
    "v": "value",
    "level_text": "level",
    "ratio_text": "ratio",
    "interval_text": "interval",
    "low_text": "slowest second",
    "middle_text": "median second",
    "high_text": "fastest second",
    "shortest_text": "shortest",
    "longest_text": "p99",
    "memory_text": "memory",
    "cv_text": "spread (CV)",
    "per_dollar_text": "costs",
    "coverage_text": "coverage",
    "n": "valid replicates",
    "count": "count",
    "verdict": "left is",
    "verdict_text": "verdict",
    "passed_text": "the rule",
    "front_text": "front",
    "position": "position",
    "block": "block",
    "trial": "trial",
    "counts_text": "valid",
    "why": "why not",
}
"""Field of the chart's data -> how a tooltip names it, in the order of a tooltip."""
NUMBER = ",.4~r"
_ORDER = list(TITLES)


def aligned(fields: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fields of a tooltip in the order of `TITLES`; a field that is not there keeps its title and comes last."""
    found = [_told(field) for field in fields]
    return sorted(found, key=lambda field: _ORDER.index(field["field"]) if field["field"] in TITLES else len(_ORDER))


def _told(field: dict[str, Any]) -> dict[str, Any]:
    title = TITLES.get(field["field"], field.get("title", field["field"]))
    number = {"format": NUMBER} if field.get("type") == "quantitative" else {}
    return {"field": field["field"], "type": field.get("type", "nominal"), "title": title, **number}
