"""Two studies like for like, and SQL over tables that may be read and nothing else."""

from pathlib import Path

import pytest

from nephoscope.analysis.analyse import analyse
from nephoscope.analysis.editions import editions_of, overall_of
from nephoscope.analysis.query import csv_of, query
from nephoscope.analysis.tables import TABLES, to_parquet
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import InputError
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.report.edition_page import render_editions
from tests.unit.analysis.test_costs import SIX, sold, study
from tests.unit.report.priced_example import priced


def edition(day: str, a: float, b: float, machine: str = "large") -> AnalysedStudy:
    """`a` on a small machine, `b` on a large one, at the prices of a day; large ones are dearer from 2026 on."""
    values = {"a": [a * x for x in SIX], "b": [b * x for x in SIX]}
    return analyse(study([sold("a", "small"), sold("b", machine)], values, date=day))


def test_performance_price_and_both() -> None:
    rows, left_out = editions_of(edition("2025-06-30", 1, 1), edition("2026-06-30", 1.2, 1.2), basis="on-demand")
    assert left_out == []
    a, b = rows
    assert (a.verdict, a.price_ratio, a.dollar_verdict) == (ComparisonVerdict.BETTER, 1, ComparisonVerdict.BETTER)
    assert b.price_ratio == pytest.approx(0.5 / 0.4)
    assert (b.verdict, b.dollar_verdict) == (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)
    assert b.ratio == pytest.approx(1.2)
    assert b.dollar_ratio == pytest.approx(1.2 / 1.25)
    assert b.low is not None
    assert b.dollar_low == pytest.approx(b.low / 1.25), "the price moves the interval"


def test_equal_studies_are_ties() -> None:
    same = edition("2025-06-30", 1, 1)
    rows, _ = editions_of(same, same, basis="on-demand")
    assert {(row.verdict, row.dollar_verdict) for row in rows} == {(ComparisonVerdict.TIE, ComparisonVerdict.TIE)}


def test_only_like_for_like() -> None:
    old, new = edition("2025-06-30", 1, 1), edition("2025-06-30", 1, 1, machine="small")
    rows, left_out = editions_of(old, new, basis="on-demand")
    assert [row.configuration for row in rows] == ["a"]
    assert left_out == ["b, tpcc new_orders_per_minute: large in A, small in B"]
    changed = [row.model_copy(update={"parameters": {"warehouses": 2}}) for row in new.benchmarks]
    rows, left_out = editions_of(old, new.model_copy(update={"benchmarks": changed}), basis="on-demand")
    assert rows == []
    assert "different parameters: warehouses" in left_out[0]
    newer = [row.model_copy(update={"version": 2}) for row in old.benchmarks]
    _, left_out = editions_of(old, old.model_copy(update={"benchmarks": newer}), basis="on-demand")
    assert "tpcc version 1 in A, tpcc version 2 in B" in left_out[0]


def test_a_missing_price_leaves_performance() -> None:
    old, new = edition("2025-06-30", 1, 1), edition("2025-06-30", 1.1, 1)
    rows, _ = editions_of(old, new, basis="spot")
    assert [(row.verdict, row.price_ratio, row.dollar_verdict) for row in rows] == [
        (ComparisonVerdict.BETTER, None, None),
        (ComparisonVerdict.TIE, None, None),
    ]


def test_over_all_configurations_the_change_is_a_geometric_mean_with_a_bootstrap_interval() -> None:
    old, new = edition("2025-06-30", 1, 1), edition("2025-06-30", 1.1, 1.3)
    rows, _ = editions_of(old, new, basis="on-demand")
    (found,) = overall_of(old, new, rows)
    assert found.ratio == pytest.approx((1.1 * 1.3) ** 0.5)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.ratio < found.high < 1.21
    assert (found.configurations, found.least_n, found.coverage) == (2, 6, 0.95)
    assert overall_of(old, new, rows) == [found], "seeded"
    assert overall_of(old, new, rows[:1]) == []


def test_the_page_of_two_studies() -> None:
    old, new = edition("2025-06-30", 1, 1), edition("2026-06-30", 1.2, 1.2)
    rows, _ = editions_of(old, new, basis="on-demand")
    html = render_editions(rows, overall_of(old, new, rows), ["<b>c</b> only in A"], ("2025", "2026"))
    assert "$292.00 → $365.00" in html
    assert "&lt;b&gt;c&lt;/b&gt; only in A" in html
    assert "src=" not in html
    assert "B compared with A over all configurations" in html


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


def test_times_with_a_zone_need_no_further_package(folder: Path) -> None:
    sql = "select to_timestamp(90) as t, to_timestamp(n) as t, [to_timestamp(0)] from range(3) as r(n) order by n desc;"
    columns, rows = query(folder, sql)
    assert columns[:2] == ["t", "t"]
    assert [row[1] for row in rows] == [f"1970-01-01 00:00:0{second}+00" for second in (2, 1, 0)]
    assert rows[0][0] == "1970-01-01 00:01:30+00"
    assert "1970-01-01 00:00:00+00" in str(rows[0][2])


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
