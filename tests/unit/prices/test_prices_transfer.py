"""Bytes between machines: which price of the book a way has, who pays it, and a formula that prints itself."""

from datetime import date
from typing import Any

import pytest
import yaml

from nephoscope.prices.book import Pick, PriceBook, shipped
from nephoscope.prices.cost import METHODS
from nephoscope.prices.offers import sustained_use_percent
from nephoscope.prices.rows import Basis, Kind, Price, Unit
from nephoscope.prices.transfer import Way, price_of_way, transfer_month
from tests.support.shared_data import shared

DAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("provider", "way", "here", "there", "usd", "both_ends"),
    [
        ("aws", Way.SAME_ZONE, "us-east-1", "us-east-1", 0, False),
        ("aws", Way.BETWEEN_ZONES, "us-east-1", "us-east-1", 0.01, True),
        ("aws", Way.BETWEEN_REGIONS, "us-east-1", "us-east-2", 0.01, False),
        ("aws", Way.BETWEEN_REGIONS, "us-east-1", "eu-west-1", 0.02, False),
        ("aws", Way.BETWEEN_REGIONS, "us-west-2", "us-east-1", 0.02, False),
        ("gcp", Way.BETWEEN_ZONES, "us-east4", "us-east4", 0.01, False),
        ("gcp", Way.BETWEEN_REGIONS, "us-east4", "us-west1", 0.01, False),
        ("azure", Way.BETWEEN_REGIONS, "eastus", "westus2", 0.02, False),
    ],
)
def test_the_shipped_book_has_a_price_of_this_way(
    provider: str, way: Way, here: str, there: str, usd: float, both_ends: bool
) -> None:
    found = price_of_way(shipped(), DAY, provider, way, here, there)
    assert (found.pick.price.usd, found.both_ends) == (usd, both_ends)


@pytest.mark.parametrize(
    ("provider", "way", "here", "there"),
    [
        ("aws", Way.BETWEEN_ZONES, "eu-west-1", "eu-west-1"),
        ("aws", Way.BETWEEN_REGIONS, "eu-west-1", "us-east-1"),
        ("gcp", Way.SAME_ZONE, "us-east4", "us-east4"),
        ("gcp", Way.BETWEEN_ZONES, "europe-west1", "europe-west1"),
        ("azure", Way.BETWEEN_ZONES, "eastus", "eastus"),
    ],
)
def test_a_way_that_the_book_does_not_have_is_missing_and_no_neighbours_price(
    provider: str, way: Way, here: str, there: str
) -> None:
    found = price_of_way(shipped(), DAY, provider, way, here, there)
    assert found.pick.reason_missing == f"{provider} {here}: transfer {way}: not in the price book"


def test_a_price_that_is_younger_than_the_study_says_so() -> None:
    found = price_of_way(shipped(), date(2022, 6, 30), "gcp", Way.BETWEEN_ZONES, "us-east4", "us-east4")
    assert "the first on-demand price is of 2026, after 2022-06-30" in str(found.pick.reason_missing)


def row(usd: float, **more: Any) -> Price:
    values = {"provider": "p", "region": "r", "kind": Kind.TRANSFER, "item": "intra-region", "unit": Unit.GB}
    stated = {"basis": Basis.ON_DEMAND, "usd": usd, "source": "list", "licence": "MIT", "date": "2026"}
    return Price(**(values | stated | more))


def test_a_month_is_a_product_that_prints_itself() -> None:
    found = transfer_month("between zones", 1e6, Pick(prices=(row(0.01),)), METHODS["default"])
    assert found.usd == pytest.approx(1e6 * 730 * 3600 / 1e9 * 0.01)
    assert found.formula.splitlines() == [
        "transfer month = bytes a second × seconds × rate (730 hours, the whole cluster)",
        "  between zones: 1,000,000 B/s × 2,628,000 s = 2,628.00 GB",
        "  transfer: 2628 GB × $0.01 = $26.28  [on-demand, 2026, list]",
        "  $26.28 a month",
    ]


def test_tiers_of_a_month_and_what_lies_beyond_them() -> None:
    tiers = (row(0.02, up_to=1000), row(0.01, above=1000, up_to=3000))
    assert transfer_month("w", 1e6, Pick(prices=tiers), METHODS["default"]).usd == pytest.approx(20 + 16.28)
    beyond = transfer_month("w", 2e6, Pick(prices=tiers), METHODS["default"])
    assert beyond.usd is None
    assert "no price known above 3000 GB" in str(beyond.reason_missing)
    missing = transfer_month("w", 1e6, Pick(reason_missing="not in the book"), METHODS["default"])
    assert (missing.usd, missing.lines) == (None, ())
    assert missing.formula.endswith("missing: not in the book")


def test_the_ways_of_a_price_list_are_found_too() -> None:
    book = PriceBook([row(0.01), row(0.02, item="inter-region to s")])
    assert price_of_way(book, DAY, "p", Way.BETWEEN_ZONES, "r", "r").both_ends
    assert price_of_way(book, DAY, "p", Way.BETWEEN_REGIONS, "r", "s").pick.price.usd == 0.02
    assert price_of_way(book, DAY, "p", Way.BETWEEN_REGIONS, "r", "t").pick.reason_missing


# sustained use


@pytest.mark.parametrize(
    ("machine", "percent"), [("n1-standard-4", 30), ("n2-standard-8", 19.98), ("c2-standard-8", 19.98)]
)
def test_sustained_use_by_the_documented_tiers(machine: str, percent: float) -> None:
    assert sustained_use_percent("gcp", machine) == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize(
    ("provider", "machine"), [("gcp", "t2d-standard-8"), ("gcp", "e2-standard-8"), ("aws", "n1-x"), ("gcp", "c3-1")]
)
def test_no_discount_is_guessed(provider: str, machine: str) -> None:
    assert sustained_use_percent(provider, machine) is None


def test_the_price_list_of_2022_has_the_same_discounts_for_the_same_series() -> None:
    text = shared("prices/gcp-pricing-2022-03-07.yml").read_bytes()
    machines = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["compute"]["instance"]  # noqa: S506
    compared = 0
    for machine, entry in machines.items():
        if machine.startswith("custom"):
            continue  # no type of one name
        for cost in entry["cost"].values():
            if cost.get("hour") and "month" in cost:
                found = 1 - (sustained_use_percent("gcp", machine) or 0) / 100
                assert cost["month"] / 730 / cost["hour"] == pytest.approx(found, abs=2e-4), machine
                compared += 1
    assert compared > 1000
