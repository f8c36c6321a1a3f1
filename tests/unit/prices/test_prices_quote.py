"""A price has a basis; a missing one has a reason and is never 0."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.prices.book import shipped
from nephoscope.prices.cost import METHODS
from nephoscope.prices.offers import bills_of, offer_of
from nephoscope.prices.quote import quote
from nephoscope.study.model import Configuration, Machine


def test_a_price_given() -> None:
    found = quote(Configuration(name="a", price_usd_per_hour=0.34, price_basis="on-demand list price"), 10)
    assert found.price_usd == pytest.approx(3.4)
    assert found.basis == "on-demand list price"
    assert found.missing is None


def test_a_price_without_a_basis_says_so() -> None:
    assert quote(Configuration(name="a", price_usd_per_hour=1), 1).basis == (
        "price_usd_per_hour of the study; basis not given"
    )


@pytest.mark.parametrize(("provider", "words"), [("local", "local machine"), ("fake", "provider fake")])
def test_a_missing_price_stays_missing(provider: str, words: str) -> None:
    found = quote(Configuration.model_validate({"name": "a", "provider": provider}), 10)
    assert found.price_usd is None
    assert found.basis is None
    assert str(found.missing) == f"{words}: no price given"


def test_hours_are_not_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        quote(Configuration(name="a", price_usd_per_hour=1), -1)


@given(st.none() | st.floats(0.001, 1000), st.floats(0, 10_000))
def test_either_a_price_with_its_basis_or_a_reason(per_hour: float | None, hours: float) -> None:
    found = quote(Configuration(name="a", price_usd_per_hour=per_hour), hours)
    assert (found.price_usd is None) == (found.basis is None) == (found.missing is not None)


def test_disks_of_both_roles_are_counted() -> None:
    def hour(**more: Any) -> float:
        price = quote(in_the_cloud(**more), 1).price_usd
        assert price is not None
        return price

    gp3 = [{"kind": "gp3", "size": 1000, "iops": 8000, "throughput": 125}]
    database = {"type": "m6i.2xlarge", "count": 3}
    load = {"type": "c5a.8xlarge"}
    with_volumes = hour(database_machine=Machine.model_validate({**database, "volumes": gp3}))
    volume = (1000 * 0.08 + 5000 * 0.005) / 730  # 3,000 IOPS and 125 MiB/s are in the price
    assert with_volumes - hour() == pytest.approx(3 * volume)
    two = [{**gp3[0], "count": 2}]
    of_load = hour(load_machine=Machine.model_validate({**load, "volumes": two}))
    assert of_load - hour() == pytest.approx(2 * volume)
    assert "machines and volumes" in str(
        quote(in_the_cloud(load_machine=Machine.model_validate({**load, "volumes": two})), 1).basis
    )
    missing = Machine.model_validate({**database, "volumes": [{"kind": "gp9", "size": 1}]})
    assert "gp9" in str(quote(in_the_cloud(database_machine=missing), 1).missing)


def test_a_month_of_all_machines_is_missing_where_the_load_machine_has_other_disks() -> None:
    gp3 = [{"kind": "gp3", "size": 100}]
    database = Machine.model_validate({"type": "m6i.2xlarge", "count": 3, "volumes": gp3})
    for load, known in ((gp3, True), (None, False)):
        machine = Machine.model_validate({"type": "m6i.2xlarge", "volumes": load})
        offer = offer_of(in_the_cloud(database_machine=database, load_machine=machine))
        assert offer is not None
        (bill, *_) = bills_of(offer, shipped(), date(2026, 8, 1), METHODS["everything"])
        assert (bill.bill.usd is not None) is known


def test_local_disks_cost_where_they_are_sold_apart() -> None:
    def hour(provider: str, region: str, kind: str, disks: int | None) -> float:
        machine = Machine(type=kind, local_ssds=disks)
        places = {"provider": provider, "region": region, "database_machine": machine, "load_machine": None}
        return quote(in_the_cloud(**places), 1).price_usd or 0.0

    gcp = [hour("gcp", "us-east4", "n2-standard-8", disks) for disks in (None, 2)]
    assert gcp[1] - gcp[0] == pytest.approx(2 * 375 * 0.088 / 730)
    assert hour("aws", "us-east-1", "m5d.4xlarge", None) == hour("aws", "us-east-1", "m5d.4xlarge", 2) > 0


# the book, where provider, region and types are known there


def in_the_cloud(**more: Any) -> Configuration:
    """A configuration of a provider that studies cannot name yet."""
    values: dict[str, Any] = {
        "name": "a",
        "provider": "aws",
        "region": "us-east-1",
        "database_machine": Machine(type="m6i.2xlarge", count=3),
        "load_machine": Machine(type="c5a.8xlarge"),
    }
    return Configuration.model_construct(**(values | more))


def test_without_a_price_of_the_study_the_book_is_asked() -> None:
    found = quote(in_the_cloud(), 10)
    assert found.price_usd == pytest.approx(10 * (3 * 0.384 + 1.232))
    assert found.basis == (
        "on-demand, us-east-1, machines without storage "
        "(karpenter-provider-aws zz_generated.pricing_aws.go@6fc13b523, 2026-07-20)"
    )


def test_the_price_of_the_study_comes_first() -> None:
    assert quote(in_the_cloud(price_usd_per_hour=9.0), 1).price_usd == 9


def test_a_price_of_another_region_is_marked() -> None:
    volume = {"kind": "pd-extreme", "size": 1000, "iops": 10_000}
    machine = Machine.model_validate({"type": "n2-standard-8", "volumes": [volume]})
    here = {"provider": "gcp", "region": "us-east4", "database_machine": machine, "load_machine": None}
    found = quote(in_the_cloud(**here), 730)
    assert [str(one) for one in found.elsewhere] == ["us-east4: pd-extreme IOPS as in us-central1"]
    assert found.basis is not None
    assert found.basis.endswith("; us-east4: pd-extreme IOPS as in us-central1")
    assert found.price_usd == pytest.approx(730 * 0.437512 + 1000 * 0.138 + 10_000 * 0.065, rel=1e-3)
    assert quote(in_the_cloud(), 1).elsewhere == ()


def test_the_book_is_asked_for_the_day() -> None:
    found = quote(in_the_cloud(), 1, on=date(2022, 7, 1))
    assert found.basis is not None
    assert found.basis.endswith("2022-06-23)")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"load_machine": Machine(type="x1.none")}, "aws us-east-1 x1.none: not in the price book, and no price given"),
        ({"load_machine": Machine()}, "provider aws: no price given"),
        ({"region": None}, "provider aws: no price given"),
        ({"provider": "nimbus"}, "provider nimbus: no price given"),
    ],
)
def test_one_machine_that_is_not_known_leaves_the_cluster_without_a_price(more: dict[str, Any], reason: str) -> None:
    found = quote(in_the_cloud(**more), 1)
    assert (found.price_usd, found.basis, str(found.missing)) == (None, None, reason)


def test_fakes_have_no_price_whatever_their_type() -> None:
    fake = Configuration(name="a", provider="fake", region="us-east-1", database_machine=Machine(type="m6i.2xlarge"))
    assert str(quote(fake, 1).missing) == "provider fake: no price given"
