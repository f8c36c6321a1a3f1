"""Prices of database services in the book that ships: what they are, and months that were counted by hand."""

from datetime import date

import pytest

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.prices.book import shipped
from nephoscope.prices.cost import METHODS
from nephoscope.prices.offers import bills_of, offer_of
from nephoscope.prices.quote import quote
from nephoscope.prices.rows import Basis, Kind
from nephoscope.study.load import load_study
from nephoscope.study.model import Configuration

DAY = date(2026, 11, 28)
STUDY = """
name = "s"
[[configurations]]
name = "service"
provider = "managed"
database = { dsn = "postgresql://bench@service.example.com/bench" }
"""
LOAD = """zone = "us-east-1a"
load_machine = { provider = "aws", type = "m6i.2xlarge" }
cloud = { image = "ami-1", ingress = "203.0.113.7/32" }
"""
AURORA = "{ provider = 'aws', region = 'us-east-1', type = 'Aurora PostgreSQL db.t3.large' }"


def service(priced_as: str, more: str = "") -> Configuration:
    text = f'{STUDY}{more}priced_as = {priced_as}\n[[benchmarks]]\nuses = "point-select"\n'
    return load_study(text, "s.toml", BENCHMARKS).configurations[0]


@pytest.mark.parametrize(
    ("place", "sold_as", "volume", "month_usd"),
    [
        # 730 x 0.540397 (vCPUs $241.19 + memory $153.30 a month) + 100 GB x 0.34: two copies, in two zones
        (
            ("gcp", "us-central1"),
            "Cloud SQL db-custom-4-15360 HA",
            "kind = 'Cloud SQL SSD HA', size = 100",
            428.49,
        ),
        # 730 x 0.145 + 1,000 GB x 0.115 + (16,000 - 12,000) IOPS x 0.02 = 105.85 + 115.00 + 80.00
        (
            ("aws", "us-east-1"),
            "RDS PostgreSQL db.t3.large",
            "kind = 'RDS gp3', size = 1000, iops = 16000",
            300.85,
        ),
        # 730 x 4 x 0.222 + 100 GB x 0.35 = 648.24 + 35.00
        (("neon", "aws-us-east-2"), "Neon Scale 4 CU", "kind = 'Neon storage', size = 100", 683.24),
    ],
)
def test_a_month_is_what_a_calculator_says(place: tuple[str, str], sold_as: str, volume: str, month_usd: float) -> None:
    sold = "provider = '{}', region = '{}'".format(*place)
    configuration = service(f"{{ {sold}, type = '{sold_as}', volumes = [{{ {volume} }}] }}")
    offer = offer_of(configuration)
    assert offer is not None
    (bill,) = bills_of(offer, shipped(), DAY, METHODS["default"], [Basis.ON_DEMAND])
    assert bill.bill.usd is not None
    assert round(bill.bill.usd, 2) == month_usd
    quoted = quote(configuration, 730, on=DAY)
    assert quoted.price_usd is not None
    assert round(quoted.price_usd, 2) == month_usd


def test_the_load_machine_is_paid_beside_the_service() -> None:
    alone, both = (quote(service(AURORA, more), 10, on=DAY) for more in ("", LOAD))
    assert alone.price_usd == pytest.approx(1.64)
    assert both.price_usd == pytest.approx(1.64 + 10 * 0.384), "m6i.2xlarge, us-east-1"
    assert "its load machine: on-demand" in str(both.basis)


def test_a_product_that_the_book_lacks_has_no_price() -> None:
    found = quote(service(AURORA.replace("t3.large", "r9.large")), 1, on=DAY)
    assert (found.price_usd, found.missing and found.missing.kind) == (None, "not in the price book")


def test_each_row_has_an_address_and_a_day() -> None:
    rows = [row for row in shipped().rows if row.kind is Kind.MANAGED]
    assert len(rows) == 71
    assert all("/" in row.source and row.date >= "2024" for row in rows)
    assert [row.item for row in rows if row.unexplained_zero] == []
