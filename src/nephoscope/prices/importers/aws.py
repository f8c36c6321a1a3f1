"""AWS Price List JSON: answers of GetProducts, bulk files, and savings plans.

On-demand and reserved Linux machines of shared tenancy, EBS, transfer. An upfront fee is spread over the hours of its
term. The date is the list's publication: on that day the price was in force.
"""

import json
from collections.abc import Iterator, Mapping
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

_SHAPE = "AWS Price List JSON: an answer of GetProducts, a bulk file of offers/v1.0, or a savings plan file"

_REGIONS = {
    "US East (N. Virginia)": "us-east-1",
    "US East (Ohio)": "us-east-2",
    "US West (N. California)": "us-west-1",
    "US West (Oregon)": "us-west-2",
    "Canada (Central)": "ca-central-1",
    "South America (Sao Paulo)": "sa-east-1",
    "EU (Ireland)": "eu-west-1",
    "EU (London)": "eu-west-2",
    "EU (Paris)": "eu-west-3",
    "EU (Frankfurt)": "eu-central-1",
    "EU (Stockholm)": "eu-north-1",
    "EU (Milan)": "eu-south-1",
    "Asia Pacific (Tokyo)": "ap-northeast-1",
    "Asia Pacific (Seoul)": "ap-northeast-2",
    "Asia Pacific (Osaka)": "ap-northeast-3",
    "Asia Pacific (Singapore)": "ap-southeast-1",
    "Asia Pacific (Sydney)": "ap-southeast-2",
    "Asia Pacific (Mumbai)": "ap-south-1",
    "Asia Pacific (Hong Kong)": "ap-east-1",
    "Middle East (Bahrain)": "me-south-1",
    "Africa (Cape Town)": "af-south-1",
}
"""Names of locations in lists older than the attribute `regionCode`."""

_MIB_PER_GIB = 1024
_EBS_UNITS = {
    "gb-mo": (Unit.GB_MONTH, 1),
    "gb-month": (Unit.GB_MONTH, 1),
    "iops-mo": (Unit.IOPS_MONTH, 1),
    "mibps-mo": (Unit.MIB_PER_S_MONTH, 1),
    "gibps-mo": (Unit.MIB_PER_S_MONTH, _MIB_PER_GIB),
}
_EBS_TIERS: dict[str, tuple[float, float | None]] = {
    "VolumeP-IOPS.gp3": (3000, None),
    "VolumeP-Throughput.gp3": (125, None),
    "VolumeP-IOPS.io2": (0, 32000),
    "VolumeP-IOPS.io2.tier2": (32000, 64000),
    "VolumeP-IOPS.io2.tier3": (64000, None),
}
"""Tiers that the list names only by the type of usage: its ranges all go from 0 to infinity there.

IOPS and throughput of gp3 are billed above what each volume includes (MiB/s for throughput).
"""

_LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def read(path: Path, origin: Origin) -> Imported:
    """The rows of a file of any of the three kinds.

    Raises:
        InputError: it is damaged, of another shape, or of no known day.
    """
    content = read_json(path)
    found = Imported()
    with shape_of(path, _SHAPE):
        if isinstance(content, list):
            content = {"PriceList": content}
        if "PriceList" in content:
            for entry in content["PriceList"]:
                offer = json.loads(entry) if isinstance(entry, str) else entry
                _product(found, origin, offer["product"], offer["terms"], offer.get("publicationDate"))
        elif "savingsPlan" in content["terms"]:
            _savings_plans(found, origin, content)
        else:
            for sku, product in content["products"].items():
                terms = {kind: content["terms"].get(kind, {}).get(sku, {}) for kind in ("OnDemand", "Reserved")}
                _product(found, origin, product, terms, content.get("publicationDate"))
    return found


def _product(
    found: Imported, origin: Origin, product: Mapping[str, Any], terms: Mapping[str, Any], listed: object
) -> None:
    attributes = product["attributes"]
    family = product.get("productFamily", "")
    if attributes.get("locationType", "AWS Region") != "AWS Region":
        found.skip(f"place of type {attributes['locationType']}")
        return
    values: dict[str, Any] = {"provider": "aws", "listed": listed}
    if family.startswith("Compute Instance"):
        other = [key for key, wanted in _LINUX.items() if attributes.get(key, wanted) != wanted]
        if other:
            found.skip(f"machine whose {other[0]} is not {_LINUX[other[0]]}")
            return
        values |= {"kind": Kind.MACHINE, "item": attributes["instanceType"], "unit": Unit.HOUR}
    elif "volumeApiName" in attributes:
        values |= {"kind": Kind.STORAGE, "item": attributes["volumeApiName"]}
        usage = attributes.get("usagetype", "").rpartition(":")[2]
        if usage in _EBS_TIERS:
            values |= dict(zip(("above", "up_to"), _EBS_TIERS[usage], strict=True))
    elif family == "Data Transfer":
        values |= {"kind": Kind.TRANSFER, "item": _way(attributes), "unit": Unit.GB}
    else:
        found.skip(f"product family {family or 'not named'}")
        return
    location = attributes.get("fromLocation" if family == "Data Transfer" else "location", "")
    region = attributes.get("fromRegionCode" if family == "Data Transfer" else "regionCode") or _REGIONS.get(location)
    if region is None:
        found.skip(f"place {location or 'not named'}, with an unknown region code")
        return
    values["region"] = region
    for term in terms.get("OnDemand", {}).values():
        _on_demand(found, origin, term, values)
    for term in terms.get("Reserved", {}).values():
        _reserved(found, origin, term, values)


