"""Numbers for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.records import Direction, Metric
from nephoscope.report import format as people
from nephoscope.report.figures.spec import as_script
from nephoscope.report.lookup import scale_of
from nephoscope.report.wording import operation_title, percentile_number, percentile_of, tie_text
from tests.unit.report import report_example as example


@pytest.mark.parametrize(
    ("unit", "value", "half_width", "expected"),
    [
        ("s", 0.00123456, 0.0000042, "1.2346 ms"),
        ("s", 0.00000075, 0.0000001, "750 ns"),
        ("s", 0.0, 0.0, "0 s"),
        ("s", 75.3, 1.0, "75.3 s"),
        ("B/s", 3.4 * 1024**3, 0.1 * 1024**3, "3.40 GiB/s"),
        ("B", 0.0, 0.0, "0 B"),
        ("IOPS", 12345.678, 120.0, "12,346 IOPS"),
        ("bogo-op/s", 1894.25, 1.3, "1,894.2 bogo-op/s"),
        ("share", 0.2345, 0.004, "23.45 %"),
        ("1/min", -0.0001, 1.0, "0.0/min"),
    ],
)
def test_values_carry_the_digits_their_interval_allows(
    unit: str, value: float, half_width: float, expected: str
) -> None:
    assert people.scale_for(unit, [value], [half_width]).text(value) == expected


@given(
    st.sampled_from(["s", "B", "B/s", "share", "IOPS", "1"]),
    st.floats(min_value=1e-12, max_value=1e15),
    st.floats(min_value=0, max_value=1e15),
)
def test_a_written_number_is_the_number(unit: str, value: float, half_width: float) -> None:
    scale = people.scale_for(unit, [value], [half_width])
    read = float(scale.number(value).replace(",", "").replace("\N{MINUS SIGN}", "-"))
    assert read == pytest.approx(scale.value(value), abs=0.51 * 10.0**-scale.decimals)


def test_missing_is_never_zero() -> None:
    scale = people.scale_for("s", [])
    for text in (scale.text(None), people.percent(None), people.ratio(None), people.byte_size(None)):
        assert text == people.MISSING


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(0.0, "0 %"), (0.004, "<0.01 %"), (0.344, "0.34 %"), (1.24, "1.2 %"), (9.96, "10 %"), (123.4, "123 %")],
)
def test_percent_has_two_digits(percent: float, expected: str) -> None:
    assert people.percent(percent) == expected


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (12860.0, 4, "12,860"),
        (1234567.8, 4, "1,234,568"),
        (9.4999, 2, "9.5"),
        (9.9999, 4, "10.00"),
        (0.00004, 2, "0.000040"),
        (0, 4, "0"),
    ],
)
def test_significant_digits_have_no_exponent(value: float, digits: int, expected: str) -> None:
    assert people.significant(value, digits) == expected


def test_coverage_is_cut_and_never_rounded_up_to_95() -> None:
    assert people.coverage(0.9499) == "94.9 %"
    assert people.coverage(0.96875) == "96.8 %"
    assert people.coverage(0.875) == "87.5 %"


def test_an_interval_that_excludes_one_does_not_read_as_if_it_began_there() -> None:
    assert people.ratio_interval(1.02, 1.0003, 1.0412) == "1.0003 \N{EN DASH} 1.0412\N{MULTIPLICATION SIGN}"
    assert people.ratio_interval(1.3, 1.2345, 1.3712) == "1.23 \N{EN DASH} 1.37\N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize(
    ("margin_percent", "expected"), [(1.5, ("0.985", "1.015")), (10, ("0.909", "1.100")), (0.01, ("0.9999", "1.0001"))]
)
def test_the_ratios_of_a_tie_are_named_by_both_ends(margin_percent: float, expected: tuple[str, str]) -> None:
    low, high = expected
    assert tie_text(margin_percent) == f"{low} \N{EN DASH} {high}\N{MULTIPLICATION SIGN}"


def test_ratios_are_finer_near_one() -> None:
    assert [people.ratio(value) for value in (1.934, 0.5123, 1.0047, 12.3)] == [
        f"{text}{people.TIMES}" for text in ("1.93", "0.512", "1.005", "12.3")
    ]


@pytest.mark.parametrize(
    ("usd", "expected"),
    [(0, "$0"), (0.0487912, "$0.04879"), (5.3841, "$5.384"), (101.52, "$101.52"), (1234.5, "$1,234.50")],
)
def test_money_shows_cents_and_small_amounts_to_four_digits(usd: float, expected: str) -> None:
    assert people.money(usd) == expected


def test_moments_are_utc() -> None:
    assert people.moment(0) == "1970-01-01 00:00 UTC"
    assert people.duration(3725) == "1 h 2 min"
    assert people.duration(59.94) == "59.9 s"
    assert people.duration(52.2 * 3600) == "52 h 12 min (2.2 days)"


def latency(name: str, title: str = "") -> Metric:
    return Metric(name=name, unit="s", direction=Direction.LOWER, title=title)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("new_order_response_p99", ("new_order_response", "p99")),
        ("p50_response", ("response", "p50")),
        ("random-read.latency_p99.9", ("random_read_latency", "p99.9")),
        ("latency_p999", ("latency", "p99.9")),
        ("duration", None),
        ("stop50", None),
    ],
)
def test_percentiles_are_found_in_names(name: str, expected: tuple[str, str] | None) -> None:
    assert percentile_of(latency(name)) == expected


def test_titles_lose_their_percentile() -> None:
    assert operation_title(latency("x_p99", "New order response, p99"), "x") == "New order response"
    assert operation_title(latency("x_p99"), "new_order") == "New order"
    assert percentile_number("p999") == percentile_number("p99.9") == pytest.approx(99.9)


@given(st.text())
def test_script_json_holds_no_tag(text: str) -> None:
    assert not set("<>&") & set(as_script({"text": text}))


def test_an_interval_is_never_written_as_a_point() -> None:
    assert people.ratios(1.91, 1.77, 2.05) == ("1.91", "1.77", "2.05")
    assert people.ratios(3.16, 3.1571, 3.1634) == ("3.160", "3.157", "3.163")
    assert people.ratios(2.0, 2.0, 2.0) == ("2.00", "2.00", "2.00")


def test_an_interval_has_as_many_decimals_as_its_value() -> None:
    """1.23 is near one and 1.30 is not, so that each alone has its own number of decimals."""
    assert people.ratios(1.30, 1.2333, 1.3711) == ("1.30", "1.23", "1.37")
    assert people.ratios(1.02, 0.95, 1.00004) == ("1.02000", "0.95000", "1.00004")
    assert people.percentages(1.7, 0.912, 12.41) == ("1.7", "0.9", "12.4")


def test_few_digits_are_significant_ones() -> None:
    found = [
        people.scale_for(unit, [value], [value / 1e6], digits=people.FEW_DIGITS).text(value)
        for unit, value in (("bit/s", 25.6e9), ("IO/s", 16079.7), ("B/s", 921.21 * 2**20), ("", 0.000123456))
    ]
    assert found == ["25.60 Gbit/s", "16,080 IO/s", "921.2 MiB/s", "0.000123"]


def test_what_is_shown_has_a_unit_of_its_own_beside_values_that_are_not() -> None:
    trip = Metric(name="trip", unit="s", direction=Direction.LOWER, title="Round trip", clock="client")
    one = example.laptop().statistics[0]
    near, far = (
        one.model_copy(update={"level": None, "median": median, "low": 0.99 * median, "high": 1.01 * median})
        for median in (57.1e-6, 61.2e-3)
    )
    assert scale_of(trip, [near]).text(near.median) == "57.10 µs"
    assert scale_of(trip, [near, far]).text(far.median) == "61.20 ms"
