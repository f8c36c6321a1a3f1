"""The explorer as a reader uses it: a budget, filters, ranks, pins, scales, prices, links, download."""

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import BestRow, RankIntervals
from nephoscope.model.rows import ConfigurationRow, RankRow, Statistic
from nephoscope.model.written import OVERALL
from tests.browser.test_report_in_browser import Opened, open_report
from tests.support.report_folder import main_page
from tests.support.some_tables import with_tables
from tests.unit.analysis.test_rank_intervals import ranks
from tests.unit.report import report_example
from tests.unit.report.shop_example import UNPRICED, machines, shop

ODD = ("azure", "eastus", '=SUM(1,"2")', 4, 16, 3.0)
"""A machine whose type a spreadsheet would run."""
SETS = "sets/sets_per_s"
START = f"#explore?board={SETS}"


@pytest.fixture(scope="module")
def study() -> AnalysedStudy:
    made = shop({**machines(), "odd": ODD})
    labelled = [row.model_copy(update={"labels": {"tier": row.configuration[:3]}}) for row in made[ConfigurationRow]]
    return with_tables(made, {ConfigurationRow: labelled})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, study: AnalysedStudy) -> Path:
    found = tmp_path_factory.mktemp("report") / "index.html"
    found.write_text(main_page(study), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def opened(browser: Any, path: Path) -> Opened:
    return open_report(browser, path, 1280)


@pytest.fixture
def page(opened: Opened) -> Any:
    """At its start, whatever an earlier test chose."""
    go(opened.page, START)
    return opened.page


def go(page: Any, address: str) -> None:
    page.evaluate("address => { history.replaceState(null, '', '#'); location.hash = address }", address)
    page.wait_for_function("board => document.getElementById('explore-board').value === board", arg=SETS)


def shown(page: Any) -> dict[str, tuple[int, int]]:
    """Configuration -> its ranks, in the order of the visible rows; (0, 0) without a rank."""
    rows: list[dict[str, str]] = page.eval_on_selector_all(
        "#explore-rows tr", "rows => rows.map(r => ({...r.dataset}))"
    )
    return {row["name"]: (int(row.get("first", 0)), int(row.get("last", 0))) for row in rows}


def months(study: AnalysedStudy, basis: str = "on-demand") -> dict[str, float]:
    return {row.configuration: row.month_usd for row in study[CostRow] if row.basis == basis and row.month_usd}


def plain_ranks(study: AnalysedStudy) -> dict[str, tuple[int, int]]:
    return {
        row.configuration: (row.first, row.last)
        for row in study[RankRow]
        if (row.benchmark, row.view) == ("sets", "plain")
    }


def test_a_budget_question_is_answered_by_fields_that_are_visible_at_once(page: Any, study: AnalysedStudy) -> None:
    for field in ("board", "month", "gib"):
        assert page.is_visible(f"#explore-{field}")
    page.fill("#explore-month", "300")
    page.fill("#explore-gib", "16")
    found = shown(page)
    sold = {name: machine[4] for name, machine in machines().items()}
    assert set(found) == {name for name, usd in months(study).items() if usd <= 300 and sold[name] >= 16}
    sets = [row for row in study[Statistic] if row.benchmark == "sets" and not row.per_cpu]
    levels = {row.configuration: row.compared.value for row in sets}
    assert [*found] == sorted(found, key=lambda name: -levels[name])
    assert page.inner_text("#explore-answer") == (
        f"{len(found)} of 34 configurations match. "
        f"Best: m6i-2xlarge, {levels['m6i-2xlarge']:,.0f} SET/s for ${months(study)['m6i-2xlarge']:,.2f} a month."
    )
    assert page.get_attribute("#explore-rows a >> nth=0", "href") == "evidence.html#benchmark-sets"
    page.fill("#explore-least", "10000000")
    assert page.inner_text("#explore-answer") == "None of 34 configurations matches: relax or clear a filter."
    page.click("#explore-reset")
    assert page.inner_text("#explore-answer").startswith("34 configurations.")
    assert page.url.endswith("#explore?board=sets%2Fsets_per_s"), "nothing else is left to say"


def test_a_label_of_the_study_is_a_filter_a_fact_and_a_column(page: Any, study: AnalysedStudy) -> None:
    assert page.inner_text("label:has(#explore-label-tier)").startswith("Tier")
    page.select_option("#explore-label-tier", "m6i")
    found = shown(page)
    assert found
    assert all(name.startswith("m6i") for name in found)
    assert "label-tier=m6i" in page.url
    with page.expect_download() as download:
        page.click("#explore-download")
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert {row["label_tier"] for row in rows} == {"m6i"}
    page.click("#explore-reset")
    assert len(study[ConfigurationRow]) > len(found)


def test_ranks_are_the_stored_ones_and_with_a_filter_count_only_the_rows_shown(page: Any, study: AnalysedStudy) -> None:
    found = shown(page)
    assert len(found) == 20
    page.click("#explore-next")
    assert page.inner_text("#explore-page") == "21 \N{EN DASH} 34 of 34"
    assert {**found, **shown(page)} == plain_ranks(study)
    (stored_best,) = (
        row for row in study[BestRow] if (row.benchmark, row.view, row.scope) == ("sets", "plain", OVERALL)
    )
    assert stored_best.best == [UNPRICED]
    assert f"Best: {UNPRICED}, " in page.inner_text("#explore-answer")

    page.select_option("#explore-provider", "gcp")
    assert page.is_hidden("#explore-pages")
    found = shown(page)
    (intervals,) = (row for row in study[RankIntervals] if row.benchmark == "sets")
    exact = ranks(intervals, dict.fromkeys(found, 0.0))
    assert len(found) == 8
    assert all(found[name][0] <= exact[name][0] <= exact[name][1] <= found[name][1] for name in found)
    assert sum(found[name] == exact[name] for name in found) >= 6, "rounding widens few of them"
    assert page.inner_text("#explore-answer").startswith("8 of 34 configurations match.")

    page.select_option("#explore-provider", "")
    page.select_option("#explore-view", "dollar")
    stored = {
        row.configuration: (row.first, row.last)
        for row in study[RankRow]
        if (row.benchmark, row.view, row.basis) == ("sets", "per dollar", "on-demand")
    }
    found = shown(page)
    page.click("#explore-next")
    found |= shown(page)
    assert {name: found[name] for name in stored} == stored
    assert {name for name in found if name not in stored} == {UNPRICED, "odd"}
    assert "no price" in page.inner_text(f'#explore-rows tr[data-name="{UNPRICED}"]')


def test_prices_follow_basis_discount_and_the_reader(page: Any, study: AnalysedStudy) -> None:
    page.select_option("#explore-view", "dollar")
    page.fill("#explore-search", "aws 2xlarge m6i")
    row = '#explore-rows tr[data-name="m6i-2xlarge"]'
    sets = [row for row in study[Statistic] if row.benchmark == "sets" and not row.per_cpu]
    levels = {row.configuration: row.compared.value for row in sets}

    def usd_per_set() -> float:
        return float(page.get_attribute(row, "data-value"))

    for basis in ("on-demand", "reserved-1y"):
        page.select_option("#explore-basis", basis)
        usd = months(study, basis)["m6i-2xlarge"]
        assert usd_per_set() == pytest.approx(usd / levels["m6i-2xlarge"])
        assert f"${usd:,.2f}" in page.inner_text(row)
        assert f"${1000 * usd / levels['m6i-2xlarge']:.2f}" in page.inner_text(row)
    assert "$ A MONTH PER 1,000 SET/S" in page.inner_text("#explore-head").upper()
    page.select_option("#explore-basis", "on-demand")
    page.fill("#explore-discount", "50")
    volumes = 100 * 0.08
    machine = months(study)["m6i-2xlarge"] - volumes
    assert usd_per_set() == pytest.approx((machine / 2 + volumes) / levels["m6i-2xlarge"])
    assert "50 % discount on machines, none on volumes" in page.inner_text("#explore-note")

    go(page, f"{START}&view=dollar&pin={UNPRICED}&pin=m6i-2xlarge&price={UNPRICED}:0.5")
    assert shown(page)[UNPRICED] == (1, 1)
    field = page.locator(f'#explore-pinned input[data-price="{UNPRICED}"]')
    assert field.input_value() == "0.5"
    field.fill("100")
    field.press("Enter")
    assert "1 with a price of your own" in page.inner_text("#explore-note")
    page.click("#explore-next")
    assert [*shown(page)][-2] == UNPRICED, "the dearest, before the one without a price"


def test_columns_sort_by_click_and_say_so(page: Any) -> None:
    def order(column: str) -> str | None:
        said: str | None = page.locator(f'#explore-head [data-sort="{column}"] >> xpath=..').get_attribute("aria-sort")
        return said

    assert (order("rank"), order("month")) == ("ascending", None)
    page.click('#explore-head [data-sort="month"]')
    cheapest = [*shown(page)]
    assert cheapest[0] == "n2d-highcpu-8"
    assert (order("rank"), order("month")) == (None, "ascending")
    assert page.evaluate("document.activeElement.dataset.sort") == "month", "the keyboard stays on the column"
    page.keyboard.press("Enter")
    assert order("month") == "descending"
    assert next(iter(shown(page))) == "r5-8xlarge"
    assert page.url.endswith("#explore?board=sets%2Fsets_per_s&sort=-month")
    page.click('#explore-head [data-sort="name"]')
    assert [*shown(page)] == sorted(machines())[:20]
    page.select_option("#explore-board", "waits/wait")
    page.click('#explore-head [data-sort="rank"]')
    assert next(iter(shown(page))) == UNPRICED, "the least wait first"


def test_pinned_rows_stand_side_by_side_and_are_the_measure_of_others(page: Any, study: AnalysedStudy) -> None:
    five = [*shown(page)][:5]
    assert page.is_hidden("#explore-pinned")
    for name in five:
        page.get_by_label(f"Pin {name}", exact=True).check()
    assert page.evaluate("document.activeElement.dataset.pin") == five[-1]
    heads = page.locator("#explore-pinned-head th").all_inner_texts()
    assert [head.split()[0] for head in heads] == five
    assert page.locator("#explore-rows input:disabled").count() == 15
    cells = page.locator("#explore-pinned-rows tr", has_text="Sets").first.locator("td").all_inner_texts()
    first, last = plain_ranks(study)[five[0]]
    assert (first, last) == (1, 1)
    assert all("worse" in cell for cell in cells[1:])
    assert "a tie there may be not decided here" in page.inner_text("#explore-pinned .table-note")

    page.select_option("#explore-scale", "relative")
    sets = [row for row in study[Statistic] if row.benchmark == "sets" and not row.per_cpu]
    values = {row.configuration: row.compared.value for row in sets}
    base = page.inner_text(f'#explore-rows tr[data-name="{five[0]}"] td >> nth=2')
    assert base.strip() == "1.000\N{MULTIPLICATION SIGN}"
    said = page.inner_text(f'#explore-rows tr[data-name="{five[3]}"] td >> nth=2')
    ratio, low, high = (
        float(part) for part in said.replace("\N{MULTIPLICATION SIGN}", " ").replace("\N{EN DASH}", " ").split()
    )
    assert ratio == pytest.approx(values[five[3]] / values[five[0]], rel=0.02)
    assert low < ratio < high < 1
    assert len({len(part.partition(".")[2]) for part in re.findall(r"[\d.]+", said.partition("n =")[0])}) == 1
    assert f"1\N{MULTIPLICATION SIGN} = {five[0]}" in page.inner_text("#explore-head")
    page.select_option("#explore-scale", "log")
    at = page.eval_on_selector_all("#explore-rows .bar-median", "marks => marks.map(m => +m.getAttribute('x') + 1)")
    logs = [math.log(values[name]) for name in shown(page)]
    assert (at[0] - at[10]) / (at[0] - at[19]) == pytest.approx((logs[0] - logs[10]) / (logs[0] - logs[19]), rel=0.01)
    page.get_by_label(f"Unpin {five[0]}", exact=True).click()
    assert page.locator("#explore-pinned-head th").count() == 4


def test_the_download_has_the_rows_shown_and_no_formula(page: Any, study: AnalysedStudy) -> None:
    page.fill("#explore-search", "azure")
    assert page.inner_text("#explore-download") == "Download these 8 rows (CSV)"
    with page.expect_download() as waiting:
        page.click("#explore-download")
    assert waiting.value.suggested_filename == "sets-sets_per_s.csv"
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    rows = {row["configuration"]: row for row in csv.DictReader(io.StringIO(text))}
    assert [*rows] == [*shown(page)]
    assert rows["odd"]["machine_type"] == f"'{ODD[2]}"
    assert rows["odd"]["usd_per_month"] == ""
    (stored,) = (
        row for row in study[Statistic] if (row.configuration, row.benchmark, row.per_cpu) == ("d8s-v5", "sets", False)
    )
    found = rows["d8s-v5"]
    assert [float(found[key]) for key in ("value", "low", "high", "n")] == [*stored.compared[:3], 5]
    assert float(found["coverage"]) == stored.compared.coverage == 0.95
    seen = page.inner_text('#explore-rows tr[data-name="d8s-v5"] td >> nth=2')
    assert seen.endswith("n = 5, 95\N{NO-BREAK SPACE}%")
    assert page.locator('#explore-rows tr[data-name="d8s-v5"] .bar-interval:not(.partial)').count() == 1
    assert float(found["usd_per_month"]) == pytest.approx(months(study)["d8s-v5"])
    assert (int(found["first_rank"]), int(found["last_rank"])) == shown(page)["d8s-v5"]
    assert found["unit"] == "SET/s"


def test_a_link_reopens_the_view_on_a_phone(page: Any, browser: Any, path: Path, opened: Opened) -> None:
    page.fill("#explore-month", "400")
    page.select_option("#explore-view", "dollar")
    page.select_option("#explore-scale", "log")
    for name in [*shown(page)][:2]:
        page.get_by_label(f"Pin {name}", exact=True).check()
    page.click('#explore-head [data-sort="gib"]')
    phone = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark", offline=True).new_page()
    said: list[str] = []
    phone.on("console", lambda message: said.append(message.text))
    phone.on("pageerror", lambda error: said.append(str(error)))
    phone.goto(page.url)
    phone.wait_for_selector("html[data-charts=drawn]", timeout=60_000)
    assert shown(phone) == shown(page)
    for field in ("board", "month", "view", "scale", "basis"):
        assert phone.input_value(f"#explore-{field}") == page.input_value(f"#explore-{field}")
    for part in ("head", "pinned-rows", "answer"):
        # All of it, as a phone folds columns.
        assert phone.text_content(f"#explore-{part}") == page.text_content(f"#explore-{part}")
    phone.wait_for_function("Math.abs(document.getElementById('explore').getBoundingClientRect().top) < 60")
    wide, window = phone.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= window
    unnamed = phone.evaluate(
        "[...document.querySelectorAll('#explore :is(input, select, button)')].filter(one => !one.hidden"
        " && !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent.trim())"
        ".map(one => one.outerHTML)"
    )
    assert unnamed == []
    phone.evaluate("location.hash = '#methods'")
    assert shown(phone) == shown(page), "a link within the page keeps the view"
    phone.go_back()
    phone.wait_for_function("location.hash.startsWith('#explore?')")
    assert shown(phone) == shown(page)
    phone.context.close()
    assert opened.said == said == []
    assert opened.asked == [path.as_uri()]


def test_a_study_without_prices_has_no_fields_for_them(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(main_page(report_example.laptop()), encoding="utf-8")
    page = open_report(browser, tmp_path / "index.html", 1280).page
    assert page.locator("#explore-rows tr").count() > 1
    for field in ("month", "basis", "discount"):
        assert page.is_hidden(f"#explore-{field}")
    assert "$" not in page.inner_text("#explore")
    page.context.close()


def test_the_only_value_that_is_known_is_not_called_best(browser: Any, tmp_path: Path) -> None:
    """One trial ran, and the other configuration has no value yet."""
    study = report_example.laptop()
    alone = [row for row in study[Statistic] if (row.benchmark, row.configuration) == ("point-select", "local-all")]
    path = tmp_path / "index.html"
    path.write_text(main_page(with_tables(study, {Statistic: alone, BestRow: []})), encoding="utf-8")
    answer = open_report(browser, path, 1280).page.inner_text("#explore-answer")
    assert answer.startswith("1 configuration. Nothing to compare it with: local-all, ")
