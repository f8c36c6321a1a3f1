"""How numbers are written, and that no number can be written that is not in `numbers`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.insights import words
from nephoscope.insights.words import say
from nephoscope.model.numbers import quantity, significant


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [
        ("count", 12345, "12,345"),
        ("ratio", 1.9277, "1.93"),
        ("ratio", 0.48195, "0.482"),
        ("ratio", 1.0044, "1.004"),
        ("ratio", 1.0, "1.000"),
        ("ratio", 0.99996, "0.99996"),  # never written as if it were 1
        ("ratio", 12.34, "12.3"),
        ("percent", 0.3371, "0.34"),
        ("percent", 9.96, "10"),
        ("percent", 1414.3, "1,414"),
        ("percent", 0.0, "0"),
        ("coverage", 93.75, "93.7"),  # cut, not rounded
        ("coverage", 94.99, "94.9"),
        ("coverage", 95.0, "95"),
        ("probability", 2 / 924, "0.0022"),
        ("money", 1234.5, "1,234.50"),
        ("money", 0.5843, "0.58"),
        ("money", 0.0031249, "0.0031"),
        ("machine_time", 0.0058, "21 seconds"),
        ("machine_time", 1 / 3600, "1 second"),
        ("machine_time", 0.3, "18 minutes"),
        ("machine_time", 1.24, "74 minutes"),
        ("machine_time", 3.5, "3.5 hours"),
        ("machine_time", 52.0, "52 hours (2.2 days)"),
        ("machine_time", 5200.0, "5,200 hours (217 days)"),
    ],
)
def test_styles(style: str, value: float, text: str) -> None:
    assert words.STYLES[style](value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.001235, "s", "1.235 ms"),
        (0.0, "s", "0 ns"),
        (3.5, "s", "3.500 s"),
        (3 * 2**30, "B/s", "3.000 GiB/s"),
        (0.125, "share", "12.50 %"),
        (25460.2, "New-Orders/min", "25,460 New-Orders/min"),
        (1.5, "1", "1.500"),
        (12345.0, "1/s", "12,345/s"),
        (1000, "1/min", "1,000/min"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@given(st.floats(1e-9, 1e12), st.integers(1, 6))
def test_significant_digits_lose_at_most_half_a_unit_of_the_last(value: float, digits: int) -> None:
    written = float(significant(value, digits).replace(",", ""))
    assert abs(written - value) <= max(0.5 * value * 10 ** (1 - digits), 1e-12)


@given(st.floats(-1e6, 1e6).filter(lambda value: value != 1))
def test_a_ratio_is_never_written_on_the_other_side_of_one(value: float) -> None:
    written = float(words.ratio(value).replace(",", ""))
    assert (written >= 1) == (value > 1) or abs(value - 1) < 1e-9


def test_a_template_with_a_digit_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="template"):
        say("r", "note", "7 trials", numbers={}, trials=[])
    with pytest.raises(ValueError, match="as a word"):
        say("r", "note", "{a:count}", numbers={"a": 1}, trials=[], a="x")
    with pytest.raises(KeyError):
        say("r", "note", "{a:count}", numbers={}, trials=[])


def test_only_the_numbers_used_are_kept_and_evidence_is_sorted() -> None:
    found = say("r", "note", "{b:count} of {name}", numbers={"a": 1, "b": 2.0}, trials=["y", "x", "y"], name="z9")
    assert (found.text, found.numbers, found.trials) == ("2 of z9", {"b": 2.0}, ["x", "y"])


def test_keys_of_a_long_list_are_distinct_and_short() -> None:
    keys = [key for key, _ in words.keyed(range(5000))]
    assert len(set(keys)) == 5000
    assert max(map(len, keys)) == len("k5000")


def test_a_single_run_is_told_without_an_interval() -> None:
    numbers = {"low": 1.0, "high": 2.0, "coverage": 96.875, "n": 6.0}
    told = [words.say("rule", "answer", words.interval_of_one(n, "ratio"), numbers=numbers, trials=[]) for n in (1, 6)]
    assert told[0].text == "single run, no interval"
    assert told[1].text == "96.8 % interval 1.000 to 2.00, n = 6"
