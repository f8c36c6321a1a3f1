"""Numbers for people: one form for each."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nephoscope.model import numbers
from nephoscope.model.numbers import Between, interval, significant
from nephoscope.model.words import left_in_words
from nephoscope.report.tables.rows import text_of


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (Between(0.00123456, 0.00123036, 0.00123876), "s", "1.235 ms"),
        (Between(0.0123, 0.0111, 0.0135), "s", "12.3 ms"),
        (Between(0.0, -1.0, 1.0), "1/min", "0.0/min"),
        (Between(1894.2, 1700.0, 2100.0), "bogo-op/s", "1,894 bogo-op/s"),
        (0.00000075, "s", "750 ns"),
        (0.0, "s", "0 s"),
        (3.5, "s", "3.500 s"),
        (75.3, "s", "75.30 s"),
        (3.4 * 1024**3, "B/s", "3.400 GiB/s"),
        (0.0, "B", "0 B"),
        (12345.678, "IOPS", "12,346 IOPS"),
        (0.2345, "share", "23.45 %"),
        (25.6e9, "bit/s", "25.60 Gbit/s"),
        (1.5, "1", "1.500"),
        (32.0, "warehouses", "32 warehouses"),
        (12345.0, "1/s", "12,345/s"),
    ],
)
def test_a_quantity_has_the_digits_that_its_interval_allows(number: numbers.Number, unit: str, text: str) -> None:
    assert numbers.quantity(number, unit) == text


@given(
    st.sampled_from(["s", "B", "B/s", "share", "IOPS", "1"]),
    st.floats(min_value=1e-12, max_value=1e15),
    st.floats(min_value=0, max_value=1),
)
def test_a_written_number_is_the_number(unit: str, value: float, width: float) -> None:
    form = numbers.quantity_form(Between(value, value * (1 - width), value * (1 + width)), unit)
    read = float(form.bare(value).replace(",", ""))
    assert read == pytest.approx(value / form.divisor, abs=0.51 * 10.0**-form.decimals)


@given(st.floats(1e-6, 1e6).filter(lambda value: value != 1), st.floats(0, 0.5))
def test_a_ratio_is_never_written_on_the_other_side_of_one(value: float, width: float) -> None:
    assume(abs(value - 1) > 1e-8)
    ratio = numbers.ratio(Between(value, value * (1 - width), value * (1 + width)))
    assert (float(ratio.replace(",", "").removesuffix(numbers.TIMES)) >= 1) == (value > 1)


@given(st.floats(1e-9, 1e12), st.integers(1, 6))
def test_significant_digits_lose_at_most_half_a_unit_of_the_last(value: float, digits: int) -> None:
    written = float(significant(value, digits).replace(",", ""))
    assert abs(written - value) <= max(0.5 * value * 10 ** (1 - digits), 1e-12)


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (1.934, None, None, "1.93×"),
        (0.5123, None, None, "0.512×"),
        (1.0047, None, None, "1.005×"),
        (0.99996, None, None, "0.99996×"),
        (1.0, None, None, "1.000×"),
        (12.3, None, None, "12.3×"),
        (1.91, 1.77, 2.05, "1.91× (1.77 to 2.05×)"),
        (1.15, 0.95, 1.39, "1.15× (0.95 to 1.39×)"),
        (1.15, 1.142, 1.158, "1.150× (1.142 to 1.158×)"),
        (3.16, 3.1571, 3.1634, "3.160× (3.157 to 3.163×)"),
        (1.02, 1.0003, 1.0412, "1.0200× (1.0003 to 1.0412×)"),
        (1.30, 1.2333, 1.3711, "1.30× (1.23 to 1.37×)"),
        (2.0, 2.0, 2.0, "2.00× (2.00 to 2.00×)"),
    ],
)
def test_a_ratio_is_finer_near_one_and_its_ends_have_its_decimals(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    number = interval(value, low, high)
    ends = f" ({numbers.ends(number, numbers.ratio_form(number))})" if isinstance(number, Between) else ""
    assert numbers.ratio(number) + ends == text


@pytest.mark.parametrize(
    ("percent", "text"),
    [(0.0, "0 %"), (0.004, "<0.01 %"), (0.344, "0.34 %"), (1.24, "1.2 %"), (9.96, "10 %"), (1414.3, "1,414 %")],
)
def test_percent_has_two_digits(percent: float, text: str) -> None:
    assert numbers.percent(percent) == text
    assert numbers.share(percent / 100) == text


def test_the_ends_of_a_percentage_have_its_decimals() -> None:
    part = Between(1.7, 0.912, 12.41)
    assert numbers.ends(part, numbers.percent_form(part)) == "0.9 to 12.4 %"


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0.00"),
        (0.0487912, "$0.0488"),
        (0.04, "$0.04"),
        (0.5843, "$0.58"),
        (5.3841, "$5.38"),
        (101.52, "$101.52"),
        (1234.5, "$1,234.50"),
        (101_491.706, "$101,491.71"),
    ],
)
def test_money_has_cents_and_small_amounts_three_digits(usd: float, text: str) -> None:
    assert numbers.money(usd) == text


def test_a_listed_rate_has_the_digits_that_tell_it_from_others() -> None:
    rates = {0.0: "$0.00", 0.096: "$0.096", 0.1: "$0.10", 0.3328: "$0.3328", 0.194236: "$0.1942", 12.24: "$12.24"}
    assert {usd: numbers.list_price(usd) for usd in rates} == rates
    assert text_of("usd_per_hour", 0.096, numbers.scale_for("", [])) == "$0.096"


def test_missing_is_never_zero() -> None:
    written = (
        numbers.scale_for("s", []).text(None),
        numbers.percent(None),
        numbers.ratio(None),
        numbers.byte_size(None),
        numbers.money(None),
        numbers.list_price(None),
    )
    assert set(written) == {numbers.MISSING}


def test_coverage_is_cut_and_never_rounded_up_to_95() -> None:
    written = [numbers.coverage(value) for value in (0.9499, 0.96875, 0.875, 0.95)]
    assert written == ["94.9 %", "96.8 %", "87.5 %", "95 %"]


@pytest.mark.parametrize(("value", "text"), [(2 / 924, "0.0022"), (0.00003, "<0.0001"), (0.51234, "0.51")])
def test_a_probability_has_two_digits(value: float, text: str) -> None:
    assert numbers.probability(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (8.0, "8 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3600 * 3 + 600, "3 h 10 min"),
        (86400, "24 h (1.0 days)"),
        (50_366_727, "13,991 h (582.9 days)"),
    ],
)
def test_a_long_duration_has_its_days_beside_it(seconds: float, text: str) -> None:
    assert numbers.duration(seconds) == text


def test_what_is_left_is_said_in_whole_seconds() -> None:
    assert left_in_words(8.2, may_stop=False) == "about 8 s left"


def test_moments_are_utc() -> None:
    assert numbers.moment(0) == "1970-01-01 00:00 UTC"


def test_a_column_has_the_unit_of_its_largest_value_and_others_their_own() -> None:
    near, far = Between(57.1e-6, 56.5e-6, 57.7e-6), Between(61.2e-3, 60.6e-3, 61.8e-3)
    column = numbers.scale_for("s", [near.value, far.value])
    assert (column.unit, column.number(far), column.number(near)) == ("ms", "61.20", "57.10 µs")
    assert (column.ends(far), column.ends(near)) == ("60.60 – 61.80", "56.50 – 57.70 µs")
    assert column.text(far) == "61.20 ms"
