"""A price has a basis; a missing one has a reason and is never 0."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.prices.quote import quote
from nephoscope.study.model import Configuration, Machine


def test_a_price_given() -> None:
    found = quote(Configuration(name="a", price_usd_per_hour=0.34, price_basis="on-demand list price"), 10)
    assert found.price_usd == pytest.approx(3.4)
    assert found.basis == "on-demand list price"
    assert found.reason_missing is None


def test_a_price_without_a_basis_says_so() -> None:
    assert quote(Configuration(name="a", price_usd_per_hour=1), 1).basis == (
        "price_usd_per_hour of the study; basis not given"
    )


@pytest.mark.parametrize(("provider", "words"), [("local", "local machine"), ("fake", "provider fake")])
def test_a_missing_price_stays_missing(provider: str, words: str) -> None:
    found = quote(Configuration.model_validate({"name": "a", "provider": provider}), 10)
    assert found.price_usd is None
    assert found.basis is None
    assert found.reason_missing == f"{words}: no price given"


def test_hours_are_not_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        quote(Configuration(name="a", price_usd_per_hour=1), -1)


@given(st.none() | st.floats(0.001, 1000), st.floats(0, 10_000))
def test_either_a_price_with_its_basis_or_a_reason(per_hour: float | None, hours: float) -> None:
    found = quote(Configuration(name="a", price_usd_per_hour=per_hour), hours)
    assert (found.price_usd is None) == (found.basis is None) == (found.reason_missing is not None)


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
    assert (found.price_usd, found.basis, found.reason_missing) == (None, None, reason)


def test_fakes_have_no_price_whatever_their_type() -> None:
    fake = Configuration(name="a", provider="fake", region="us-east-1", database_machine=Machine(type="m6i.2xlarge"))
    assert quote(fake, 1).reason_missing == "provider fake: no price given"
