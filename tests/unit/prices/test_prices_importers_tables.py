"""Spare Cores' database and SkyPilot's table become rows; damage is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nephoscope.model.errors import InputError
from nephoscope.prices.rows import Basis, Unit
from tests.unit.prices.price_lists import SKYPILOT, read, said

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


@pytest.mark.parametrize(
    ("given", "missing"), [({"date": "2026"}, "provider"), ({"provider": "aws"}, "does not state its date")]
)
def test_skypilot_asks_for_what_it_does_not_say(tmp_path: Path, given: dict[str, str], missing: str) -> None:
    (tmp_path / "vms.csv").write_text(SKYPILOT)
    with pytest.raises(InputError, match=missing):
        read("skypilot", tmp_path / "vms.csv", **given)
