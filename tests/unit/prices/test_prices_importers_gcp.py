"""Google's own list and Cyclenerd's become rows."""

from collections import Counter
from pathlib import Path

from nephoscope.prices.book import PriceBook
from nephoscope.prices.rows import Basis, Kind, Unit
from tests.support.shared_data import shared
from tests.unit.prices.price_lists import CYCLENERD, GCP, read, read_json, said


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


def test_cyclenerd(tmp_path: Path) -> None:
    (tmp_path / "pricing.yml").write_text(CYCLENERD)
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


def test_a_real_list_of_gcp_is_read_whole() -> None:
    found = read("cyclenerd", shared("prices/gcp-pricing-2022-03-07.yml"))
    counts = Counter(row.kind for row in found.rows)
    assert counts[Kind.MACHINE] >= 3 * 4345
    assert found.skipped == {"price of 0 that is not called free: lists write it for what is not sold": 116}
    assert all(row.usd > 0 for row in found.rows)
    facts = [row for row in found.rows if row.region == "us-east4" and row.item == "n2-standard-8"]
    assert {row.basis: round(row.usd, 6) for row in facts} == {
        Basis.ON_DEMAND: 0.437512,
        Basis.SUSTAINED_USE: 0.350097,
        Basis.RESERVED_1Y: 0.261864,
        Basis.RESERVED_3Y: 0.187048,
    }
    assert len(PriceBook(found.rows).providers) == 1
