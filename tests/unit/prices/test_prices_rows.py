"""Our own CSV: what is written is read back, and every mistake has its line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.errors import InputError
from nephoscope.prices.rows import COLUMNS, Basis, Kind, Price, Unit, first_day, parse_csv, read_csv, to_csv

HEADER = "provider,region,kind,item,unit,basis,usd,source,licence,date"
GOOD = "aws,us-east-1,machine,m6i.2xlarge,hour,on-demand,0.384,a list,MIT,2022-06-23"

text = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=12)
rows = st.builds(
    Price,
    provider=text,
    region=text,
    kind=st.sampled_from(Kind),
    item=text,
    unit=st.sampled_from(Unit),
    above=st.floats(0, 1e6),
    up_to=st.none() | st.floats(2e6, 1e9),
    basis=st.sampled_from(Basis),
    terms=st.just("") | text,
    usd=st.floats(0, 1e6),
    source=text,
    licence=text,
    date=st.dates().map(str) | st.sampled_from(["2022", "2022-03"]),
    disputed=st.just("") | text,
    note=st.just("") | text,
)


@given(st.lists(rows, max_size=5))
def test_what_is_written_is_read_back(written: list[Price]) -> None:
    assert parse_csv(to_csv(written), "a.csv") == written


def test_optional_columns_may_be_left_out() -> None:
    (row,) = parse_csv(f"{HEADER}\n{GOOD}\n\n", "a.csv")
    assert (row.usd, row.above, row.up_to, row.terms, row.note) == (0.384, 0, None, "", "")
    assert row.place == "aws us-east-1 m6i.2xlarge"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (GOOD.replace("0.384", "cheap"), "a.csv:3: usd: Input should be a valid number"),
        (GOOD.replace("0.384", ""), "a.csv:3: usd: Field required"),
        (GOOD.replace("0.384", "-1"), "a.csv:3: usd: Input should be greater than or equal to 0"),
        (GOOD.replace("0.384", "inf"), "a.csv:3: usd: Input should be a finite number"),
        (GOOD.replace("on-demand", "cheap"), "a.csv:3: basis: Input should be 'on-demand'"),
        (GOOD.replace("hour", "day"), "a.csv:3: unit: Input should be 'hour'"),
        (GOOD.replace("2022-06-23", "June"), "a.csv:3: date: not a date, month or year: 'June'"),
        (GOOD.replace("2022-06-23", "2022-13"), "a.csv:3: date: month must be in 1..12"),
        (GOOD + ",more", "a.csv:3: 11 cells, but 10 columns"),
        (GOOD + '"x', "a.csv:3: "),
        ('"' + GOOD, "not CSV"),
    ],
)
def test_a_mistake_has_its_line(bad: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_csv(f"{HEADER}\n{GOOD}\n{bad}\n", "a.csv")
    assert words in raised.value.message


def test_every_mistake_is_told_at_once() -> None:
    with pytest.raises(InputError) as raised:
        parse_csv(f"{HEADER}\n{GOOD.replace('0.384', 'x')}\n{GOOD}\n{GOOD.replace('hour', 'x')}\n", "a.csv")
    assert [line[:8] for line in raised.value.message.splitlines()] == ["a.csv:2:", "a.csv:4:"]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("", "no column 'provider'"),
        (HEADER.replace("usd", "eur"), "no column 'usd'; unknown column 'eur'"),
        (f"{HEADER},date", "column 'date' appears twice"),
    ],
)
def test_columns_are_checked_first(header: str, words: str) -> None:
    with pytest.raises(InputError, match=r"a\.csv:1: ") as raised:
        parse_csv(f"{header}\n{GOOD}\n", "a.csv")
    assert words in raised.value.message
    assert ", ".join(COLUMNS) in raised.value.hint


def test_a_tier_has_a_width() -> None:
    with pytest.raises(InputError, match=r"a\.csv:2: the tier ends at 5, before it starts at 10"):
        parse_csv(f"{HEADER},above,up_to\n{GOOD},10,5\n", "a.csv")


def test_a_byte_order_mark_is_no_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{HEADER}\r\n{GOOD}\r\n", encoding="utf-8-sig", newline="")
    assert len(read_csv(tmp_path / "a.csv")) == 1


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_csv(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        read_csv(tmp_path / "b.csv")


@pytest.mark.parametrize(("said", "day"), [("2022", "2022-01-01"), ("2022-03", "2022-03-01"), ("2022-03-07",) * 2])
def test_a_date_counts_from_its_first_day(said: str, day: str) -> None:
    assert str(first_day(said)) == day
