"""AWS's bulk file, its GetProducts and its savings plans become rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.prices.rows import Basis, Unit
from tests.support.shared_data import shared
from tests.unit.prices.price_lists import AWS, SAVINGS, read, read_json, said


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
        "machine whose operatingSystem is not Linux": 1,
        "place The Moon, with an unknown region code": 1,
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


def test_a_real_reservation_of_aws() -> None:
    found = read("aws", shared("prices/api-samples/aws_getproducts_m5.large.json"))
    by_terms = {(row.basis, row.terms): row.usd for row in found.rows}
    assert by_terms[Basis.ON_DEMAND, ""] == 0.096
    assert by_terms[Basis.RESERVED_1Y, "all upfront, standard"] == pytest.approx(494 / 8760)
    assert len(by_terms) == 13
