"""The main page's figures: price and performance, and the chapters."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import type_name
from nephoscope.model.analysed import AnalysedStudy, OnlyDifference
from nephoscope.model.price_rows import CostRow, PricePerformance, TransferRow
from nephoscope.model.questions import BestRow, ContrastRow, Headline
from nephoscope.model.rows import (
    BenchmarkRow,
    ComparisonVerdict,
    ConfigurationRow,
    FamilyComparison,
    MeasurementRow,
    Statistic,
    TrialRow,
)
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.written import OVERALL, Scope
from nephoscope.report.figures.latency import latency_figures
from nephoscope.report.figures.spec import Spec, unchecked, unpacked
from nephoscope.report.main.boards import TOP, TOP_OF_CHAPTER, boards_of, main_board
from nephoscope.report.main.chapter_figures import contrasts, winners
from nephoscope.report.main.chapters import MAX_FIGURES, MAX_WINNERS, Chapter, chapter_of, chapter_table, chapters
from nephoscope.report.main.cost_figures import transfer, whole
from nephoscope.report.main.curves import curve, response_times
from nephoscope.report.main.money import _beside, _first_of, cost_lines, price_and_performance
from nephoscope.report.main.palette import for_machines, palette_of
from nephoscope.report.parts import Book, Figure, Page, line_key
from nephoscope.report.wording import basis_text, lines_text
from tests.support import editions
from tests.support.some_tables import with_tables
from tests.unit.report import priced_example
from tests.unit.report import report_example as example
from tests.unit.report.report_example_trials import UP, Sketch, metric
from tests.unit.report.test_search_figures import searched

MANY = tuple(f"cloud-{place:03d}-general-purpose" for place in range(30))


def book_of(study: AnalysedStudy) -> Book:
    return Book(Lookup(study)).turned_to(Page.MAIN)


def sections(study: AnalysedStudy) -> tuple[Figure | None, list[Chapter]]:
    with unchecked():
        book = book_of(study)
        return price_and_performance(book), chapters(book)


@pytest.fixture(scope="module")
def priced() -> tuple[Figure | None, list[Chapter]]:
    return sections(priced_example.priced(6))


@pytest.fixture(scope="module")
def laptop() -> tuple[Figure | None, list[Chapter]]:
    return sections(example.laptop())


def specs_of(figure: Figure | None) -> list[Spec]:
    assert figure is not None
    return [unpacked(panel.script) for panel in figure.panels]


def rows_of(spec: Spec) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec["datasets"]["rows"]
    return found


def figures_of(found: tuple[Figure | None, list[Chapter]]) -> list[Figure]:
    money, written = found
    return [*([money] if money else []), *(figure for chapter in written for figure in chapter.figures)]


def test_price_and_performance_is_the_first_figure_and_shows_the_stored_front(
    priced: tuple[Figure | None, list[Chapter]],
) -> None:
    money, _ = priced
    assert money is not None
    assert money.number == 1
    [spec] = specs_of(money)
    stored = {
        row.configuration: row.front
        for row in priced_example.priced(6)[PricePerformance]
        if (row.benchmark, row.metric, row.basis) == ("reads", "rate", "on-demand")
    }
    assert {row["configuration"]: row["front"] for row in rows_of(spec)} == {
        name: front == "on it" for name, front in stored.items()
    }
    assert [row["configuration"] for row in spec["datasets"]["front"]] == [
        row["configuration"] for row in sorted(rows_of(spec), key=lambda row: row["month"]) if row["front"]
    ]
    assert all(row["low"] <= row["level"] <= row["high"] for row in rows_of(spec))
    assert [entry.text for entry in money.key] == ["AWS", "Google Cloud", "Azure"], "colours are providers"


def test_without_prices_configurations_are_ranked(laptop: tuple[Figure | None, list[Chapter]]) -> None:
    money, written = laptop
    [spec] = specs_of(money)
    levels = [row["level"] for row in rows_of(spec)]
    assert levels == sorted(levels, reverse=True)
    assert money is not None
    assert "No prices" in money.caption
    assert "chapter-cost" not in {chapter.anchor for chapter in written}


def test_the_front_is_numbered_in_the_chart_and_listed_below_it(
    priced: tuple[Figure | None, list[Chapter]],
) -> None:
    money, _ = priced
    [spec] = specs_of(money)
    front = spec["datasets"]["front"]
    assert len(front) > 1
    assert [row["number"] for row in front] == [str(place) for place in range(1, len(front) + 1)]
    assert money is not None
    assert money.listed is not None
    listed = [[cell.text for cell in row.cells] for row in money.listed.rows]
    assert [row[:2] for row in listed] == [[row["number"], row["configuration"]] for row in front]
    assert [row[3] for row in listed] == [row["level_text"] for row in front]
    assert {row["number"] for row in rows_of(spec) if not row["front"]} == {""}


def test_below_the_front_are_those_that_may_be_on_it() -> None:
    study = priced_example.priced(6)
    names = [row.configuration for row in study[PricePerformance] if row.benchmark == "tpcc"]
    first = names[0]

    def note(count: int) -> str:
        rows = [
            row.model_copy(update={"front": "on it" if row.configuration == first else "open"})
            for row in study[PricePerformance]
            if row.configuration in {first, *names[1 : count + 1]}
        ]
        money, _ = sections(with_tables(study, {PricePerformance: rows}))
        assert money is not None
        assert money.listed is not None
        return money.listed.note

    assert note(2).startswith("Behind the line by their levels, but not with certainty: ")
    assert note(2).count(" and ") == 1
    assert _first_of("abcdefgh") == "a, b, c, d, e, f and 2 more"
    assert _first_of("abcdef") == "a, b, c, d, e and f"


def test_data_transfer_is_drawn_where_the_machines_stood() -> None:
    study = priced_example.everything()
    with unchecked():
        book = book_of(study)
        figure = transfer(book, palette_of(book.lookup))
        apart = [row.model_copy(update={"stood": False}) for row in study[TransferRow]]
        nowhere = book_of(with_tables(study, {TransferRow: apart}))
        assert transfer(nowhere, palette_of(nowhere.lookup)) is None
    [spec] = specs_of(figure)
    assert not [row for row in rows_of(spec) if "between zones" in row["configuration"]]


def test_a_unit_costs_machines_volumes_and_transfer_in_one_bar_where_routes_have_prices() -> None:
    study = priced_example.priced()
    book = book_of(study)
    board = main_board(book.lookup)
    assert board is not None
    assert whole(book, board, palette_of(book.lookup)) is None, "nothing that is transferred costs anything"
    paid = [
        row.model_copy(update={"usd_per_unit_with_transfer": 1.25 * row.usd_per_unit})
        for row in study[PricePerformance]
        if row.basis == "on-demand"
    ]
    book = book_of(with_tables(study, {PricePerformance: paid}))
    with unchecked():
        figure = whole(book, board, palette_of(book.lookup))
    [spec] = specs_of(figure)
    bars = rows_of(spec)
    name = bars[0]["configuration"]
    parts = {row["part"]: row["high"] - row["low"] for row in bars if row["configuration"] == name}
    assert set(parts) == {"machines", "volumes", "transfer"}
    assert parts["transfer"] == pytest.approx(0.25 * (parts["machines"] + parts["volumes"]))
    winner = paid[0].configuration
    assert "with transfer between them" in cost_lines(book, board.row.benchmark, board.metric, [winner])[0]


def test_numbers_of_close_points_stand_on_different_sides() -> None:
    points = [{"month": 100 + place, "level": 100 + place, "front": True} for place in range(2)]
    (left, first), (right, second) = _beside(points, (False, False), (200.0, 200.0))
    apart = math.dist((left, first), (right, second))
    assert apart > 9, "the points are in the same place"


def test_lines_say_whether_they_are_intervals_or_ranges_of_too_few_values() -> None:
    def said(replicates: int) -> tuple[str, set[str]]:
        _, written = sections(example.build(Sketch(configurations=list(MANY[:9]), replicates=replicates, series_s=2)))
        figure = written[0].figures[0]
        dashes = {str("strokeDash" in layer["mark"]) for spec in specs_of(figure) for layer in rules(spec)}
        return figure.subtitle, dashes

    assert said(6) == ("Levels, best first; lines: 95 % intervals.", {"False"})
    assert said(3) == ("Levels, best first; dashed lines: the range of 3 replicates (75 %).", {"True"})
    assert said(1) == ("Levels, best first; one value each.", {"False"})


def rules(spec: Spec) -> list[dict[str, Any]]:
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == "rule"]


def test_intervals_and_ranges_in_one_figure_are_told_apart() -> None:
    some = [row for row in example.laptop()[Statistic] if row.n == 6][:3]
    rows = [
        row.model_copy(update={"n": n, "coverage": 1 - 2 ** (1 - n)}) for row, n in zip(some, (6, 3, 5), strict=True)
    ]
    assert lines_text(rows) == "lines: 95 % intervals; dashed: the range of 3 to 5 replicates (75 to 93.7 %)"
    assert [entry.text for entry in line_key(rows)] == [
        "95 % interval",
        "the range of 3 to 5 replicates (75 to 93.7 %)",
    ]


def test_a_table_has_every_configuration_that_any_of_its_metrics_has() -> None:
    study = example.laptop()
    one, other = (row.model_copy(update={"benchmark": name}) for row in study.benchmarks[:1] for name in ("one", "all"))
    of_one = [row for row in study[Statistic] if row.benchmark == study.benchmarks[0].benchmark]
    rows = [row.model_copy(update={"benchmark": "all"}) for row in of_one]
    rows += [row.model_copy(update={"benchmark": "one"}) for row in of_one if row.configuration == "local-all"]
    trials = [
        row.model_copy(update={"benchmark": name})
        for name, names in (("one", {"local-all"}), ("all", {"local-all", "local-1cpu"}))
        for row in study[TrialRow]
        if row.benchmark == study.benchmarks[0].benchmark and row.configuration in names
    ]
    study = study.model_copy(update={"benchmarks": [one, other]})
    _, [chapter] = sections(with_tables(study, {Statistic: rows, TrialRow: trials}))
    assert chapter.table is not None
    assert {row.cells[0].text: row.cells[2].text != "not measured" for row in chapter.table.rows} == {
        "local-all": True,
        "local-1cpu": False,
    }
    assert all(row.cells[3].text[0].isdigit() for row in chapter.table.rows)


@pytest.mark.parametrize(
    ("configuration", "sold", "called"),
    [
        ("gs4-md", "Standard_GS4", "gs4"),
        ("d8s-v5", "Standard_D8s_v5", "d8s-v5"),
        ("c5d.4xlarge-barrier", "c5d.4xlarge", "c5d.4xlarge"),
        ("gs40", "Standard_GS4", "Standard_GS4"),
        ("standard-l4s", "Standard_L4s", "standard-l4s"),
        ("primary", "m6i.2xlarge", "m6i.2xlarge"),
    ],
)
def test_what_is_bought_is_spelled_as_the_configurations_of_the_page(
    configuration: str, sold: str, called: str
) -> None:
    assert type_name(configuration, sold) == called


@pytest.mark.parametrize(
    ("names", "sold", "called"),
    [
        (("e8s-v5-p30", "e8s-v5-ultra"), "Standard_E8s_v5", "e8s-v5"),
        (("aws-io1", "aws-io2"), "m6i.2xlarge", "aws-io1"),
    ],
)
def test_a_name_loses_the_setup_that_plays_no_part_and_keeps_its_spelling(
    names: tuple[str, str], sold: str, called: str
) -> None:
    study = priced_example.priced(2)
    new = dict(zip(("aws-m6i", "aws-c5a"), names, strict=True))
    known = [
        row.model_copy(
            update={"configuration": new[row.configuration], "machine_type": sold}
            if row.configuration in new
            else {"machine_type": None}
        )
        for row in study[ConfigurationRow]
    ]
    kept = [
        row.model_copy(update={"configuration": new.get(row.configuration, row.configuration)})
        for row in study[Statistic]
        if row.benchmark == "tpcc" or row.configuration == "aws-m6i"
    ]
    lookup = Lookup(with_tables(study, {ConfigurationRow: known, Statistic: kept}))
    palette = palette_of(lookup)
    assert for_machines(palette, lookup, ["reads"]).called[names[0]] == called
    assert for_machines(palette, lookup, ["tpcc"]) == palette, "two setups of one type"


def test_where_no_two_machines_differ_in_one_thing_designs_are_set_against_each_other() -> None:
    study = priced_example.everything()
    groups = [row for row in study[FamilyComparison] if row.benchmark == "tpcc"]
    assert contrasts(Book(Lookup(study)), ["tpcc"]) is not None
    _, found = sections(with_tables(study, {ContrastRow: []}))
    (figure,) = (one for chapter in found for one in chapter.figures if one.title == "Kinds of machines")
    drawn = [row for spec in specs_of(figure) for row in rows_of(spec)]
    assert {row["label"] for row in drawn} <= {f"{row.left} against {row.right}" for row in groups}
    assert {(row["ratio"], row["verdict"]) for row in drawn} <= {(row.ratio, row.verdict.value) for row in groups}
    assert drawn


def test_curves_are_those_of_the_best_and_of_machines_mounted_like_it() -> None:
    lookup = Lookup(editions.cr2018())
    slow = ("c5.4xlarge-gp2", "m5.4xlarge-gp2")
    lookup.__dict__["asked"] = {name: {"database_machine": {"mount_options": ["barrier"]}} for name in slow}
    row = next(row for row in lookup.study.benchmarks if row.uses == "sysbench-fileio")
    figure = curve(Book(lookup), row, palette_of(lookup))
    assert figure is not None
    assert figure.key[0].text == "c5d.4xlarge", "though the study names another first"
    assert figure.caption == "The best of each provider of 7 configurations as mounted by default."


def test_the_table_of_winners_answers_for_every_metric_before_kinds_of_one() -> None:
    more = {f"aws-c5a-{number}": priced_example.MACHINES["aws-c5a"] for number in range(4)}
    study = priced_example.priced(6, {**priced_example.MACHINES, **more})
    clouds = [Scope("cloud", name) for name in ("aws", "azure", "gcp")]
    kinds = [row.model_copy(update={"scope": scope}) for row in study[BestRow] for scope in (OVERALL, *clouds)]
    book = book_of(with_tables(study, {BestRow: kinds}))
    boards = [board for row in book.lookup.study.benchmarks for board in boards_of(book.lookup, row)]
    table = chapter_table(book, boards, {name: name for name in book.lookup.configurations})
    assert table is not None
    metrics = [row.cells[0].text for row in table.rows]
    assert len(metrics) == len(set(metrics)) == len(boards) > 2, "three clouds of three metrics do not fit"
    alone = chapter_table(book, boards[:1], {name: name for name in book.lookup.configurations})
    assert alone is not None
    assert len(alone.rows) == 4


def test_a_figure_counts_only_others_of_its_clock() -> None:
    study = example.laptop()
    row = next(row for row in study.benchmarks if row.benchmark == "tpcc")
    metrics = [
        one.model_copy(update={"clock": "from the first byte sent"}) if one.name.startswith("payment") else one
        for one in row.metrics
    ]
    lookup = Lookup(study)
    figure = response_times(Book(lookup), row.model_copy(update={"metrics": metrics}), palette_of(lookup))
    assert figure is not None
    assert figure.caption.endswith("The evidence page has 3 more like it."), "of five operations, one by another clock"


def test_a_single_change_names_what_is_compared() -> None:
    study = priced_example.priced(4)
    first = next(row for row in study[ContrastRow] if row.view == "plain")
    asked = {
        "generation": ("9", "8", "m9g against m8g"),
        "architecture": ("AMD", "Arm", "x86 (AMD) against Arm"),
        "CPU vendor": ("AMD", "Intel", "AMD against Intel"),
    }
    families = {"aws-m6i": "m9g", "aws-c5a": "m8g"}
    single = {}
    known = [row.model_copy(update={"family": families.get(row.configuration)}) for row in study[ConfigurationRow]]
    for question, (left, right, said) in asked.items():
        of: dict[str, object] = {"question": question, "left": left, "right": right, "benchmark": "tpcc"}
        of |= {"lefts": ["aws-m6i"], "rights": ["aws-c5a"]}
        row = first.model_copy(update={**of, "metric": "new_orders_per_minute", "verdict": ComparisonVerdict.BETTER})
        figure = contrasts(book_of(with_tables(study, {ContrastRow: [row], ConfigurationRow: known})), ["tpcc"])
        [spec] = specs_of(figure)
        assert [one["compared"] for one in rows_of(spec)] == [said]
        assert f"ratio, {said.replace('against', '÷')}" in json.dumps(spec, ensure_ascii=False)
        assert said.split(" against ")[0] + " is better" in json.dumps(spec)
        single[question] = row
    figure = contrasts(book_of(with_tables(study, {ContrastRow: [*single.values()]})), ["tpcc"])
    [spec] = specs_of(figure)
    assert {one["label"].partition(":")[0] for one in rows_of(spec)} == {"Generation", "Architecture", "CPU vendor"}
    assert "ratio, first ÷ second" in json.dumps(spec, ensure_ascii=False)


def test_the_best_of_each_cloud_is_drawn_where_the_ranking_leaves_a_cloud_out() -> None:
    def drawn(slow: float) -> Figure | None:
        clouds = {"aws": ("us-east-1", "m6i.2xlarge", 1.0), "gcp": ("us-east4", "n2-standard-8", slow)}
        machines = {
            f"{cloud}-{place:02d}": (cloud, region, kind, 8, speed + place / 100)
            for cloud, (region, kind, speed) in clouds.items()
            for place in range(11)
        }
        book = book_of(priced_example.priced(2, machines))
        board = main_board(book.lookup)
        assert board is not None
        return winners(book, board, palette_of(book.lookup))

    with unchecked():
        assert drawn(1.005) is None, "both clouds are among the ten of the ranking"
        assert drawn(0.5) is not None


def test_no_more_than_two_charts_share_a_row(priced: tuple[Figure | None, list[Chapter]]) -> None:
    cost = priced[1][-1]
    assert len(cost.figures) == 3 or [figure.columns for figure in cost.figures] == [1] * len(cost.figures)
    assert replace(cost, figures=(cost.figures[0],) * 3).columns == 2
    assert replace(cost, is_half=True, figures=cost.figures[:1]).place == 2


def test_each_benchmark_is_in_the_chapter_of_what_it_declares() -> None:
    rows = {row.benchmark: row for row in example.laptop().benchmarks}
    assert {name: chapter_of(row) for name, row in rows.items()} == {
        "stress-ng-matrix": "cpu",
        "fio": "storage",
        "tpcc": "oltp",
        "point-select": "oltp",
    }
    told = rows["point-select"].model_copy(update={"database_load": DatabaseLoad.KEY_VALUE})
    assert chapter_of(told) == "key-value"
    assert chapter_of(rows["fio"].model_copy(update={"subject": Subject.MEMORY})) == "memory"


def test_chapters_stand_in_order_with_at_most_three_figures_and_an_answer(
    priced: tuple[Figure | None, list[Chapter]], laptop: tuple[Figure | None, list[Chapter]]
) -> None:
    assert [chapter.title for chapter in laptop[1]] == ["CPU", "Storage", "OLTP"]
    assert [chapter.title for chapter in priced[1]] == ["OLTP", "Cost"]
    for _, written in (priced, laptop):
        assert all(1 <= len(chapter.figures) <= MAX_FIGURES for chapter in written)
        assert all((link.href or "").startswith("evidence.html#") for chapter in written for link in chapter.more)
    opening = priced[1][-1].opening
    assert opening is not None
    assert opening.text.startswith("Operations (reads): the work costs least on azure-d8s, $57.")
    assert opening.href is not None
    assert opening.href.startswith("evidence.html#evidence-")


def test_chapters_name_machines_as_cards_do() -> None:
    only = OnlyDifference(what="CPUs", values={"local-1cpu": "1", "local-all": "all"})
    study = example.laptop().model_copy(update={"only_difference": only})
    with unchecked():
        found = chapters(book_of(study))
    for chapter in found:
        assert chapter.opening is not None
        assert "local-" not in chapter.opening.text
    assert any("2 CPUs" in chapter.opening.text for chapter in found if chapter.opening)


def test_one_price_basis_is_on_the_whole_main_page() -> None:
    study = priced_example.priced(2)
    assert Lookup(study).bases[0] == "on-demand", "of two with as many prices, the one that commits nobody"
    rare = {"on-demand", "spot"}
    fewer = [row for row in study[CostRow] if row.basis not in rare or row.configuration == "aws-c5a"]
    lookup = Lookup(with_tables(study, {CostRow: fewer}))
    board = main_board(lookup)
    assert lookup.basis == "reserved-1y"
    assert board is not None
    assert {row.basis for row in board.prices(lookup)} == {"reserved-1y"}


def test_figure_numbers_have_no_gap(
    priced: tuple[Figure | None, list[Chapter]], laptop: tuple[Figure | None, list[Chapter]]
) -> None:
    """A figure that was made and not shown would leave one."""
    for found in (priced, laptop):
        assert [figure.number for figure in figures_of(found)] == list(range(1, len(figures_of(found)) + 1))


def test_many_configurations_are_cut_to_the_best() -> None:
    found = sections(example.build(Sketch(configurations=list(MANY), replicates=2, series_s=2)))
    figures = figures_of(found)

    def most(drawn: list[Figure]) -> int:
        return max(len(rows_of(spec)) for one in drawn for spec in specs_of(one) if "number" in rows_of(spec)[0])

    assert (most(figures[:1]), most(figures[1:])) == (TOP, TOP_OF_CHAPTER)
    assert all(spec["height"] < 600 for figure in figures for spec in specs_of(figure))
    assert all(chapter.table is None or len(chapter.table.rows) <= MAX_WINNERS for chapter in found[1])


def test_a_colour_is_a_provider_on_the_whole_main_page(priced: tuple[Figure | None, list[Chapter]]) -> None:
    palette = palette_of(Lookup(priced_example.priced(2)))
    assert palette.by == "provider"
    for figure in figures_of(priced):
        for spec in specs_of(figure):
            for layer in spec["layer"]:
                encoded = layer["encoding"].get("color", {})
                if encoded.get("field") == "shade":
                    assert dict(zip(encoded["scale"]["domain"], encoded["scale"]["range"], strict=True)) == {
                        name: f"var(--c{place})" for place, name in enumerate(palette.names, 1)
                    }
                else:
                    assert "--c" not in json.dumps(encoded)


def test_a_search_shows_what_it_found_and_response_times_over_load() -> None:
    study = searched()
    _, [chapter] = sections(study)
    assert "load" in chapter.figures[0].title.lower()
    over_load = chapter.figures[1]
    [spec] = specs_of(over_load)
    assert over_load.title.startswith("Response time over load")
    assert {row["configuration"] for row in rows_of(spec)} == {"small", "large"}
    assert {row["counts"] for row in rows_of(spec)} == {True, False}
    assert "hollow: it did not" in {entry.text for entry in over_load.key}
    assert [row["label"] for row in spec["datasets"]["limits"]] == ["limit of mean"]


def test_short_times_beside_long_ones_keep_their_digits() -> None:
    """A p50 of 40 µs on the axis of a p99 of 20 s, in tooltips of both pages and in the table."""
    times_s = {"new_order_response_p50": 4.02e-5, "new_order_response_p99": 20.0}
    study = example.laptop()
    told = [
        one.model_copy(update={"level": None, "median": at, "low": 0.9 * at, "high": 1.1 * at})
        if one.benchmark == "tpcc" and (at := times_s.get(one.metric))
        else one
        for one in study[Statistic]
    ]
    book = book_of(with_tables(study, {Statistic: told}))
    row = next(row for row in study.benchmarks if row.benchmark == "tpcc")
    figure = response_times(book, row, palette_of(book.lookup))
    (evidence,) = latency_figures(book, row)
    assert evidence.table is not None
    for [spec, *_] in (specs_of(figure), specs_of(evidence)):
        texts = {one["percentile"]: (one["level_text"], one["interval_text"]) for one in rows_of(spec)}
        assert texts["p50"][0].startswith("40.2"), texts
        assert texts["p50"][0].endswith(" µs")
        assert texts["p50"][1].startswith("36.")
        assert texts["p99"][0].endswith(" s")
    heading, first = evidence.table.rows[:2]
    assert heading.group_note.startswith("µs")
    assert {"40.2", "36.2 \N{EN DASH} 44.2"} <= {cell.text for cell in first.cells}


def test_short_times_over_load_keep_their_digits() -> None:
    study = searched()
    first = next(one for one in study[MeasurementRow] if one.metric == "point.read.response_mean")
    told = [one._replace(value=4e-5) if one is first else one for one in study[MeasurementRow]]
    _, [chapter] = sections(with_tables(study, {MeasurementRow: told}))
    [spec] = specs_of(chapter.figures[1])
    texts = {row["text"] for row in rows_of(spec)}
    assert "40 µs" in texts
    assert any(text.endswith(" ms") for text in texts)


def stepped(*extra: str) -> BenchmarkRow:
    names = [*(f"write-{count}.iops" for count in (1, 4, 16)), *extra]
    found = [metric(name, "IO/s", UP, name, headline=True) for name in names]
    return example.laptop().benchmarks[0].model_copy(update={"metrics": found})


def test_steps_of_a_curve_are_no_leaderboards() -> None:
    one = next(row for row in example.laptop()[Statistic] if row.configuration == "local-all")
    medians = {"write-1.iops": 10.0, "write-4.iops": 90.0, "write-16.iops": 50.0, "all.iops": 5.0}
    rows = [
        one.model_copy(
            update={"benchmark": "stress-ng-matrix", "metric": name, "level": None, "median": value, "per_cpu": False}
        )
        for name, value in medians.items()
    ]
    lookup = Lookup(with_tables(example.laptop(), {Statistic: rows}))
    named = {
        len(row.metrics): [board.metric.name for board in boards_of(lookup, row)]
        for row in (stepped(), stepped("all.iops"))
    }
    assert named == {3: ["write-4.iops"], 4: ["all.iops"]}, (
        "the maximum stands for a curve without a headline of its own"
    )


def test_transactions_come_before_keys_and_databases_before_machines() -> None:
    study = example.laptop()
    by_key = [
        row.model_copy(
            update={"database_load": DatabaseLoad.KEY_VALUE if row.benchmark == "tpcc" else DatabaseLoad.OLTP}
        )
        for row in study.benchmarks
    ]
    found = [main_board(Lookup(study.model_copy(update={"benchmarks": rows}))) for rows in (study.benchmarks, by_key)]
    assert [board.row.benchmark for board in found if board] == ["tpcc", "point-select"]
    assert main_board(Lookup(example.empty())) is None


def test_a_configuration_has_one_sign_on_the_whole_main_page() -> None:
    """A curve lists the best first, whose sign is that of its card even where the study names another first."""
    study = searched()
    book = book_of(study)
    palette = replace(palette_of(book.lookup), of={"small": "small", "large": "large"})
    figure = curve(book, study.benchmarks[0], palette)
    assert figure is not None
    assert [(entry.sign, entry.text) for entry in figure.key[:2]] == [("■", "large"), ("●", "small")]
    [spec] = specs_of(figure)
    shapes = [layer["encoding"]["shape"]["scale"] for layer in spec["layer"] if "shape" in layer["encoding"]]
    assert [(one["domain"], one["range"]) for one in shapes] == [(["large", "small"], ["square", "circle"])] * 2


def test_a_chapter_is_led_by_the_headline_in_its_view() -> None:
    study = priced_example.priced(6)
    waits = study.model_copy(update={"headline": Headline(benchmark="waits")})
    divided = study.model_copy(update={"headline": Headline(benchmark="reads", view="per CPU")})
    (_, [as_measured, *_]), (_, [per_cpu, *_]) = sections(waits), sections(divided)
    assert [link.text for link in as_measured.more] == ["waits", "reads", "tpcc"], "which the study names last"
    assert per_cpu.opening is not None
    assert per_cpu.opening.text.startswith("Operations, per CPU (reads)")
    first, second, *_ = per_cpu.figures
    assert first.title.endswith("per CPU")
    assert not second.title.endswith("per CPU"), "as measured, it is drawn, too"


def test_loads_of_one_workload_and_kinds_of_storage_are_on_the_main_page() -> None:
    """As the report of 2022 has them, small machines beside large ones, and at one price basis."""
    study = editions.cr2022()
    _, written = sections(study)
    found = {figure.title: figure for chapter in written for figure in chapter.figures}
    over = found["tpcc: the best 10, with increasing active warehouses per vCPU"]
    assert [panel.title for panel in over.panels] == ["Overall, 8 vCPUs", "Overall, 30 to 36 vCPUs"]
    shares = found["Storage as a share of the monthly cost"]
    assert {row["series"] for spec in specs_of(shares) for row in rows_of(spec)} == {
        basis_text(Lookup(study).basis or "")
    }
    ranked = [figure for title, figure in found.items() if title.startswith("New-Orders")]
    assert all(len(figure.panels) == 1 for figure in ranked), "each load has no ranking of its own"
    assert all(len(chapter.figures) <= MAX_FIGURES for chapter in written)


def test_single_differences_are_those_of_the_headline_in_its_view() -> None:
    study = priced_example.priced(4).model_copy(update={"headline": Headline(benchmark="reads", view="per CPU")})
    asked = [row for row in study[ContrastRow] if (row.benchmark, row.view) == ("reads", "per CPU")]
    assert asked
    figure = contrasts(book_of(study), ["waits", "reads"])
    [spec] = specs_of(figure)
    assert {row["ratio"] for row in rows_of(spec)} <= {row.ratio for row in asked}
    assert figure is not None
    assert figure.subtitle.startswith("Operations, per CPU: ratios")


def test_a_figure_of_costs_names_who_has_no_price() -> None:
    chapter = next(one for one in sections(priced_example.priced(2))[1] if one.title == "Cost")
    assert chapter.figures[0].caption == "Without a price under these terms: unsold."
