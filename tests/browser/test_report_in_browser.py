"""The report as a reader sees it: drawn, quiet, within the window, in both colours, on paper."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.rows import RawFileRow, TrialRow
from tests.support.accessibility import violations
from tests.support.report_folder import write_report
from tests.support.some_tables import with_tables
from tests.unit.report import priced_example
from tests.unit.report import report_example as example

WIDTHS = (768, 390)
"""Besides the one with which pages are opened."""
HANGING = """() => {
  const wide = document.documentElement.clientWidth;
  const found = [...document.querySelectorAll("body *")].filter((one) => {
    if (one.closest(".scroll, pre, .skip, caption, defs, details:not([open]) > :not(summary)")) return false;
    const { left, right, width } = one.getBoundingClientRect();
    return width && (left < -1 || right > wide + 1);
  });
  return found.map((one) => `${one.tagName} ${one.textContent.slice(0, 40)} in ${one.closest("[id]")?.id}`);
}"""
"""What is beyond the window's sides, except in boxes that scroll."""


@pytest.fixture(scope="module")
def report_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "report"
    study = example.laptop()
    files = [RawFileRow(trial=row.trial, file="out.json", size_bytes=7, sha256="ab" * 32) for row in study[TrialRow]]
    write_report(with_tables(study, {RawFileRow: files}), folder)
    return folder / "evidence.html"


@dataclass
class Opened:
    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def open_report(browser: Any, path: Path, width: int, colours: str = "light") -> Opened:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours, offline=True)
    opened = Opened(context.new_page())
    opened.page.on("console", lambda message: opened.said.append(message.text))
    opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.page.on("dialog", lambda dialog: opened.said.append(f"dialog {dialog.message}"))
    opened.page.on("request", lambda request: opened.asked.append(request.url))
    opened.page.goto(path.as_uri())
    opened.page.wait_for_selector("html[data-charts=drawn]", timeout=60_000)
    return opened


@pytest.fixture(scope="module")
def opened(browser: Any, report_path: Path) -> Iterator[Opened]:
    """One page for all tests that leave it as it was."""
    found = open_report(browser, report_path, 1280)
    yield found
    found.page.context.close()


def test_it_is_quiet_and_asks_for_nothing_but_itself(opened: Opened, report_path: Path) -> None:
    assert opened.said == []
    assert opened.asked == [report_path.as_uri()]


def test_every_chart_has_marks(opened: Opened) -> None:
    counts = opened.page.evaluate(
        "[...document.querySelectorAll('.drawing')].map(d => d.querySelectorAll("
        "'.mark-symbol path, .mark-rule line, .mark-line path, .mark-rect path').length)"
    )
    assert len(counts) > 20
    assert min(counts) > 0


