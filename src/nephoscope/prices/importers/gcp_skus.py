"""GCP SKU JSON (Cloud Billing Catalog, `services/.../skus`): one page, or a list of pages.

GCP sells vCPUs and memory, not machine types: a machine row here is one of the two, by the vCPU-hour or the GiB-hour.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from nephoscope.prices.importers.base import Imported, Origin, read_json, says_free, shape_of
from nephoscope.prices.rows import Basis, Kind, Unit

_SHAPE = "GCP SKU JSON: an object with 'skus', or a list of such objects"
_BASES = {
    "OnDemand": Basis.ON_DEMAND,
    "Preemptible": Basis.SPOT,
    "Commit1Yr": Basis.RESERVED_1Y,
    "Commit3Yr": Basis.RESERVED_3Y,
}
_KINDS = {"Compute": Kind.MACHINE, "Storage": Kind.STORAGE, "Network": Kind.TRANSFER}
_UNITS = {
    (Kind.MACHINE, "h"): Unit.VCPU_HOUR,
    (Kind.MACHINE, "GiBy.h"): Unit.GIB_HOUR,
    (Kind.STORAGE, "GiBy.mo"): Unit.GIB_MONTH,
    (Kind.TRANSFER, "GiBy"): Unit.GIB,
}
_PLACE = re.compile(r"(?: running)? in [A-Z].*$")
_NANOS_PER_UNIT = 1_000_000_000


def read(path: Path, origin: Origin) -> Imported:
    """The rows of a file.

    Raises:
        InputError: it is damaged or of another shape.
    """
    content = read_json(path)
    found = Imported()
    with shape_of(path, _SHAPE):
        for page in content if isinstance(content, list) else [content]:
            for sku in page["skus"]:
                _sku(found, origin, sku)
    return found


def _sku(found: Imported, origin: Origin, sku: Mapping[str, Any]) -> None:
    category, description = sku["category"], sku["description"]
    pricing = sku["pricingInfo"][-1]
    expression = pricing["pricingExpression"]
    kind, basis = _KINDS.get(category["resourceFamily"]), _BASES.get(category["usageType"])
    unit = _UNITS.get((kind, expression["usageUnit"])) if kind else None
    if kind is None or basis is None or unit is None:
        found.skip(f"{category['resourceFamily']}, {category['usageType']}, by the {expression['usageUnit']}")
    elif unit is Unit.VCPU_HOUR and not re.search(r"\b(?:Core|Cpu|CPU|VCPU)\b", description):
        found.skip("sold by the hour, but not a vCPU")
    else:
        values = {
            "provider": "gcp",
            "kind": kind,
            "item": _PLACE.sub("", description.removeprefix("Preemptible ").removeprefix("Spot Preemptible ")),
            "unit": unit,
            "basis": basis,
            "starts": pricing.get("effectiveTime"),
            "note": description,
        }
        tiers = list(_tiers(expression["tieredRates"]))
        # An allowance before a price is free; 0 alone may be a SKU that is not sold.
        free = says_free(description) or any(tier["usd"] for tier in tiers)
        for region in sku["serviceRegions"]:
            for tier in tiers:
                found.add(origin, region="any" if region == "global" else region, free=free, **values, **tier)


def _tiers(rates: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    starts: list[float | None] = [float(rate["startUsageAmount"]) for rate in rates]
    for rate, (start, end) in zip(rates, pairwise([*starts, None]), strict=True):
        price = rate["unitPrice"]
        if price["currencyCode"] != "USD":
            raise ValueError(f"price in {price['currencyCode']}, not in USD")
        yield {"above": start, "up_to": end, "usd": int(price["units"]) + int(price["nanos"]) / _NANOS_PER_UNIT}
