"""What depends on no parameter is declared as data, in tables beside this file: metrics, and published methods."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from nephoscope.model.records import Metric


@cache
def declared(file: str) -> Mapping[str, Any]:
    """A table in TOML."""
    return tomllib.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))


def declared_metrics(group: str) -> Mapping[str, Metric]:
    """Name -> metric, of one group of `metrics.toml`."""
    return {name: _metric(name, **row) for name, row in declared("metrics.toml")[group].items()}


def _metric(name: str, *, lower: bool = False, **row: Any) -> Metric:
    return (Metric.lower if lower else Metric.higher)(name, **row)