def settled(page: Any) -> None:
    """Charts have adapted to another width of the window when it returns."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def hanging(page: Any) -> list[str]:
    """What a reader cannot see whole, at any width."""
    found = page.evaluate(HANGING)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        found += page.evaluate(HANGING)
    page.set_viewport_size({"width": 1280, "height": 900})
    return list(found)


def test_nothing_hangs_over_the_window_and_a_desk_shows_the_leaderboard_whole(opened: Opened) -> None:
    held, window = opened.page.evaluate(
        "(scroll => [scroll.scrollWidth, scroll.clientWidth])(document.querySelector('#leaderboard .scroll'))"
    )
    assert held <= window
    assert hanging(opened.page) == []


TOO_SMALL = """() => [...document.querySelectorAll('body *')].filter(one => {
  const text = [...one.childNodes].some(child => child.nodeType === 3 && child.data.trim());
  const inside = one.closest('svg') && one.getScreenCTM ? one.getScreenCTM() : {a: 1, b: 0};
  const px = parseFloat(getComputedStyle(one).fontSize) * Math.hypot(inside.a, inside.b);
  return text && one.getClientRects().length && px < 11.95;
}).map(one => `${one.tagName}.${one.getAttribute('class')}: ${one.textContent.trim().slice(0, 40)}`)"""


NUMBERED = """() => [...document.querySelectorAll('figure')].map(one => {
  const places = [one.closest('section') ?? one, one].map(each => each.getBoundingClientRect());
  const number = parseInt(one.querySelector('.figure-number').textContent.replace(/\\D/g, ''));
  return [...places.flatMap(place => [place.top, place.left]), number];
}).sort((a, b) => a.map((each, at) => each - b[at]).find(each => each) ?? 0).map(place => place.at(-1))"""
"""Numbers of figures in the order of reading: chapter by chapter, and in each line by line."""


def test_no_text_is_smaller_than_twelve_pixels_on_a_phone(browser: Any, report_path: Path) -> None:
    page = open_report(browser, report_path, 390).page
    assert page.evaluate(TOO_SMALL) == []
    page.context.close()


def test_nothing_on_it_keeps_anybody_out(opened: Opened) -> None:
    assert violations(opened.page) == []


def test_links_to_trials_lead_to_rows(opened: Opened) -> None:
    missing = opened.page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1))"
        ".filter(id => !document.getElementById(id))"
    )
    assert missing == []
    assert opened.page.locator('a[href^="#trial-"]').count() > 48


def test_a_point_leads_to_its_trial_whose_record_opens(opened: Opened) -> None:
    page = opened.page
    page.locator("#benchmarks .mark-symbol path").first.click(force=True)
    page.wait_for_function("location.hash.startsWith('#trial-')")
    record = page.locator("tr.record")
    record.wait_for()
    assert record.locator("h4").all_inner_texts()[0] == "Verdict"
    for text in ("Numbers", "Machine before the trial", "out.json, 7 bytes", "ab" * 32):
        assert text in record.inner_text()
    other = page.locator("#trial-list tr[id^=trial-]:not(:has(+ .record)) a:visible").first.get_attribute("href")
    page.locator(f'#trial-list a[href="{other}"]').click()
    page.wait_for_function("document.querySelectorAll('tr.record').length === 2")
    page.locator(f'#trial-list a[href="{other}"]').click()
    assert record.count() == 1


def test_a_tooltip_is_one_aligned_table(opened: Opened) -> None:
    opened.page.locator("#benchmarks .mark-symbol path").first.hover(force=True)
    opened.page.wait_for_selector("#vg-tooltip-element.visible td.key")
    keys, values = (
        opened.page.evaluate(
            f"[...document.querySelectorAll('#vg-tooltip-element td.{kind}')]"
            ".map(cell => cell.getBoundingClientRect()).map(box => [Math.round(box.top), Math.round(box.left)])"
        )
        for kind in ("key", "value")
    )
    assert [top for top, _ in keys] == [top for top, _ in values], "a row for each field"
    assert len({left for _, left in values}) == 1


def test_colours_follow_the_system_and_the_button_and_paper_is_white(opened: Opened) -> None:
    page = opened.page
    page.emulate_media(color_scheme="dark")

    def paper_and_label() -> list[str]:
        found: list[str] = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.drawing .role-axis-label text')).fill]"
        )
        return found

    dark = paper_and_label()
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Light"
    light = paper_and_label()
    assert light[0] == "rgb(255, 255, 255)"
    assert light[0] != dark[0]
    assert light[1] != dark[1], "charts follow"
    page.click("#theme")
    assert paper_and_label() == dark
    page.emulate_media(media="print")
    assert paper_and_label()[0] == light[0]
    page.emulate_media(media="screen", color_scheme="light")


def test_printed_at_once_it_has_every_chart_and_table(browser: Any, report_path: Path) -> None:
    """Before a browser has had time to draw any."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    context.add_init_script("window.requestIdleCallback = () => {}")
    page = context.new_page()
    page.goto(report_path.as_uri())
    page.wait_for_selector("html[data-charts=unpacked]")
    charts, blank = page.locator(".drawing"), page.locator(".drawing:empty:not(.order-fold .drawing)")
    assert charts.count() > 20
    assert blank.count() > 20
    page.pdf(format="A4")
    assert blank.count() == 0
    folded = page.evaluate(
        "[...document.querySelectorAll('main details:not(figure details, .order-fold)')].filter(d => !d.open).length"
    )
    assert folded == 0, "paper cannot unfold a table"
    context.close()


def test_without_scripts_the_tables_remain(browser: Any, report_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report_path.as_uri())
    assert page.locator("noscript").count() == 1
    assert page.locator("table").count() > 30
    context.close()


def test_long_tables_unfold_by_their_button_and_by_a_link_into_them(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("many") / "report"
    machines = {f"m-{index}": ("aws", "us-east-1", "m6i.2xlarge", 8, 1 + index / 50) for index in range(20)}
    write_report(priced_example.priced(4, machines), folder)
    page = open_report(browser, folder / "evidence.html", 390).page
    leaders = page.locator("#leaderboard-table tbody.more tr")
    assert leaders.count() > 0
    assert not leaders.first.is_visible()
    page.locator("#leaderboard-table .unfold button").first.click()
    assert leaders.first.is_visible()
    last = page.locator("#trials tbody.more tr[id^=trial-]").last
    assert not last.is_visible()
    page.evaluate("id => { location.hash = id }", last.get_attribute("id"))
    last.wait_for(state="visible")
    page.context.close()
