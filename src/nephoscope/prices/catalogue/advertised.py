"""What providers advertise: the bandwidth of a machine type, and the I/Os per second of a volume.

`advertised.csv` has what their documentation says: a value, or one that grows with vCPUs or with the size of a volume,
between two ends. The baseline of each AWS type is in the catalogue. Rows that are "recalled" were written down from
memory: hold them against the page that they name before a report rests on them.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Literal

import polars as pl

from nephoscope.prices.catalogue.machines import types

BITS_PER_GBIT = 1e9


@dataclass(frozen=True)
class Advertised:
    """A rate that a provider names: paid for by its amount, at most this, or at least this."""

    value: float
    """In bits or I/Os per second."""
    kind: Literal["provisioned", "up to", "baseline"]


@dataclass(frozen=True)
class _Row:
    provider: str
    what: str
    item: str
    least: float
    per_unit: float
    most: float | None

    def value(self, units: float) -> float:
        return min(max(self.least, self.per_unit * units), self.most or float("inf"))


def bandwidth(provider: str, machine_type: str, vcpus: int | None) -> Advertised | None:
    """Bits per second of a machine type; None if nothing is known. `vcpus` matter where a provider counts by them."""
    row = _row(provider, "network", machine_type)
    baseline = _baselines().get((provider, machine_type))
    if row is None or (row.per_unit and vcpus is None):
        return None if baseline is None else Advertised(baseline * BITS_PER_GBIT, "baseline")
    peak = row.value(vcpus or 0)
    if baseline is not None and baseline >= peak:  # what has no better moments is sold as it is
        return Advertised(baseline * BITS_PER_GBIT, "provisioned")
    return Advertised(peak * BITS_PER_GBIT, "up to")


def volume_iops(provider: str, kind: str, size: float, provisioned: float) -> Advertised | None:
    """I/Os per second of a volume: as many as were ordered, else what its kind and size have."""
    if provisioned:
        return Advertised(provisioned, "provisioned")
    row = _row(provider, "iops", kind)
    return None if row is None else Advertised(row.value(size), "up to")


def _row(provider: str, what: str, item: str) -> _Row | None:
    """The first that fits."""
    return next(
        (one for one in _rows() if (one.provider, one.what) == (provider, what) and fnmatchcase(item, one.item)), None
    )


@cache
def _rows() -> Sequence[_Row]:
    text = resources.files("nephoscope.prices.catalogue").joinpath("advertised.csv").read_text(encoding="utf-8")
    return tuple(
        _Row(
            one["provider"],
            one["what"],
            one["item"],
            float(one["least"]),
            float(one["per_unit"]),
            float(one["most"]) if one["most"] else None,
        )
        for one in csv.DictReader(text.splitlines())
    )


@cache
def _baselines() -> dict[tuple[str, str], float]:
    """(provider, type) -> Gbit/s, where a source has it."""
    rows = types().filter(pl.col("network_gbps").is_not_null()).select("provider", "type", "network_gbps")
    return {(provider, name): gbps for provider, name, gbps in rows.iter_rows()}
