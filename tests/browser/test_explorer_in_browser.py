"""The part of the page that a reader may change: the same answers as the analysis, filters, bases, own prices."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.analysed import AnalysedStudy
from tests.browser.test_report_in_browser import CHROMIUM, FLAGS, WIDTHS, Opened, open_report
from tests.support.report_folder import write_report
from tests.unit.report import priced_example as example

api = pytest.importorskip("playwright.sync_api")
VIEWS = {"plain": "plain", "per CPU": "cpu", "per dollar": "dollar"}


@pytest.fixture(scope="module")
def study() -> AnalysedStudy:
    return example.priced()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, study: AnalysedStudy) -> Iterator[dict[int, Opened]]:
    if not CHROMIUM.exists():
        pytest.skip("no /usr/bin/chromium")
    folder = tmp_path_factory.mktemp("results") / "report"
    write_report(study, folder)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield {width: open_report(browser, folder / "index.html", width) for width in WIDTHS}
        browser.close()


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, opened: dict[int, Opened]) -> Any:
    found = opened[request.param].page
    if found.is_visible("#explore-reset"):
        found.click("#explore-reset")
    for control in ("provider", "family", "vcpus"):
        if found.is_visible(f"#explore-{control}"):
            found.select_option(f"#explore-{control}", "")
    choose(found, "reads", "dollar", "on-demand")
    return found


def choose(page: Any, benchmark: str, view: str, basis: str = "on-demand") -> None:
    label = page.locator("#explore-board option", has_text=f"{benchmark}:").first.get_attribute("value")
    page.select_option("#explore-board", label)
    page.select_option("#explore-view", view)
    page.select_option("#explore-basis", basis)


def shown(page: Any) -> dict[str, dict[str, float]]:
    """Configuration -> its rank and value, in the order of the table."""
    found: list[dict[str, str]] = page.eval_on_selector_all(
        "#explore-rows tr", "rows => rows.map(r => ({...r.dataset}))"
    )
    return {
        row["name"]: {key: float(row[key]) for key in ("first", "last", "value")} for row in found if "first" in row
    }


def test_its_ranks_include_those_of_the_analysis(page: Any, study: AnalysedStudy) -> None:
    """Rank sums without blocks decide less than the analysis; nothing that it decides is contradicted."""
    as_sure: list[bool] = []
    boards = {(row.benchmark, row.view, row.basis) for row in study.ranks}
    assert len(boards) == 11
    for benchmark, view, basis in boards:
        choose(page, benchmark, VIEWS[view], basis or "on-demand")
        stored = [row for row in study.ranks if (row.benchmark, row.view, row.basis) == (benchmark, view, basis)]
        found = shown(page)
        assert found.keys() == {row.configuration for row in stored}
        for row in stored:
            ranks = found[row.configuration]
            assert ranks["first"] <= row.first <= row.last <= ranks["last"], (benchmark, view, basis)
            as_sure.append((ranks["first"], ranks["last"]) == (row.first, row.last))
    assert sum(as_sure) > 0.8 * len(as_sure)
    assert any(row.first < row.last for row in study.ranks), "the twins are not certain"
    assert len({(row.first, row.last) for row in study.ranks}) > 5


def test_it_prices_as_the_analysis_does(page: Any, study: AnalysedStudy) -> None:
    for basis in ("on-demand", "reserved-1y"):
        choose(page, "reads", "dollar", basis)
        stored = {
            row.configuration: row.usd_per_unit
            for row in study.price_performance
            if (row.benchmark, row.basis) == ("reads", basis)
        }
        assert {name: row["value"] for name, row in shown(page).items()} == pytest.approx(stored)
        assert len(stored) == 5


def test_ties_are_marked(page: Any) -> None:
    assert "= gcp-n2-twin" in page.inner_text('#explore-rows tr[data-name="gcp-n2"]')


def test_a_basis_without_a_price_says_why(page: Any) -> None:
    choose(page, "reads", "dollar", "spot")
    assert shown(page) == {}
    said = page.inner_text('#explore-rows tr[data-name="aws-m6i"]')
    assert "no price" in said
    assert "no spot price, only" in said


def test_filters(page: Any) -> None:
    page.select_option("#explore-provider", "gcp")
    assert set(shown(page)) == {"gcp-n2", "gcp-n2-twin"}
    assert {(row["first"], row["last"]) for row in shown(page).values()} == {(1, 2)}, "among those shown"
    page.select_option("#explore-provider", "")
    page.select_option("#explore-family", "c5a")
    assert set(shown(page)) == {"aws-c5a"}
    page.select_option("#explore-family", "")
    page.select_option("#explore-vcpus", "32")
    assert set(shown(page)) == {"aws-c5a"}


def test_a_price_of_ones_own_changes_month_order_and_ranks(page: Any) -> None:
    before = shown(page)
    field = page.locator('#explore-rows input[data-name="aws-m6i"]')
    month = float(
        page.locator('#explore-rows tr[data-name="aws-m6i"] td').nth(6).inner_text().strip("$").replace(",", "")
    )
    field.fill("0.01")
    field.press("Enter")
    after = shown(page)
    assert next(iter(after)) == "aws-m6i"
    assert next(iter(before)) != "aws-m6i"
    assert (after["aws-m6i"]["first"], after["aws-m6i"]["last"]) == (1, 1)
    volumes = 3 * (500 * 0.08 + 3000 * 0.005)
    own = 3 * 730 * 0.01 + volumes
    assert month == pytest.approx(3 * 730 * 0.384 + volumes, abs=0.01)
    assert after["aws-m6i"]["value"] == pytest.approx(before["aws-m6i"]["value"] * own / month, rel=1e-4)
    assert "your own price" in page.inner_text('#explore-rows tr[data-name="aws-m6i"]')
    assert "1 with a price of your own" in page.inner_text("#explore-note")
    page.click("#explore-reset")
    assert shown(page) == before


def test_a_price_can_be_given_where_there_is_none(page: Any) -> None:
    assert "unsold" not in shown(page)
    field = page.locator('#explore-rows input[data-name="unsold"]')
    field.fill("0.2")
    field.press("Enter")
    assert "unsold" in shown(page)


def test_a_discount_is_of_machines_alone(page: Any) -> None:
    before = shown(page)
    page.fill("#explore-discount", "50")
    after = shown(page)
    assert after["gcp-n2"]["value"] == pytest.approx(before["gcp-n2"]["value"] / 2)
    assert after["aws-m6i"]["value"] > before["aws-m6i"]["value"] / 2
    page.fill("#explore-discount", "")


def test_the_chart_follows(page: Any) -> None:
    def drawn() -> int:
        count: int = page.locator(
            "#explore-chart .mark-symbol.layer_2_marks path, #explore-chart .mark-symbol path"
        ).count()
        return count

    page.wait_for_function("document.querySelectorAll('#explore-chart .mark-symbol path').length >= 5")
    everything = drawn()
    page.select_option("#explore-provider", "gcp")
    page.wait_for_function(f"document.querySelectorAll('#explore-chart .mark-symbol path').length < {everything}")


def test_nothing_hangs_over_and_nothing_is_said(page: Any, opened: dict[int, Opened]) -> None:
    wide, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= window
    assert [said for one in opened.values() for said in one.said] == []


@pytest.mark.slow
def test_a_hundred_configurations_fit_in_five_megabytes(tmp_path: Path) -> None:
    write_report(example.hundred(), tmp_path)
    assert (tmp_path / "index.html").stat().st_size < 5_000_000
