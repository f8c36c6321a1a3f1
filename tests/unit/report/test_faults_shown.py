"""Faults on both pages: shaded in what happened second by second, a row for each kind and configuration, a card."""

from nephoscope.analysis.faults import FaultRow
from nephoscope.analysis.lookup import Lookup
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.main.chapters import chapters
from nephoscope.report.main.outages import courses
from nephoscope.report.main.palette import palette_of
from nephoscope.report.main.verdict import verdict
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Book, Figure, Page
from nephoscope.report.sections import tables
from nephoscope.report.sections.benchmarks import benchmark_section
from tests.support.some_tables import with_tables
from tests.unit.insights.rule_studies import studies
from tests.unit.report.report_example import laptop

TRIAL = laptop()[TrialRow][0]
RATE = Metric(name="operations_per_s", unit="1/s", direction=Direction.HIGHER, title="operations")
LASTED = Metric(name="outage.lasted", unit="s", direction=Direction.LOWER, title="faults")
ROW = FaultRow(
    benchmark="tpcc", configuration=TRIAL.configuration, fault="kill", victim="primary", faults=12,
    trials=[TRIAL.trial], longest_outage_s=2.25, longest_outage_low_s=2.1, longest_outage_high_s=None, coverage=0.96,
    clients_hit_share=1.0, time_at_zero_s=2.2, time_slow_s=2.0, time_to_usual_rate_s=2.3,
    time_to_complete_copies_s=3.2, throughput_during_share=0.0, throughput_after_share=1.3, response_p99_ratio=120.0,
    trials_with_loss=0, writes_lost=0, losing_at_most_share=0.221,
)  # fmt: skip


def measured(metric: str, at_s: float, value: float) -> MeasurementRow:
    return MeasurementRow(
        TRIAL.trial, TRIAL.configuration, "tpcc", metric, "1/s", Direction.HIGHER, value, "load", at_s, 1, 1, 1,
        valid=True, subject=Subject.DATABASE,
    )  # fmt: skip


def drawn(*faults: MeasurementRow) -> Figure:
    values = [measured(RATE.name, at + 1.0, 100.0) for at in range(20)]
    study = with_tables(laptop(), {MeasurementRow: [*values, *faults]})
    (row,) = (one for one in study.benchmarks if one.benchmark == "tpcc")
    section = benchmark_section(Book(Lookup(study)), row.model_copy(update={"metrics": [RATE, LASTED]}))
    (figure,) = section.series
    return figure


def test_faults_are_shaded_from_their_begin_to_their_end() -> None:
    figure = drawn(measured(LASTED.name, 5.5, 2.25), measured(LASTED.name, 12.0, 2.0))
    spec = unpacked(figure.panels[0].script)
    shaded = spec["datasets"]["shaded"]
    assert [(one["s"], one["end"]) for one in shaded] == [(5.5, 7.75), (12.0, 14.0)]
    assert "Shaded: from just before a fault" in figure.caption
    undisturbed = drawn()
    assert "rect" not in str(unpacked(undisturbed.panels[0].script))
    assert "Shaded" not in undisturbed.caption


def test_a_table_has_a_row_for_each_configuration() -> None:
    study = with_tables(laptop(), {FaultRow: [ROW]})
    (row,) = (one for one in study.benchmarks if one.benchmark == "tpcc")
    (table,) = (one for one in tables.of_benchmark(Book(Lookup(study)), row) if "faults" in one.caption.lower())
    told = str(table)
    for text in ("2.1 s", "130 %", "120×", "22 %", "kill"):
        assert text in told, text


def test_the_main_page_has_a_chapter_of_what_clients_saw_and_of_what_faults_cost() -> None:
    book = Book(Lookup(studies()["faulted"]))
    (chapter,) = (one for one in chapters(book) if one.anchor == "chapter-faults")
    (figure,) = chapter.figures
    assert [panel.title for panel in figure.panels] == ["kill: throughput", "kill: response time, p95"]
    assert chapter.table is not None
    assert chapter.also is not None
    rows, others = (
        [[f"{cell.text} {cell.note}".strip() for cell in row.cells] for row in table.rows]
        for table in (chapter.table, chapter.also)
    )
    assert [row[:4] for row in rows] == [
        ["kill of a primary", "async", "12", "2.35 s 2.10 – 2.60 s"],
        ["kill of a primary", "sync", "12", "3.35 s 3.10 – 3.60 s"],
    ]
    assert rows[1][4] == "not known", "a quantity that nobody measured"
    assert "intervals of order statistics below them, of 96 % or more" in chapter.table.note
    assert [row[-2:] for row in others] == [
        ["8 lost", "42 of 5,400, in 6 of 6 trials"],
        ["8 lost", "0 at most 22 % of faults lose any"],
    ]
    assert chapter.costs is not None
    (cost,) = chapter.costs.rows
    assert [cell.text for cell in cost.cells] == [
        "kill", "async", "sync", "$292.00", "1.00 s", "12 s", "$1,051,200.00",
    ]  # fmt: skip
    html = render_pages(studies()["faulted"]).html[Page.MAIN]
    assert 'id="chapter-faults"' in html


def test_seconds_of_all_faults_lie_over_each_other_and_a_line_ends_where_nothing_ended() -> None:
    book = Book(Lookup(studies()["faulted"]))
    figure = courses(book, book.lookup.study.benchmarks, palette_of(book.lookup))
    assert figure is not None
    rates, responses = (unpacked(panel.script)["datasets"] for panel in figure.panels)
    assert rates["shaded"] == [{"s": 0.0, "end": 2.0}]
    sync = [row for row in rates["rows"] if row["configuration"] == "sync"]
    assert {row["at"] for row in sync if row["value"] == 0} == {0.5, 1.5, 2.5, 3.5}
    assert {row["value"] for row in sync if row["at"] < 0 or row["at"] > 4} == {100.0}
    assert len({row["piece"] for row in responses["rows"] if row["configuration"] == "sync"}) == 2


def test_the_card_says_how_long_outages_were_what_was_lost_and_what_that_costs() -> None:
    (card,) = verdict(Book(Lookup(studies()["faulted"]))).shown
    assert len(card.faults) == 3
    assert card.faults[0].startswith("The longest outage that any client saw in kill was 2.35 s on async and 3.35 s on")
    assert "async lost 42 of 5,400 acknowledged writes" in card.faults[1]
    assert card.faults[2].startswith("async costs $292.00 a month more than sync and had outages shorter by 1.00 s")
