"""Small price lists of the documented shapes, and how tests read them."""

import json
from pathlib import Path
from typing import Any

from nephoscope.prices.importers.base import Imported, Origin
from nephoscope.prices.importers.registry import IMPORTERS
from nephoscope.prices.rows import Price


def read(kind: str, path: Path, **origin: Any) -> Imported:
    return IMPORTERS[kind].read(path, Origin(source="a list", **origin))


def read_json(kind: str, folder: Path, content: Any, **origin: Any) -> Imported:
    (folder / "list.json").write_text(json.dumps(content))
    return read(kind, folder / "list.json", **origin)


def said(rows: list[Price]) -> list[tuple[Any, ...]]:
    return [(row.region, row.item, row.unit, row.basis, row.terms, row.above, row.up_to, row.usd) for row in rows]


def dimension(usd: str, unit: str = "Hrs", **more: str) -> dict[str, Any]:
    return {"unit": unit, "pricePerUnit": {"USD": usd}, "description": "", **more}


def on_demand(*dimensions: dict[str, Any]) -> dict[str, Any]:
    return {"t": {"priceDimensions": {str(number): one for number, one in enumerate(dimensions)}, "termAttributes": {}}}


LINUX = {
    "instanceType": "x1.large",
    "regionCode": "us-west-2",
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
AWS: dict[str, Any] = {
    "publicationDate": "2026-02-03T00:00:00Z",
    "products": {
        "M": {"productFamily": "Compute Instance", "attributes": LINUX},
        "W": {"productFamily": "Compute Instance", "attributes": LINUX | {"operatingSystem": "Windows"}},
        "V": {"productFamily": "Storage", "attributes": {"volumeApiName": "gp3", "regionCode": "us-west-2"}},
        "T": {
            "productFamily": "Provisioned Throughput",
            "attributes": {
                "volumeApiName": "gp3",
                "location": "US West (Oregon)",
                "usagetype": "USW2-EBS:VolumeP-Throughput.gp3",
            },
        },
        "I": {
            "productFamily": "System Operation",
            "attributes": {
                "volumeApiName": "io2",
                "regionCode": "us-west-2",
                "usagetype": "USW2-EBS:VolumeP-IOPS.io2.tier2",
            },
        },
        "O": {"productFamily": "Storage", "attributes": {"volumeApiName": "gp3", "locationType": "AWS Outposts"}},
        "E": {
            "productFamily": "Data Transfer",
            "attributes": {"transferType": "AWS Outbound", "toLocation": "External", "fromRegionCode": "us-west-2"},
        },
        "R": {
            "productFamily": "Data Transfer",
            "attributes": {
                "transferType": "InterRegion Outbound",
                "toLocation": "US East (Ohio)",
                "fromLocation": "US West (Oregon)",
            },
        },
        "L": {"productFamily": "Compute Instance", "attributes": {**LINUX, "regionCode": "", "location": "The Moon"}},
        "D": {"productFamily": "Dedicated Host", "attributes": {}},
    },
    "terms": {
        "OnDemand": {
            "M": on_demand(dimension("0.1")),
            "V": on_demand(dimension("0.08", "GB-Mo")),
            "T": on_demand(dimension("40.96", "GiBps-mo", beginRange="0", endRange="Inf")),
            "I": on_demand(dimension("0.0455", "IOPS-Mo", beginRange="0", endRange="Inf")),
            "E": on_demand(
                dimension("0.09", "GB", beginRange="0", endRange="10240"),
                dimension("0.085", "GB", beginRange="10240", endRange="Inf"),
            ),
            "R": on_demand(dimension("0.02", "GB")),
        },
        "Reserved": {
            "M": {
                "t": {
                    "priceDimensions": {"a": dimension("876", "Quantity"), "b": dimension("0.01")},
                    "termAttributes": {
                        "LeaseContractLength": "1yr",
                        "OfferingClass": "standard",
                        "PurchaseOption": "Partial Upfront",
                    },
                }
            }
        },
    },
}
SAVINGS: dict[str, Any] = {
    "publicationDate": "2026-02-03",
    "regionCode": "us-west-2",
    "products": [
        {"sku": "P", "productFamily": "ComputeSavingsPlans", "attributes": {"purchaseOption": "No Upfront"}},
    ],
    "terms": {
        "savingsPlan": [
            {
                "sku": "P",
                "leaseContractLength": {"duration": 3, "unit": "year"},
                "rates": [
                    {
                        "discountedUsageType": usage,
                        "discountedOperation": operation,
                        "unit": "Hrs",
                        "discountedRate": {"price": "0.05", "currency": "USD"},
                    }
                    for usage, operation in (
                        ("USW2-BoxUsage:x1.large", "RunInstances"),
                        ("USW2-BoxUsage:x1.large", "RunInstances:0002"),
                        ("USW2-UnusedBox:x1.large", "RunInstances"),
                    )
                ],
            }
        ]
    },
}


def item(**more: Any) -> dict[str, Any]:
    return {
        "currencyCode": "USD",
        "retailPrice": 0.5,
        "armRegionName": "eastus",
        "effectiveStartDate": "2023-04-01T00:00:00Z",
        "meterName": "D4s v5",
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": "D4s v5",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "armSkuName": "Standard_D4s_v5",
        **more,
    }


AZURE: dict[str, Any] = {
    "Items": [
        item(savingsPlan=[{"term": "1 Year", "retailPrice": 0.4}, {"term": "3 Years", "retailPrice": 0.3}]),
        item(type="Reservation", reservationTerm="1 Year", retailPrice=876.0),
        item(type="Reservation", reservationTerm="3 Years", retailPrice=2628.0),
        item(type="Reservation", reservationTerm="5 Years", retailPrice=1.0),
        item(skuName="D4s v5 Spot", meterName="D4s v5 Spot", retailPrice=0.1),
        item(meterName="D4s v5 Low Priority"),
        item(productName="Virtual Machines Dsv5 Series Windows"),
        item(retailPrice=0),
        item(type="DevTestConsumption"),
        item(currencyCode="EUR"),
        item(
            serviceName="Storage", productName="Premium SSD Managed Disks", meterName="P10 LRS Disk",
            unitOfMeasure="1/Month", retailPrice=19.71, armSkuName="",
        ),
        item(
            serviceName="Storage", productName="Azure Premium SSD v2", meterName="Premium LRS Provisioned IOPS",
            unitOfMeasure="1/Hour", retailPrice=0.0001, armSkuName="",
        ),
        item(serviceName="Storage", productName="Blob Storage", meterName="Hot", unitOfMeasure="1 GB/Month"),
        item(
            serviceName="Bandwidth", productName="Rtn Preference: MGN", meterName="Standard Data Transfer Out",
            unitOfMeasure="1 GB", tierMinimumUnits=100.0, retailPrice=0.087, armSkuName="",
        ),
        item(serviceName="Key Vault"),
    ]
}  # fmt: skip


def sku(description: str, usage: str, unit: str, *rates: tuple[float, int], family: str = "Compute") -> dict[str, Any]:
    tiers = [
        {"startUsageAmount": start, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": nanos}}
        for start, nanos in rates
    ]
    return {
        "description": description,
        "category": {"resourceFamily": family, "usageType": usage},
        "serviceRegions": ["us-east4", "us-west1"],
        "pricingInfo": [
            {
                "effectiveTime": "2026-03-01T00:00:00Z",
                "pricingExpression": {"usageUnit": unit, "tieredRates": tiers},
            }
        ],
    }


GCP: dict[str, Any] = {
    "skus": [
        sku("N2 Instance Core running in Virginia", "OnDemand", "h", (0, 35_000_000)),
        sku("Commitment v1: N2 Ram in Virginia for 1 Year", "Commit1Yr", "GiBy.h", (0, 3_000_000)),
        sku("Spot Preemptible N2 Instance Core running in Virginia", "Preemptible", "h", (0, 8_000_000)),
        sku("SSD backed PD Capacity in Virginia", "OnDemand", "GiBy.mo", (0, 187_000_000), family="Storage"),
        sku("Internet Egress", "OnDemand", "GiBy", (0, 0), (1, 120_000_000), family="Network"),
        sku("Nvidia A100 GPU running in Virginia", "OnDemand", "h", (0, 1)),
        sku("Licensing Fee", "OnDemand", "h", (0, 1), family="License"),
    ]
}
CYCLENERD = """
about: {timestamp: 1646689654}
compute:
  instance:
    f1-micro:
      cost:
        us-east4: {hour: 0.01, month: 7.3, month_1y: 0, month_3y: 0}
    n2-standard-8:
      cost:
        us-east4: {hour: 0.5, month: 292.0, month_1y: 219.0, month_3y: 146.0, hour_spot: 0.1}
  storage:
    ssd: {cost: {us-east4: {month: 0.187}}}
  network:
    traffic:
      egress:
        internet:
          cost:
            0-1: {us-east4: {month: 0.12}}
            10n: {us-east4: {month: 0.08}}
"""
