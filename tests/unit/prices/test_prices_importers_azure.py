"""Azure's Retail Prices become rows."""

from pathlib import Path

from nephoscope.prices.rows import Basis, Unit
from tests.unit.prices.price_lists import AZURE, read_json, said


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
