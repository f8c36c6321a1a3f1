"""For how much of a metric a price is quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.price_rows import COUNTS, MIN_USD, priced_quantity
from nephoscope.model.records import Direction


@pytest.mark.parametrize(
    ("unit", "usd_per_unit", "text"),
    [
        ("SET/s", 0.0005843, "1,000 SET/s"),
        ("1/s", 0.0005843, "1,000/s"),
        ("1/s", 2.5, "1,000/s"),
        ("1", 2.5, "1"),
        ("1/min", 0.00001, "1,000,000/min"),
        ("bit/s", 280e-9, "Gbit/s"),
        ("bit/s", 1e-11, "1,000 Gbit/s"),
        ("B/s", 0.2 / 2**20, "MiB/s"),
        ("B/s", 0.05 / 2**20, "GiB/s"),
        ("B/s", 0.05 / 2**30, "1,000 GiB/s"),
        ("1", 0.05, "1,000"),
    ],
)
def test_a_price_is_quoted_for_a_round_quantity(unit: str, usd_per_unit: float, text: str) -> None:
    assert priced_quantity(unit, usd_per_unit).text == text


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_every_rate_that_is_priced_says_what_it_counts(name: str) -> None:
    benchmark = BENCHMARKS[name]
    try:
        parameters = benchmark.parameters.model_validate({})
    except ValueError:
        parameters = benchmark.parameters.model_validate({"edition": "cr2022"})
    priced = [one for one in benchmark.metrics(parameters) if one.headline and one.direction is Direction.HIGHER]
    assert [one.name for one in priced if one.unit.startswith("1/") and not one.counted] == []


@given(st.sampled_from(["1/s", "IO/s", "bit/s", "B/s", "New-Orders/min"]), st.floats(1e-12, 1e6))
def test_the_cheapest_offer_costs_ten_cents_or_more_unless_no_quantity_is_large_enough(unit: str, usd: float) -> None:
    found = priced_quantity(unit, usd)
    assert found.size * usd >= MIN_USD or found.count == COUNTS[-1]
    assert found.size % found.count == 0
