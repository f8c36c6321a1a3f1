"""Seven kinds of price lists: what they say becomes rows, what they do not say is asked for, damage is told."""

import copy
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nephoscope.errors import InputError
from nephoscope.prices.book import PriceBook
from nephoscope.prices.importers.base import Imported, Origin
from nephoscope.prices.importers.registry import IMPORTERS
from nephoscope.prices.rows import Basis, Kind, Price, Unit, to_csv
from tests.support.shared_data import shared

DATED = Origin(source="a list", date="2026-01-01", provider="aws")


def read(kind: str, path: Path, **origin: Any) -> Imported:
    return IMPORTERS[kind].read(path, Origin(source="a list", **origin))


def read_json(kind: str, folder: Path, content: Any, **origin: Any) -> Imported:
    (folder / "list.json").write_text(json.dumps(content))
    return read(kind, folder / "list.json", **origin)


def said(rows: list[Price]) -> list[tuple[Any, ...]]:
    return [(row.region, row.item, row.unit, row.basis, row.terms, row.above, row.up_to, row.usd) for row in rows]


# AWS


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


def test_aws_bulk_file(tmp_path: Path) -> None:
    found = read_json("aws", tmp_path, AWS)
    place = "us-west-2"
    assert said(found.rows) == [
        (place, "x1.large", Unit.HOUR, Basis.ON_DEMAND, "", 0, None, 0.1),
        (place, "x1.large", Unit.HOUR, Basis.RESERVED_1Y, "partial upfront, standard", 0, None, pytest.approx(0.11)),
        (place, "gp3", Unit.GB_MONTH, Basis.ON_DEMAND, "", 0, None, 0.08),
        (place, "gp3", Unit.MIB_PER_S_MONTH, Basis.ON_DEMAND, "", 125, None, 0.04),
        (place, "io2", Unit.IOPS_MONTH, Basis.ON_DEMAND, "", 32000, 64000, 0.0455),
        (place, "internet egress", Unit.GB, Basis.ON_DEMAND, "", 0, 10240, 0.09),
        (place, "internet egress", Unit.GB, Basis.ON_DEMAND, "", 10240, None, 0.085),
        (place, "inter-region to us-east-2", Unit.GB, Basis.ON_DEMAND, "", 0, None, 0.02),
    ]
    assert {row.date for row in found.rows} == {"2026-02-03"}
    assert found.rows[1].note == "876 USD upfront over 8760 h, and 0.01 USD/h"
    assert found.skipped == {
        "machine with another operatingSystem than Linux": 1,
        "place The Moon, whose region code is not known": 1,
        "product family Dedicated Host": 1,
        "place of type AWS Outposts": 1,
    }


@pytest.mark.parametrize("as_text", [False, True])
def test_aws_get_products_says_the_same(tmp_path: Path, as_text: bool) -> None:
    offers: list[Any] = [
        {
            "product": product,
            "publicationDate": AWS["publicationDate"],
            "terms": {kind: AWS["terms"][kind].get(sku, {}) for kind in AWS["terms"]},
        }
        for sku, product in AWS["products"].items()
    ]
    if as_text:
        offers = [json.dumps(offer) for offer in offers]
    assert read_json("aws", tmp_path, {"PriceList": offers}).rows == read_json("aws", tmp_path, AWS).rows
    assert read_json("aws", tmp_path, offers).rows == read_json("aws", tmp_path, AWS).rows


def test_aws_savings_plans(tmp_path: Path) -> None:
    found = read_json("aws", tmp_path, SAVINGS)
    terms = "no upfront, ComputeSavingsPlans"
    assert said(found.rows) == [
        ("us-west-2", "x1.large", Unit.HOUR, Basis.SAVINGS_PLAN_3Y, terms, 0, None, 0.05),
    ]
    assert sum(found.skipped.values()) == 2


# Azure


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


def test_azure(tmp_path: Path) -> None:
    found = read_json("azure", tmp_path, AZURE)
    machine = ("eastus", "Standard_D4s_v5", Unit.HOUR)
    other = (Basis.ON_DEMAND, "")
    assert said(found.rows) == [
        (*machine, Basis.ON_DEMAND, "", 0, None, 0.5),
        (*machine, Basis.SAVINGS_PLAN_1Y, "", 0, None, 0.4),
        (*machine, Basis.SAVINGS_PLAN_3Y, "", 0, None, 0.3),
        (*machine, Basis.RESERVED_1Y, "", 0, None, 0.1),
        (*machine, Basis.RESERVED_3Y, "", 0, None, 0.1),
        (*machine, Basis.SPOT, "", 0, None, 0.1),
        ("eastus", "Premium SSD P10 LRS", Unit.DISK_MONTH, *other, 0, None, 19.71),
        ("eastus", "Premium SSD v2", Unit.IOPS_HOUR, *other, 0, None, 0.0001),
        ("eastus", "Standard Data Transfer Out", Unit.GB, *other, 100, None, 0.087),
    ]
    assert sum(found.skipped.values()) == 8
    assert {row.date for row in found.rows} == {"2023-04-01"}
    assert {row.date for row in read_json("azure", tmp_path, AZURE, date="2026-01").rows} == {"2026-01"}