def _way(attributes: Mapping[str, Any]) -> str:
    """What a transfer is called: 'internet egress', 'inter-region to us-east-2', 'intra-region'."""
    kind, to = attributes.get("transferType", ""), attributes.get("toLocation", "")
    if kind == "AWS Outbound" and to in {"External", ""}:
        return "internet egress"
    if kind == "InterRegion Outbound":
        return f"inter-region to {attributes.get('toRegionCode') or _REGIONS.get(to, to)}"
    if kind == "IntraRegion":
        return "intra-region"
    return " to ".join(part for part in (kind or "transfer", to) if part)


def _on_demand(found: Imported, origin: Origin, term: Mapping[str, Any], values: dict[str, Any]) -> None:
    for dimension in term["priceDimensions"].values():
        if "USD" not in dimension["pricePerUnit"]:
            found.skip("price in a currency other than USD")
            continue
        usd, row = float(dimension["pricePerUnit"]["USD"]), dict(values)
        if values["kind"] is Kind.STORAGE:
            unit, divisor = _EBS_UNITS.get(dimension["unit"].lower(), (None, 1))
            if unit is None:
                found.skip(f"storage billed by the {dimension['unit']}")
                continue
            row["unit"], usd = unit, usd / divisor
        elif dimension["unit"] != ("Hrs" if values["kind"] is Kind.MACHINE else "GB"):
            found.skip(f"{values['kind']} by the {dimension['unit']}")
            continue
        free = says_free(dimension.get("description"))
        starts = term.get("effectiveDate")
        found.add(origin, **(_tier(dimension) | row), basis=Basis.ON_DEMAND, usd=usd, free=free, starts=starts)


def _tier(dimension: Mapping[str, Any]) -> dict[str, float | None]:
    end = dimension.get("endRange", "Inf")
    return {"above": float(dimension.get("beginRange") or 0), "up_to": None if end == "Inf" else float(end)}


def _reserved(found: Imported, origin: Origin, term: Mapping[str, Any], values: dict[str, Any]) -> None:
    attributes = term["termAttributes"]
    years = int(attributes["LeaseContractLength"].strip().removesuffix("yr"))
    basis = reserved(years)
    if basis is None or values["kind"] is not Kind.MACHINE:
        found.skip(
            f"reservation of {years} years" if basis is None else "reservation of something other than a machine"
        )
        return
    hourly = upfront = 0.0
    for dimension in term["priceDimensions"].values():
        usd = float(dimension["pricePerUnit"]["USD"])
        if dimension["unit"] == "Quantity":
            upfront += usd
        else:
            hourly += usd
    found.add(
        origin,
        **values,
        basis=basis,
        terms=f"{attributes['PurchaseOption'].lower()}, {attributes['OfferingClass'].lower()}",
        usd=hourly + upfront / (HOURS_PER_YEAR * years),
        starts=term.get("effectiveDate"),
        note=f"{upfront:g} USD upfront over {HOURS_PER_YEAR * years} h, and {hourly:g} USD/h" if upfront else "",
    )


def _savings_plans(found: Imported, origin: Origin, content: Mapping[str, Any]) -> None:
    plans = {product["sku"]: product for product in content["products"]}
    for term, rate in _rates(content["terms"]["savingsPlan"]):
        years = term["leaseContractLength"]
        basis = savings_plan(int(years["duration"])) if years["unit"] == "year" else None
        usage = rate["discountedUsageType"].rpartition("-")[2]
        price = rate["discountedRate"]
        if basis is None:
            found.skip(f"savings plan of {years['duration']} {years['unit']}")
        elif rate["discountedOperation"] != "RunInstances" or not usage.startswith("BoxUsage:"):
            found.skip("savings plan for something other than Linux machines with shared tenancy")
        elif rate["unit"] != "Hrs" or price["currency"] != "USD":
            found.skip("savings plan in a unit or currency other than USD/h")
        else:
            plan = plans[term["sku"]]
            found.add(
                origin,
                provider="aws",
                region=content["regionCode"],
                kind=Kind.MACHINE,
                item=usage.removeprefix("BoxUsage:"),
                unit=Unit.HOUR,
                basis=basis,
                terms=f"{plan['attributes']['purchaseOption'].lower()}, {plan['productFamily']}",
                usd=float(price["price"]),
                listed=content.get("publicationDate"),
                starts=term.get("effectiveDate"),
            )


def _rates(terms: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for term in terms:
        for rate in term["rates"]:
            yield term, rate
