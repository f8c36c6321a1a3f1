"""`verify` of a published report: its answers follow from the measurements beside them, or the table is named."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from website.examples import laptop

from nephoscope.analysis.published import ANSWERS, BUNDLE
from nephoscope.app.stages.verifying import verify_bundle
from nephoscope.model.errors import InputError

pytestmark = pytest.mark.whole

WITH_ROWS = ("statistics", "comparisons", "contrasts", "best", "ranks")
"""Those that the stored study has; it has no prices."""


@pytest.fixture(scope="module")
def bundle() -> bytes:
    """That of the stored study of a laptop."""
    return laptop()[BUNDLE]


def changed(bundle: bytes, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> bytes:
    """The bundle with another table."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            content = before.read(entry)
            if entry.filename.endswith(f"/{table}.csv"):
                content = change(pl.read_csv(content, infer_schema=False)).write_csv().encode()
            after.writestr(entry, content)
    return out.getvalue()


def differences(tmp_path: Path, content: bytes) -> list[str]:
    file = tmp_path / BUNDLE
    file.write_bytes(content)
    return verify_bundle(file).differences


def test_a_report_follows_from_its_measurements(tmp_path: Path, bundle: bytes) -> None:
    (tmp_path / BUNDLE).write_bytes(bundle)
    found = verify_bundle(tmp_path / BUNDLE)
    assert found.differences == []
    assert found.measurements > 1000


@pytest.mark.parametrize("table", WITH_ROWS)
def test_a_row_that_is_left_out_is_named(tmp_path: Path, bundle: bytes, table: str) -> None:
    (said,) = differences(tmp_path, changed(bundle, table, lambda frame: frame.slice(1)))
    assert said.startswith(f"{table} has ")


@pytest.mark.parametrize(
    ("table", "column", "text"),
    [
        ("statistics", "level", "1.5"),
        ("statistics", "n", "60"),
        ("comparisons", "ratio", "9.25"),
        ("comparisons", "verdict", "tie"),
        ("contrasts", "ratio", "9.25"),
        ("best", "best", "nobody"),
        ("ranks", "first", "7"),
    ],
)
def test_a_stated_answer_that_is_no_longer_the_one_of_the_data_is_named(
    tmp_path: Path, bundle: bytes, table: str, column: str, text: str
) -> None:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.Series(column, [text, *frame[column].to_list()[1:]]))

    (said,) = differences(tmp_path, changed(bundle, table, change))
    assert said.startswith(f"{table}, row 1: {column} is ")


def test_a_measurement_that_was_made_better_contradicts_the_answers(tmp_path: Path, bundle: bytes) -> None:
    """Each value of one configuration's point selects is doubled: what was computed of them no longer follows."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        mine = (frame["configuration"] == "local-1cpu") & (frame["metric"] == "selects_per_s")
        value = pl.when(mine).then(pl.col("value").cast(pl.Float64) * 2).otherwise(pl.col("value").cast(pl.Float64))
        return frame.with_columns(value)

    named = {said.split()[0].rstrip(",") for said in differences(tmp_path, changed(bundle, "measurements", change))}
    assert {"statistics", "comparisons"} <= named


def test_every_table_of_answers_is_computed_again() -> None:
    assert {*WITH_ROWS} <= {table.name for table in ANSWERS}


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    file = tmp_path / BUNDLE
    file.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"is not the bundle\.zip of a report"):
        verify_bundle(file)
