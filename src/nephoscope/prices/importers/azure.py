"""Azure Retail Prices JSON (prices.azure.com): one answer, a list of answers, or a list of items.

The price of a reservation is that of its whole term, although its unit says an hour; it is divided here. Windows, Spot
and Low Priority share one `armSkuName`: a row is known by its product and its meter. An answer does not say when it was
given: without a date of the origin, a row carries the day since which its price is in force.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nephoscope.prices.importers.base import (
    HOURS_PER_YEAR,
    Imported,
    Origin,
    read_json,
    reserved,
    savings_plan,
    says_free,
    shape_of,
)
from nephoscope.prices.rows import Basis, Kind, Unit

_SHAPE = "Azure Retail Prices JSON: an object with 'Items', or a list of such objects or of items"
_PROVISIONED = (
    ("Provisioned IOPS", Unit.IOPS_HOUR),
    ("Provisioned Throughput", Unit.MB_PER_S_HOUR),
    ("Provisioned Capacity", Unit.GIB_HOUR),
    ("per vCPU", Unit.VCPU_HOUR),
)
_DISK = re.compile(r"[PES]\d+ (?:LRS|ZRS)(?: Disk)?")


def read(path: Path, origin: Origin) -> Imported:
    """The rows of a file.

    Raises:
        InputError: it is damaged or of another shape.
    """
    content = read_json(path)
    found = Imported()
    with shape_of(path, _SHAPE):
        pages = content if isinstance(content, list) else [content]
        for page in pages:
            for item in page["Items"] if "Items" in page or "retailPrice" not in page else [page]:
                _item(found, origin, item)
    return found


def _item(found: Imported, origin: Origin, item: Mapping[str, Any]) -> None:
    service, usd = item["serviceName"], float(item["retailPrice"])
    if item["currencyCode"] != "USD":
        found.skip("price in a currency other than USD")
    elif item["meterName"].endswith("Expired"):
        found.skip("meter that has expired")
    elif service == "Virtual Machines":
        _machine(found, origin, item, usd)
    elif service == "Storage":
        _disk(found, origin, item, usd)
    elif service == "Bandwidth" and item["unitOfMeasure"] in {"1 GB", "1 GiB"}:
        unit = Unit.GB if item["unitOfMeasure"] == "1 GB" else Unit.GIB
        above = float(item.get("tierMinimumUnits", 0))
        values = _common(item) | {"kind": Kind.TRANSFER, "item": item["meterName"], "unit": unit}
        found.add(origin, **values, above=above, basis=Basis.ON_DEMAND, usd=usd, note=item["productName"])
    else:
        found.skip(f"service {service}")


def _common(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "provider": "azure",
        "region": item["armRegionName"] or "any",
        "starts": item.get("effectiveStartDate"),
        "ends": item.get("effectiveEndDate"),
        "free": says_free(f"{item['meterName']} {item['productName']}"),
    }


def _machine(found: Imported, origin: Origin, item: Mapping[str, Any], usd: float) -> None:
    names = f"{item['skuName']} {item['meterName']}"
    other = _not_plain_linux(item["productName"], names)
    if other:
        found.skip(other)
        return
    if not item["armSkuName"] or item["unitOfMeasure"] != "1 Hour":
        found.skip("machine without a type, or billed by a unit other than the hour")
        return
    values = _common(item) | {"kind": Kind.MACHINE, "item": item["armSkuName"], "unit": Unit.HOUR}
    if item["type"] == "Reservation":
        years = _years(item["reservationTerm"])
        basis = reserved(years)
        if basis is None:
            found.skip(f"reservation of {years} years")
            return
        hours = HOURS_PER_YEAR * years
        found.add(origin, **values, basis=basis, usd=usd / hours, note=f"{usd:g} USD over {hours} h")
    elif item["type"] == "Consumption":
        spot = "Spot" in names
        found.add(origin, **values, basis=Basis.SPOT if spot else Basis.ON_DEMAND, usd=usd)
        for plan in item.get("savingsPlan") or []:
            plan_basis = savings_plan(_years(plan["term"]))
            if plan_basis is None:
                found.skip(f"savings plan of {plan['term']}")
            else:
                found.add(origin, **values, basis=plan_basis, usd=float(plan["retailPrice"]))
    else:
        found.skip(f"price of type {item['type']}")


def _not_plain_linux(product: str, names: str) -> str | None:
    if product.endswith("Windows"):
        return "Windows"
    if "Low Priority" in names:
        return "low priority, which spot replaced"
    return "Cloud Services" if "Cloud Services" in product or "CloudServices" in product else None


def _years(term: str) -> int:
    """'1 Year', '3 Years'."""
    return int(term.split(maxsplit=1)[0])


def _disk(found: Imported, origin: Origin, item: Mapping[str, Any], usd: float) -> None:
    meter, measure, product = item["meterName"], item["unitOfMeasure"], item["productName"]
    values = _common(item) | {"kind": Kind.STORAGE}
    if measure in {"1/Hour", "1 GiB/Hour"}:
        unit = next((unit for words, unit in _PROVISIONED if words in meter), None)
        if unit is None:
            found.skip(f"storage meter with unit {measure} for something other than capacity, IOPS or throughput")
            return
        name = "Ultra Disk" if product.startswith("Ultra") else product.removeprefix("Azure ")
        found.add(origin, **values, item=name, unit=unit, basis=Basis.ON_DEMAND, usd=usd)
    elif measure == "1/Month" and product.endswith("Managed Disks") and _DISK.fullmatch(meter):
        name = f"{product.removesuffix(' Managed Disks')} {meter.removesuffix(' Disk')}"
        if item["type"] != "Consumption":
            found.skip("reservation of a disk")
            return
        found.add(origin, **values, item=name, unit=Unit.DISK_MONTH, basis=Basis.ON_DEMAND, usd=usd)
    else:
        found.skip("storage that is not a managed disk")
