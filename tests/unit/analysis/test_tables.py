"""Tables: nothing is lost, and equal rows give equal bytes."""

import csv
import io
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.analysis import tables
from nephoscope.analysis.query import csv_of
from nephoscope.insights.registry import analyse
from nephoscope.model.errors import DamagedFile
from nephoscope.model.rows import Comparison, MeasurementRow, Statistic, TrialRow
from nephoscope.model.text import inert, line
from tests.unit.analysis.study_builder import inputs, measurement, rows, trial

FOUND = rows({"a": [1.1, 2.2, 3.3, 4.4, 5.5, 1 / 3], "b": [2.0, 3, 4, 5, 6, 7], "c": [1.0, 2.0]})
STUDY = analyse(inputs(FOUND))
TABLES: list[tuple[tables.Kind, list[Any]]] = [
    (TrialRow, list(STUDY[TrialRow])),
    (MeasurementRow, list(STUDY[MeasurementRow])),
    (Statistic, list(STUDY[Statistic])),
    (Comparison, list(STUDY[Comparison])),
]


@pytest.mark.parametrize(("kind", "many"), TABLES)
def test_round_trips(kind: tables.Kind, many: list[Any]) -> None:
    assert many
    for write, read in ((tables.to_parquet, tables.from_parquet), (tables.to_csv, tables.from_csv)):
        content = write(many, kind)
        assert read(content, kind) == many
    assert tables.csv_of_parquet(tables.to_parquet(many, kind), kind) == tables.to_csv(many, kind)


@pytest.mark.parametrize(("kind", "many"), TABLES)
def test_an_empty_table_has_the_same_columns(kind: tables.Kind, many: list[Any]) -> None:
    assert tables.from_parquet(tables.to_parquet([], kind), kind) == []
    assert tables.from_csv(tables.to_csv([], kind), kind) == []
    head = tables.to_csv(many, kind).splitlines()[0]
    assert tables.to_csv([], kind).splitlines() == [head]
    assert head.decode().split(",") == list(tables.schema_of(kind))


def test_columns_that_a_version_added_may_be_missing_in_a_csv_file_of_an_earlier_one() -> None:
    many = STUDY[Statistic]
    frame = pl.read_csv(tables.to_csv(many, Statistic), infer_schema=False)
    added = [name for name, field in Statistic.model_fields.items() if not field.is_required()]
    assert "widened" in added
    of_earlier = [row.model_copy(update={name: Statistic.model_fields[name].default for name in added}) for row in many]
    assert tables.from_csv(frame.drop(added).write_csv().encode(), Statistic) == of_earlier
    with pytest.raises(DamagedFile, match="its columns are"):
        tables.from_csv(frame.drop("median").write_csv().encode(), Statistic)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_csv_floats_are_python_s_shortest_round_trip(value: float) -> None:
    row = measurement(trial("t", "a"), value)
    content = tables.to_csv([row], MeasurementRow).decode()
    text = next(csv.DictReader(io.StringIO(content)))["value"]
    assert float(text) == value
    assert len(text.replace("+", "").removesuffix(".0")) <= len(repr(value).replace("+", "").replace("e-0", "e-")) + 5
    assert tables.from_csv(content.encode(), MeasurementRow) == [row]


@given(st.lists(st.text(st.characters(codec="utf-8")).map(line)))
def test_lists_of_any_line_survive_csv(reasons: list[str]) -> None:
    row = trial("t", "a", reasons=reasons)
    assert tables.from_csv(tables.to_csv([row], TrialRow), TrialRow) == [row]


def test_a_spreadsheet_runs_no_cell_and_numbers_stay_numbers() -> None:
    texts = {"=1+1": "'=1+1", "+x": "'+x", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", " =1": "' =1", "'=1": "''=1"}
    for text, safe in {**texts, "-5.5e3": "-5.5e3", "a=b": "a=b", "'a": "'a"}.items():
        row = trial("t", text, reasons=[text])
        content = tables.to_csv([row], TrialRow)
        cells = next(csv.DictReader(io.StringIO(content.decode())))
        assert (cells["configuration"], cells["reasons"], inert(text)) == (safe, safe, safe)
        assert tables.from_csv(content, TrialRow) == [row]
        assert list(csv.reader(io.StringIO(csv_of(["a"], [[text]]))))[1] == [safe]


def test_lists_are_joined_by_semicolons() -> None:
    content = tables.to_csv([trial("t", "a", reasons=["quiet: busy; hint: wait", "two"])], TrialRow).decode()
    assert r"quiet: busy\; hint: wait;two" in content


@pytest.mark.parametrize("content", [b"", b"garbage", b"a,b\n1,2\n", b"\x00\xff"])
def test_garbage_is_a_damaged_file(content: bytes) -> None:
    with pytest.raises(DamagedFile, match="Statistic"):
        tables.from_parquet(content, Statistic)


def test_a_truncated_parquet_is_a_damaged_file() -> None:
    content = tables.to_parquet(STUDY[Statistic], Statistic)
    for length in (4, len(content) // 2, len(content) - 1):
        with pytest.raises(DamagedFile):
            tables.from_parquet(content[:length], Statistic)
