"""`pricing.yml` of Cyclenerd's google-cloud-pricing-cost-calculator: GCP machines, disks and internet egress.

A month there is 730 hours. `month` holds sustained-use discounts, and becomes a row where it differs from 730 hours.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from nephoscope.model.bounded_yaml import load_yaml
from nephoscope.model.errors import InputError
from nephoscope.prices.importers.base import HOURS_PER_MONTH, Imported, Origin, read_bytes, shape_of
from nephoscope.prices.rows import Basis, Kind, Unit

_SHAPE = "pricing.yml of Cyclenerd's google-cloud-pricing-cost-calculator"
_DISKS = {
    "ssd": "pd-ssd",
    "balanced": "pd-balanced",
    "extreme": "pd-extreme",
    "hdd": "pd-standard",
    "local": "local SSD",
    "snapshot": "PD snapshot",
    "ssd-replicated": "regional pd-ssd",
    "balanced-replicated": "regional pd-balanced",
    "hdd-replicated": "regional pd-standard",
}
_EGRESS_GIB: dict[str, tuple[float, float | None]] = {"0-1": (0, 1024), "1-10": (1024, 10240), "10n": (10240, None)}
_COMMITMENT = "resource-based commitment"


def read(path: Path, origin: Origin) -> Imported:
    """The rows of a file.

    Raises:
        InputError: it is damaged or of another shape.
    """
    try:
        # both are safe
        content = load_yaml(read_bytes(path), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line}: not YAML: {getattr(error, 'problem', None) or error}") from error
    found = Imported()
    with shape_of(path, _SHAPE):
        about = content["about"]
        values = {"provider": "gcp", "listed": datetime.fromtimestamp(about["timestamp"], UTC).date()}
        for machine, entry in content["compute"]["instance"].items():
            for region, cost in entry["cost"].items():
                _machine(found, origin, {**values, "region": region, "item": machine}, cost)
        for disk, entry in content["compute"]["storage"].items():
            for region, cost in entry["cost"].items():
                _disk(found, origin, {**values, "region": region, "item": _DISKS.get(disk, disk)}, cost)
        internet = content["compute"].get("network", {}).get("traffic", {}).get("egress", {}).get("internet", {})
        for place, name in (("cost", "worldwide"), ("australia", "to Australia"), ("china", "to China")):
            costs = internet.get(place, {})
            _egress(found, origin, values, f"internet egress {name}, premium tier", costs.get("cost", costs))
    return found


def _machine(found: Imported, origin: Origin, values: dict[str, Any], cost: Mapping[str, float]) -> None:
    values |= {"kind": Kind.MACHINE, "unit": Unit.HOUR}
    hour, month = cost["hour"], cost.get("month")
    found.add(origin, **values, basis=Basis.ON_DEMAND, usd=hour)
    if "hour_spot" in cost:
        found.add(origin, **values, basis=Basis.SPOT, usd=cost["hour_spot"])
    if month is not None and not math.isclose(month, hour * HOURS_PER_MONTH, rel_tol=1e-6):
        found.add(
            origin,
            **values,
            basis=Basis.SUSTAINED_USE,
            terms="whole month",
            usd=month / HOURS_PER_MONTH,
            note="month/730",
        )
    for key, basis in (("month_1y", Basis.RESERVED_1Y), ("month_3y", Basis.RESERVED_3Y)):
        if key in cost:
            usd = cost[key] / HOURS_PER_MONTH
            found.add(origin, **values, basis=basis, terms=_COMMITMENT, usd=usd, note=f"{key}/730")


def _disk(found: Imported, origin: Origin, values: dict[str, Any], cost: Mapping[str, float]) -> None:
    values |= {"kind": Kind.STORAGE, "unit": Unit.GIB_MONTH}
    found.add(origin, **values, basis=Basis.ON_DEMAND, usd=cost["month"])
    for key, basis in (("month_1y", Basis.RESERVED_1Y), ("month_3y", Basis.RESERVED_3Y)):
        if key in cost:
            found.add(origin, **values, basis=basis, terms=_COMMITMENT, usd=cost[key])


def _egress(
    found: Imported, origin: Origin, values: dict[str, Any], item: str, costs: Mapping[str, Mapping[str, Any]]
) -> None:
    for tier, regions in costs.items():
        above, up_to = _EGRESS_GIB[tier]
        for region, cost in regions.items():
            found.add(
                origin,
                **values,
                region=region,
                kind=Kind.TRANSFER,
                item=item,
                unit=Unit.GIB,
                above=above,
                up_to=up_to,
                basis=Basis.ON_DEMAND,
                usd=cost["month"],
            )
