"""A table costs no more than its file lets expect."""

import io
from collections.abc import Callable
from contextlib import suppress

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nephoscope.analysis.parquet_cost import cost_of
from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import frame_of, from_parquet, to_parquet
from nephoscope.model.errors import DamagedFile
from nephoscope.model.rows import MeasurementRow, TrialRow
from tests.unit.report.priced_example import priced


def parquet(frame: pl.DataFrame, **options: object) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


def equal_rows() -> pl.DataFrame:
    return pl.DataFrame({"configuration": ["x"] * 6_000_000})


def one_long_list() -> pl.DataFrame:
    return pl.DataFrame({"configuration": [["x"] * 6_000_000]})


def one_long_text() -> pl.DataFrame:
    return pl.DataFrame({"configuration": ["x" * 100_000_000]})


def a_long_text_in_many_rows() -> pl.DataFrame:
    return pl.DataFrame({"configuration": ["x" * 100_000] * 10_000})


def a_long_text_in_many_lists() -> pl.DataFrame:
    return pl.DataFrame({"configuration": [["x" * 100_000]] * 10_000})


def nothing_but_nulls() -> pl.DataFrame:
    return pl.DataFrame({"configuration": [None] * 6_000_000}, schema={"configuration": pl.String})


@pytest.mark.parametrize(
    "made",
    [
        equal_rows,
        one_long_list,
        one_long_text,
        a_long_text_in_many_rows,
        a_long_text_in_many_lists,
        nothing_but_nulls,
    ],
)
def test_a_small_file_that_stands_for_much_is_damaged(made: Callable[[], pl.DataFrame]) -> None:
    content = parquet(made())
    assert len(content) < 500_000
    with pytest.raises(DamagedFile, match=r"bytes stand for \d"):
        frame_of(content, TrialRow)


def test_a_table_with_more_rows_in_its_footer_than_in_its_pages_is_damaged() -> None:
    content = parquet(pl.DataFrame({"a": [1] * 77_777}), statistics=False)
    assert cost_of(content).values >= 77_777
    huge = content.replace(varint(77_777), varint(1_000_000))
    assert len(huge) == len(content)
    assert cost_of(huge).values >= 1_000_000


def varint(number: int) -> bytes:
    """Zigzag, as Thrift writes it."""
    left, found = number << 1, b""
    while left > 127:
        found, left = found + bytes([left & 127 | 128]), left >> 7
    return found + bytes([left])


@pytest.mark.parametrize("name", in_columns())
def test_every_value_of_a_table_is_counted(name: str) -> None:
    kind = in_columns()[name].row
    frame = frame_of(to_parquet(priced()[kind], kind), kind)
    for options in ({}, {"row_group_size": 7}, {"data_page_size": 100}, {"compression": "uncompressed"}):
        assert cost_of(parquet(frame, **options)).values >= frame.width * frame.height


@settings(max_examples=40)
@given(place=st.integers(min_value=0), byte=st.integers(0, 255), cut=st.integers(0, 3_000))
def test_a_damaged_table_is_named_as_such(place: int, byte: int, cut: int) -> None:
    content = bytearray(to_parquet(priced()[MeasurementRow][:3], MeasurementRow))
    content[place % len(content)] = byte
    for damaged in (bytes(content), bytes(content[: len(content) - cut])):
        with suppress(DamagedFile):
            from_parquet(damaged, MeasurementRow)
