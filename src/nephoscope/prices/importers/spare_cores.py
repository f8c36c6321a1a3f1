"""The SQLite of Spare Cores: tables `server_price`, `storage_price`, `traffic_price` of sparecores-crawler.

Reserved prices are left out: the tables do not say for how many years.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nephoscope.model.bounded_sqlite import MAGIC, BoundedSqlite
from nephoscope.model.errors import InputError
from nephoscope.prices.importers.base import Imported, Origin, day_of, shape_of
from nephoscope.prices.rows import Basis, Kind, Unit

_SHAPE = "the SQLite file of Spare Cores"
_BASES = {"ondemand": Basis.ON_DEMAND, "spot": Basis.SPOT}
_UNITS = {
    (Kind.MACHINE, "hour"): Unit.HOUR,
    (Kind.STORAGE, "gb/month"): Unit.GB_MONTH,
    (Kind.TRANSFER, "gb"): Unit.GB,
    (Kind.TRANSFER, "gib"): Unit.GIB,
}
_WAYS = {
    "out": "internet egress",
    "outbound": "internet egress",
    "in": "internet ingress",
    "inbound": "internet ingress",
}
_TABLES = ("server_price", "storage_price", "traffic_price", "region", "server", "storage")
_SERVERS = """
select p.*, r.api_reference as region, s.api_reference as item
from server_price p join region r using (vendor_id, region_id) join server s using (vendor_id, server_id)
"""
_STORAGE = """
select p.*, r.api_reference as region, s.name as item
from storage_price p join region r using (vendor_id, region_id) join storage s using (vendor_id, storage_id)
"""
_TRAFFIC = """
select p.*, r.api_reference as region, p.direction as item
from traffic_price p join region r using (vendor_id, region_id)
"""


def read(path: Path, origin: Origin) -> Imported:
    """The rows of a file; it is opened for reading only.

    Raises:
        InputError: it is no SQLite file, is damaged, or has other tables.
    """
    found = Imported()
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
        if magic != MAGIC:
            raise InputError(f"{path}: not a SQLite file", hint=f"expected {_SHAPE}")
        with BoundedSqlite(path, _TABLES) as opened, shape_of(path, _SHAPE):
            for kind, query in ((Kind.MACHINE, _SERVERS), (Kind.STORAGE, _STORAGE), (Kind.TRANSFER, _TRAFFIC)):
                for row in opened.rows(query):
                    _row(found, origin, kind, row)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be read: {error}", hint=f"expected {_SHAPE}") from error
    return found


def _row(found: Imported, origin: Origin, kind: Kind, row: Mapping[str, Any]) -> None:
    allocation = str(row.get("allocation", "ondemand")).lower()
    system = str(row.get("operating_system", "Linux")).lower()
    unit = _UNITS.get((kind, str(row["unit"]).lower().replace("_", "/")))
    if str(row["status"]).lower() != "active":
        found.skip(f"{kind} that is {str(row['status']).lower()}")
    elif row["currency"] != "USD":
        found.skip("price in a currency other than USD")
    elif system != "linux":
        found.skip(f"machine with {system}")
    elif allocation not in _BASES:
        found.skip(f"machine allocated {allocation}: years not stated")
    elif unit is None:
        found.skip(f"{kind} by the {row['unit']}")
    elif row["price_upfront"]:
        found.skip(f"{kind} with an upfront price for an unstated term")
    else:
        spot = _BASES[allocation] is Basis.SPOT
        for tier in _tiers(row):
            found.add(
                origin,
                provider=row["vendor_id"],
                region=row["region"],
                kind=kind,
                item=_WAYS.get(row["item"].lower(), row["item"]) if kind is Kind.TRANSFER else row["item"],
                unit=unit,
                basis=_BASES[allocation],
                terms=f"zone {row['zone_id']}" if spot else "",
                date=day_of(origin, row["observed_at"]),
                **tier,
            )


def _tiers(row: Mapping[str, Any]) -> Iterator[dict[str, float | None]]:
    """Tiers where the price has them; the price alone is then the highest of them."""
    tiers = json.loads(row["price_tiered"] or "[]")
    if not tiers:
        yield {"usd": float(row["price"])}
    for tier in tiers:
        lower, upper = float(tier["lower"]), float(tier["upper"])
        yield {"above": lower, "up_to": None if upper == float("inf") else upper, "usd": float(tier["price"])}
