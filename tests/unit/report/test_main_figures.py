"""The main page's figures: price and performance, and the chapters."""

import json
from typing import Any

import pytest

from nephoscope.model.analysed import AnalysedStudy, OnlyDifference
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.report.figures.spec import Spec, unchecked, unpacked
from nephoscope.report.lookup import Lookup
from nephoscope.report.main.boards import TOP, TOP_OF_CHAPTER, boards_of, main_board
from nephoscope.report.main.chapter_tables import MAX_WINNERS
from nephoscope.report.main.chapters import MAX_FIGURES, Chapter, chapter_of, chapters
from nephoscope.report.main.money import price_and_performance
from nephoscope.report.main.palette import palette_of
from nephoscope.report.parts import Book, Figure, Page
from tests.unit.report import priced_example
from tests.unit.report import report_example as example
from tests.unit.report.report_example_trials import UP, Sketch, metric
from tests.unit.report.test_search_figures import searched

MANY = tuple(f"cloud-{place:03d}-general-purpose" for place in range(30))


def book_of(study: AnalysedStudy) -> Book:
    return Book(Lookup.of(study)).turned_to(Page.MAIN)


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
        for row in priced_example.priced(6).price_performance
        if (row.benchmark, row.metric, row.basis) == ("reads", "rate", "on-demand")
    }
    assert {row["configuration"]: row["front"] for row in rows_of(spec)} == {
        name: front == "on it" for name, front in stored.items()
    }
    assert [row["configuration"] for row in spec["datasets"]["front"]] == [
        row["configuration"] for row in sorted(rows_of(spec), key=lambda row: row["month"]) if row["front"]
    ]
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows_of(spec))
    assert [entry.text for entry in money.key] == ["AWS", "Google Cloud", "Azure"], "colours are providers"


def test_without_prices_configurations_are_ranked(laptop: tuple[Figure | None, list[Chapter]]) -> None:
    money, written = laptop
    [spec] = specs_of(money)
    medians = [row["median"] for row in rows_of(spec)]
    assert medians == sorted(medians, reverse=True)
    assert money is not None
    assert "No prices" in money.caption
    assert "chapter-cost" not in {chapter.anchor for chapter in written}


def test_names_on_the_front_do_not_touch() -> None:
    machines = {f"m{place:02d}": ("aws", "us-east-1", "m6i.2xlarge", 8, 1 + place / 1000) for place in range(12)}
    money, _ = sections(priced_example.priced(4, machines))
    [spec] = specs_of(money)
    assert sum(row["fits"] != "" for row in rows_of(spec)) <= 1, "all cost the same, and are equally good"


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
    assert chapter_of(rows["fio"].model_copy(update={"subject": Subject.MEMORY})) == "cpu"


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
    assert opening.text.startswith("Operations in reads: azure-d8s costs least for the work, $57.")
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
    assert Lookup.of(study).bases[0] == "on-demand", "of two with as many prices, the one that commits nobody"
    rare = {"on-demand", "spot"}
    fewer = [row for row in study.costs if row.basis not in rare or row.configuration == "aws-c5a"]
    lookup = Lookup.of(study.model_copy(update={"costs": fewer}))
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
    palette = palette_of(Lookup.of(priced_example.priced(2)))
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


def stepped(*extra: str) -> BenchmarkRow:
    names = [*(f"write-{count}.iops" for count in (1, 4, 16)), *extra]
    found = [metric(name, "IO/s", UP, name, headline=True) for name in names]
    return example.laptop().benchmarks[0].model_copy(update={"metrics": found})


def test_steps_of_a_curve_are_no_leaderboards() -> None:
    one = next(row for row in example.laptop().statistics if row.configuration == "local-all")
    medians = {"write-1.iops": 10.0, "write-4.iops": 90.0, "write-16.iops": 50.0, "all.iops": 5.0}
    rows = [
        one.model_copy(update={"benchmark": "stress-ng-matrix", "metric": name, "median": value, "per_cpu": False})
        for name, value in medians.items()
    ]
    lookup = Lookup.of(example.laptop().model_copy(update={"statistics": rows}))
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
    found = [
        main_board(Lookup.of(study.model_copy(update={"benchmarks": rows}))) for rows in (study.benchmarks, by_key)
    ]
    assert [board.row.benchmark for board in found if board] == ["tpcc", "point-select"]
    assert main_board(Lookup.of(example.empty())) is None
