"""Names of metrics and margins for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.records import Direction, Metric
from nephoscope.report.figures.spec import as_script
from nephoscope.report.wording import operation_title, percentile_number, percentile_of, tie_text


@pytest.mark.parametrize(
    ("margin_percent", "expected"), [(1.5, ("0.985", "1.015")), (10, ("0.909", "1.100")), (0.01, ("0.9999", "1.0001"))]
)
def test_the_ratios_of_a_tie_are_named_by_both_ends(margin_percent: float, expected: tuple[str, str]) -> None:
    low, high = expected
    assert tie_text(margin_percent) == f"{low} \N{EN DASH} {high}\N{MULTIPLICATION SIGN}"


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
