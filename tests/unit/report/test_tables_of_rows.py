"""Tables made of models: every field has a title, a format and a place, whatever the model."""

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import BoundRow, Statistic, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.report import parts
from nephoscope.report.parts import Book, Table
from nephoscope.report.sections import tables
from nephoscope.report.tables.html import rows_html
from nephoscope.report.tables.rows import table_of, title_of
from tests.support.report_folder import evidence_page
from tests.support.some_tables import with_tables
from tests.unit.report.report_example import laptop

BOUND = BoundRow(
    configuration="local-all",
    benchmark="tpcc",
    subject=Subject.DATABASE,
    n=2,
    cpu_bound=1,
    disk_bound=1,
    neither=0,
    unknown=0,
    cpu_busy_share=0.934,
    cpu_quota_used_up_share=None,
    disk_busy_share=None,
    disk_read_bytes_per_s=None,
    disk_write_bytes_per_s=3 * 2**20,
    network_receive_bytes_per_s=0,
    network_send_bytes_per_s=0,
    trials=[],
)


@pytest.fixture(scope="module")
def book() -> Book:
    return Book(Lookup(laptop()))


def bounds(study: AnalysedStudy) -> list[Table]:
    (benchmark,) = [row for row in study.benchmarks if row.benchmark == "tpcc"]
    return [one for one in tables.of_benchmark(Book(Lookup(study)), benchmark) if "limited" in one.caption]


def test_each_configuration_says_what_bound_it() -> None:
    study = laptop()
    assert not bounds(study)
    row = BOUND.model_copy(update={"trials": [study[TrialRow][0].trial]})
    assert "quota used up" not in str([column.title for column in bounds(_with(study, row))[0].columns])
    page = evidence_page(_with(study, row.model_copy(update={"cpu_quota_used_up_share": 0.977})))
    for text in ("what limited the database machines", "93 %", "3 MiB/s", "CPU quota used up", "98 %"):
        assert text in page


def _with(study: AnalysedStudy, row: BoundRow) -> AnalysedStudy:
    return with_tables(study, {BoundRow: [row]})


def test_what_is_equal_in_all_rows_stands_once_below_and_what_is_empty_nowhere(book: Book) -> None:
    table = table_of(book, [BOUND, BOUND.model_copy(update={"configuration": "local-1cpu"})])
    assert table is not None
    assert [column.title for column in table.columns] == ["Configuration"]
    assert "Disk write: 3 MiB/s" in table.note
    assert "Disk read" not in table.note


def test_one_row_is_shown_whole(book: Book) -> None:
    table = table_of(book, [BOUND])
    assert table is not None
    assert "Disk write" in [column.title for column in table.columns]


def test_columns_take_their_hints_and_numbers_their_units_from_the_model(book: Book) -> None:
    rows = [row for row in book.lookup[Statistic] if row.benchmark == "tpcc"]
    table = table_of(book, rows)
    assert table is not None
    hints = {column.title: column.hint for column in table.columns}
    assert hints["Interval"] == Statistic.model_fields["low"].description
    groups = [row for row in table.rows if row.group]
    assert len(groups) == len({(row.metric, row.per_cpu) for row in rows})
    assert all("is better" in row.group_note for row in groups), "the unit and the direction, once"


def test_each_number_leads_to_its_trials(book: Book) -> None:
    for row in book.lookup[Statistic][:5]:
        table = table_of(book, [row])
        assert table is not None
        (href,) = {cell.href for line in table.rows for cell in line.cells if cell.href}
        assert href in {f"#{one.anchor}" for one in book.evidence.sets.values() if set(one.trials) == set(row.trials)}


def test_rows_beyond_the_bound_are_said_to_be_in_the_file(book: Book) -> None:
    rows = book.lookup[Statistic]
    table = table_of(book, rows, most=3, file="statistics.csv")
    assert table is not None
    assert sum(row.group is None for row in table.rows) == 3
    assert table.note.endswith(f"{len(rows) - 3:,} more rows: statistics.csv")


def test_long_text_is_folded(book: Book) -> None:
    cell = parts.Cell(folded="a = b\n  + c")
    html = rows_html((parts.Column("Formula"),), [parts.Row((cell,))])
    assert html.count("<details><summary>a = b</summary>") == 1


def test_titles_leave_units_to_the_numbers() -> None:
    titles = [title_of(name) for name in ("cpu_busy_share", "p_adjusted", "started_unix_ms", "n_left", "month_usd")]
    assert titles == ["CPU busy", "p adjusted", "Started", "n left", "Month $"]