def test_azure_pages_and_items(tmp_path: Path) -> None:
    rows = read_json("azure", tmp_path, AZURE).rows
    assert read_json("azure", tmp_path, [AZURE]).rows == rows
    assert read_json("azure", tmp_path, AZURE["Items"]).rows == rows


# GCP


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


def test_gcp_skus(tmp_path: Path) -> None:
    found = read_json("gcp-skus", tmp_path, GCP)
    east = [row for row in found.rows if row.region == "us-east4"]
    assert len(found.rows) == 2 * len(east)
    assert [one[1:] for one in said(east)] == [
        ("N2 Instance Core", Unit.VCPU_HOUR, Basis.ON_DEMAND, "", 0, None, 0.035),
        ("Commitment v1: N2 Ram", Unit.GIB_HOUR, Basis.RESERVED_1Y, "", 0, None, 0.003),
        ("N2 Instance Core", Unit.VCPU_HOUR, Basis.SPOT, "", 0, None, 0.008),
        ("SSD backed PD Capacity", Unit.GIB_MONTH, Basis.ON_DEMAND, "", 0, None, 0.187),
        ("Internet Egress", Unit.GIB, Basis.ON_DEMAND, "", 0, 1, 0),
        ("Internet Egress", Unit.GIB, Basis.ON_DEMAND, "", 1, None, 0.12),
    ]
    assert sum(found.skipped.values()) == 2


# Cyclenerd

YAML = """
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


def test_cyclenerd(tmp_path: Path) -> None:
    (tmp_path / "pricing.yml").write_text(YAML)
    found = read("cyclenerd", tmp_path / "pricing.yml")
    micro, *rows = found.rows
    assert (micro.item, micro.basis, micro.usd) == ("f1-micro", Basis.ON_DEMAND, 0.01)
    assert sum(found.skipped.values()) == 2
    machine, commitment = ("n2-standard-8", Unit.HOUR), "resource-based commitment"
    egress = ("internet egress worldwide, premium tier", Unit.GIB, Basis.ON_DEMAND, "")
    assert [one[1:] for one in said(rows)] == [
        (*machine, Basis.ON_DEMAND, "", 0, None, 0.5),
        (*machine, Basis.SPOT, "", 0, None, 0.1),
        (*machine, Basis.SUSTAINED_USE, "whole month", 0, None, 0.4),
        (*machine, Basis.RESERVED_1Y, commitment, 0, None, 0.3),
        (*machine, Basis.RESERVED_3Y, commitment, 0, None, 0.2),
        ("pd-ssd", Unit.GIB_MONTH, Basis.ON_DEMAND, "", 0, None, 0.187),
        (*egress, 0, 1024, 0.12),
        (*egress, 10240, None, 0.08),
    ]
    assert {row.date for row in rows} == {"2022-03-07"}


# Spare Cores

SCHEMA = """
create table region (vendor_id, region_id, api_reference);
create table server (vendor_id, server_id, api_reference);
create table storage (vendor_id, storage_id, name);
create table server_price (vendor_id, region_id, zone_id, server_id, operating_system, allocation, unit, price,
  price_upfront, price_tiered, currency, status, observed_at);
create table storage_price (vendor_id, region_id, storage_id, unit, price, price_upfront, price_tiered, currency,
  status, observed_at);
create table traffic_price (vendor_id, region_id, direction, unit, price, price_upfront, price_tiered, currency,
  status, observed_at);
