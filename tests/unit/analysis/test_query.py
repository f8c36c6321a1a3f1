"""SQL over tables that may be read and nothing else."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from nephoscope.analysis.query import csv_of, query
from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import frame_of, to_parquet
from nephoscope.app.stages import evaluation
from nephoscope.model.errors import InputError
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results
from tests.unit.report.priced_example import priced

Tables = Mapping[str, pl.DataFrame]


@pytest.fixture(scope="module")
def tables() -> Tables:
    study = priced()
    rows = {name: table.row for name, table in in_columns().items()}
    return {name: frame_of(to_parquet(study[row], row), row) for name, row in rows.items()}


def test_a_query_answers(tables: Tables) -> None:
    columns, rows = query(
        tables, "select configuration, month_usd from costs where basis = 'on-demand' order by 2 limit 1"
    )
    assert columns == ["configuration", "month_usd"]
    assert csv_of(columns, rows).startswith("configuration,month_usd\nazure-d8s,840.96\n")


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("select nope from costs", "nope", "columns of costs: configuration, basis"),
        ("select * from nowhere", "nowhere", "tables: best, claims, comparisons"),
        ("drop table costs", "a single SELECT statement", "tables: "),
        ("select 1; select 2", "a single SELECT statement", "tables: "),
        ("select * from read_csv('/etc/passwd')", "disabled by configuration", "tables: "),
        ("select * from '/etc/passwd'", "does not exist", "tables: "),
        ("select * from read_text('/etc/*')", "disabled by configuration", "tables: "),
        ("select * from glob('/*')", "disabled by configuration", "tables: "),
        ("select * from 'http://127.0.0.1:9/x.csv'", "disabled by configuration|Extension", "tables: "),
        ("select * from sql", "Table with name sql does not exist", "tables: "),
        ("set enable_external_access = true", "a single SELECT statement", "tables: "),
        ("attach 'x.db'", "a single SELECT statement", "tables: "),
        ("load httpfs", "a single SELECT statement", "tables: "),
        ("copy costs to 'x.csv'", "a single SELECT statement", "tables: "),
        ("selec", "syntax error", "tables: "),
    ],
)
def test_mistakes_and_writes_are_told(tables: Tables, sql: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        query(tables, sql)
    assert hint in told.value.hint


def test_times_with_a_zone_need_no_further_package(tables: Tables) -> None:
    sql = "select to_timestamp(90) as t, to_timestamp(n) as t, [to_timestamp(0)] from range(3) as r(n) order by n desc;"
    columns, rows = query(tables, sql)
    assert columns[:2] == ["t", "t"]
    assert [row[1] for row in rows] == [f"1970-01-01 00:00:0{second}+00" for second in (2, 1, 0)]
    assert rows[0][0] == "1970-01-01 00:01:30+00"
    assert "1970-01-01 00:00:00+00" in str(rows[0][2])


ODD_NAMES = (
    *(
        "run[1]",
        "run*",
        "run?",
        "run{1,2}",
        "r**",
        "[!a]*",
        "'",
        '"',
        "\\",
        "a\\[b",
        "new\nline",
        "tab\t",
        "größe 東京",
    ),
    *("-r", "--", "file:", "a=b", "year=2026", "$HOME", "~", "%2e", "x.parquet", ":memory:", "s3:", "http:", "r;drop"),
)


def analysed(folder: Path, name: str, values: list[float | None]) -> Path:
    """Results with their tables, which stay those of the folder when it is renamed."""
    evaluation.query(made_results(folder, {name: values}), "select 1")
    return folder


def test_a_query_is_answered_from_this_folder_whatever_its_name(tmp_path: Path) -> None:
    analysed(tmp_path / "run1", "another", [100.0, 101.0, 102.0])
    folder = analysed(tmp_path / "mine", "mine", [100.0, 101.0])
    sql = "select configuration, count(*) from trials group by all"
    for name in ODD_NAMES:
        folder = folder.rename(tmp_path / name)
        answer = evaluation.query(ResultsFolder(folder), sql)
        assert answer == (["configuration", "count_star()"], [("mine", 2)]), name
        assert {path.name for path in tmp_path.iterdir()} == {"run1", name}


def test_a_relative_path_is_that_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = analysed(Path("mine"), "mine", [100.0, 101.0])
    for name in ("s3://bucket/r", "http://h/r", "file:r", "file:///r", "-r", "~"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        folder = folder.rename(name)
        assert evaluation.query(ResultsFolder(folder), "select count(*) from trials")[1] == [(2,)], name


def test_an_answer_that_does_not_fit_into_memory_is_not_written_to_a_file(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert query(tables, "select current_setting('temp_directory')")[1] == [("",)]
    assert not list(tmp_path.iterdir())
