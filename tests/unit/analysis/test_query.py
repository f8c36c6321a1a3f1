"""SQL over tables that may be read and nothing else."""

from pathlib import Path

import pytest

from nephoscope.analysis.query import csv_of, query
from nephoscope.analysis.tables import TABLES, to_parquet
from nephoscope.model.errors import InputError
from tests.unit.report.priced_example import priced


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results")
    found = priced()
    for name, kind in TABLES.items():
        (path / f"{name}.parquet").write_bytes(to_parquet(getattr(found, name), kind))
    return path


def test_a_query_answers(folder: Path) -> None:
    columns, rows = query(
        folder, "select configuration, month_usd from costs where basis = 'on-demand' order by 2 limit 1"
    )
    assert columns == ["configuration", "month_usd"]
    assert csv_of(columns, rows).startswith("configuration,month_usd\nazure-d8s,840.96\n")


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("select nope from costs", "nope", "columns of costs: configuration, basis"),
        ("select * from nowhere", "nowhere", "tables: trials, measurements, statistics"),
        ("drop table costs", "a single SELECT statement", "tables: "),
        ("select 1; select 2", "a single SELECT statement", "tables: "),
        ("select * from read_csv('/etc/passwd')", "disabled by configuration", "tables: "),
        ("copy costs to 'x.csv'", "a single SELECT statement", "tables: "),
        ("selec", "syntax error", "tables: "),
    ],
)
def test_mistakes_and_writes_are_told(folder: Path, sql: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        query(folder, sql)
    assert hint in told.value.hint


def test_times_with_a_zone_need_no_further_package(folder: Path) -> None:
    sql = "select to_timestamp(90) as t, to_timestamp(n) as t, [to_timestamp(0)] from range(3) as r(n) order by n desc;"
    columns, rows = query(folder, sql)
    assert columns[:2] == ["t", "t"]
    assert [row[1] for row in rows] == [f"1970-01-01 00:00:0{second}+00" for second in (2, 1, 0)]
    assert rows[0][0] == "1970-01-01 00:01:30+00"
    assert "1970-01-01 00:00:00+00" in str(rows[0][2])