insert into region values ('gcp', '1220', 'us-east4');
insert into server values ('gcp', '77', 'n2-standard-8');
insert into storage values ('gcp', 's', 'pd-ssd');
insert into server_price values
  ('gcp', '1220', 'a', '77', 'Linux', 'ONDEMAND', 'HOUR', 0.5, 0, '[]', 'USD', 'ACTIVE', '2024-02-21 01:02:03'),
  ('gcp', '1220', 'b', '77', 'Linux', 'ondemand', 'hour', 0.5, 0, '[]', 'USD', 'active', '2024-02-21 01:02:04'),
  ('gcp', '1220', 'a', '77', 'Linux', 'SPOT', 'HOUR', 0.1, 0, '[]', 'USD', 'ACTIVE', '2024-02-21'),
  ('gcp', '1220', 'a', '77', 'Linux', 'RESERVED', 'HOUR', 0.1, 0, '[]', 'USD', 'ACTIVE', '2024-02-21'),
  ('gcp', '1220', 'a', '77', 'Linux', 'ONDEMAND', 'HOUR', 0.1, 0, '[]', 'USD', 'INACTIVE', '2024-02-21'),
  ('gcp', '1220', 'a', '77', 'Linux', 'ONDEMAND', 'MONTH', 9, 0, '[]', 'USD', 'ACTIVE', '2024-02-21'),
  ('gcp', '1220', 'a', '77', 'Linux', 'ONDEMAND', 'HOUR', 0.1, 5, '[]', 'USD', 'ACTIVE', '2024-02-21'),
  ('gcp', '1220', 'a', '77', 'Windows', 'ONDEMAND', 'HOUR', 0.1, 0, '[]', 'USD', 'ACTIVE', '2024-02-21'),
  ('gcp', '1220', 'a', '77', 'Linux', 'ONDEMAND', 'HOUR', 0.1, 0, '[]', 'EUR', 'ACTIVE', '2024-02-21');
insert into storage_price values
  ('gcp', '1220', 's', 'GB_MONTH', 0.187, 0, null, 'USD', 'ACTIVE', '2024-02-21');
insert into traffic_price values ('gcp', '1220', 'OUT', 'GB_MONTH', 0.12, 0,
  '[{"lower": 0, "upper": 1024, "price": 0.12}]', 'USD', 'ACTIVE', '2024-02-21'), ('gcp', '1220', 'OUT', 'GB', 0.12, 0,
  '[{"lower": 0, "upper": 1024, "price": 0.12}, {"lower": 1024, "upper": "Infinity", "price": 0.11}]', 'USD', 'ACTIVE',
  '2024-02-21');
