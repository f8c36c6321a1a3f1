"""A price has a basis; a missing one has a reason and is never 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.prices.quote import quote
from nephoscope.study.model import Configuration


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