"""


def spare_cores(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "sc.db")) as connection:
        connection.executescript(SCHEMA)
    return folder / "sc.db"


def test_spare_cores(tmp_path: Path) -> None:
    found = read("spare-cores", spare_cores(tmp_path))
    assert said(found.rows) == [
        ("us-east4", "n2-standard-8", Unit.HOUR, Basis.ON_DEMAND, "", 0, None, 0.5),
        ("us-east4", "n2-standard-8", Unit.HOUR, Basis.SPOT, "zone a", 0, None, 0.1),
        ("us-east4", "pd-ssd", Unit.GB_MONTH, Basis.ON_DEMAND, "", 0, None, 0.187),
        ("us-east4", "internet egress", Unit.GB, Basis.ON_DEMAND, "", 0, 1024, 0.12),
        ("us-east4", "internet egress", Unit.GB, Basis.ON_DEMAND, "", 1024, None, 0.11),
    ]
    assert sum(found.skipped.values()) == 8
    assert {row.date for row in found.rows} == {"2024-02-21"}


def test_spare_cores_damaged(tmp_path: Path) -> None:
    whole = spare_cores(tmp_path).read_bytes()
    (tmp_path / "sc.db").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(InputError, match="cannot be read"):
        read("spare-cores", tmp_path / "sc.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("create table t (a)")
        connection.commit()
    with pytest.raises(InputError, match="no such table"):
        read("spare-cores", tmp_path / "other.db")


# SkyPilot

SKYPILOT = """InstanceType,vCPUs,Price,SpotPrice,Region,AvailabilityZone
a1.large,2,0.2,0.05,us-east-1,az1
a1.large,2,0.2,0.06,us-east-1,az2
b1.large,2,,0.06,us-east-1,
"""


def test_skypilot(tmp_path: Path) -> None:
    (tmp_path / "vms.csv").write_text(SKYPILOT)
    found = read("skypilot", tmp_path / "vms.csv", provider="aws", date="2026-01-01")
    machine = ("us-east-1", "a1.large", Unit.HOUR)
    assert said(found.rows) == [
        (*machine, Basis.ON_DEMAND, "", 0, None, 0.2),
        (*machine, Basis.SPOT, "zone az1", 0, None, 0.05),
        (*machine, Basis.SPOT, "zone az2", 0, None, 0.06),
        ("us-east-1", "b1.large", Unit.HOUR, Basis.SPOT, "", 0, None, 0.06),
    ]
    assert sum(found.skipped.values()) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SKYPILOT.replace("0.2,0.05", "cheap,0.05"), r"vms\.csv:2: Price: not a price row: 'cheap'"),
        (SKYPILOT.replace("SpotPrice", "Spot"), r"vms\.csv:1: no column SpotPrice"),
        (SKYPILOT[:95], r"vms\.csv:\d: fewer cells than columns"),
        ("", r"vms\.csv:1: no column"),
        ('"', "not CSV"),
    ],
)
def test_skypilot_damaged(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "vms.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        read("skypilot", tmp_path / "vms.csv", provider="aws", date="2026-01-01")


@pytest.mark.parametrize(("given", "missing"), [({"date": "2026"}, "provider"), ({"provider": "aws"}, "of which day")])
def test_skypilot_asks_for_what_it_does_not_say(tmp_path: Path, given: dict[str, str], missing: str) -> None:
    (tmp_path / "vms.csv").write_text(SKYPILOT)
    with pytest.raises(InputError, match=missing):
        read("skypilot", tmp_path / "vms.csv", **given)


# all of them

JSON_LISTS = [("aws", AWS), ("aws", SAVINGS), ("azure", AZURE), ("gcp-skus", GCP)]


def test_our_own_csv(tmp_path: Path) -> None:
    rows = read_json("aws", tmp_path, AWS).rows
    (tmp_path / "own.csv").write_text(to_csv(rows))
    assert read("csv", tmp_path / "own.csv").rows == rows


@pytest.mark.parametrize("kind", IMPORTERS)
def test_a_file_that_is_none_or_garbage_is_told(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        IMPORTERS[kind].read(tmp_path / "none", DATED)
    for garbage in (b"", b"\xff\xfe\x00garbage", b"<html>denied</html>", b"[[[[", b"{}", b"[]x", b"null", b"7"):
        (tmp_path / "list").write_bytes(garbage)
        with pytest.raises(InputError):
            IMPORTERS[kind].read(tmp_path / "list", DATED)


@pytest.mark.parametrize(("kind", "content"), JSON_LISTS)
def test_a_list_that_was_cut_is_told_with_its_line(tmp_path: Path, kind: str, content: Any) -> None:
    whole = json.dumps(content, indent=1)
    for length in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        (tmp_path / "list").write_text(whole[:length])
        with pytest.raises(InputError, match=r"list:\d+: not JSON"):
            IMPORTERS[kind].read(tmp_path / "list", DATED)


@pytest.mark.parametrize(("kind", "content"), JSON_LISTS)
@pytest.mark.parametrize("wrong", [None, "x", [], {}, -1])
def test_a_value_of_another_shape_is_told_or_left_out(tmp_path: Path, kind: str, content: Any, wrong: Any) -> None:
    told = 0
    for path in list(_paths(content)):
        damaged = copy.deepcopy(content)
        inside = damaged
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = wrong
        try:
            read_json(kind, tmp_path, damaged)
        except InputError:
            told += 1
    assert told > 5


def _paths(content: Any) -> Iterator[tuple[Any, ...]]:
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(content[key]))


# real lists of others


@pytest.mark.parametrize(
    ("kind", "name", "origin", "rows", "skipped"),
    [
        ("aws", "aws_getproducts_m5.large.json", {}, 13, 0),
        ("aws", "aws_savingsplan_format.json", {"date": "2026-01-01"}, 1, 0),
        ("azure", "azure_retail_ultra_westeurope.json", {}, 4, 1),
        ("gcp-skus", "gcp_skus.json", {}, 9, 0),
        ("skypilot", "skypilot_vms_csv_sample.csv", {"provider": "aws", "date": "2026-07-20"}, 7, 1),
    ],
)
def test_samples_of_real_lists(kind: str, name: str, origin: dict[str, str], rows: int, skipped: int) -> None:
    found = read(kind, shared(f"prices/api-samples/{name}"), **origin)
    assert (len(found.rows), sum(found.skipped.values())) == (rows, skipped)


def test_a_real_reservation_of_aws() -> None:
    found = read("aws", shared("prices/api-samples/aws_getproducts_m5.large.json"))
    by_terms = {(row.basis, row.terms): row.usd for row in found.rows}
    assert by_terms[Basis.ON_DEMAND, ""] == 0.096
    assert by_terms[Basis.RESERVED_1Y, "all upfront, standard"] == pytest.approx(494 / 8760)
    assert len(by_terms) == 13


def test_a_real_list_of_gcp_is_read_whole() -> None:
    found = read("cyclenerd", shared("prices/gcp-pricing-2022-03-07.yml"))
    counts = Counter(row.kind for row in found.rows)
    assert counts[Kind.MACHINE] >= 3 * 4345
    assert found.skipped == {"commitment of price 0, which this list uses for 'not sold'": 116}
    assert all(row.usd > 0 for row in found.rows)
    facts = [row for row in found.rows if row.region == "us-east4" and row.item == "n2-standard-8"]
    assert {row.basis: round(row.usd, 6) for row in facts} == {
        Basis.ON_DEMAND: 0.437512,
        Basis.SUSTAINED_USE: 0.350097,
        Basis.RESERVED_1Y: 0.261864,
        Basis.RESERVED_3Y: 0.187048,
    }
    assert len(PriceBook(found.rows).providers) == 1
