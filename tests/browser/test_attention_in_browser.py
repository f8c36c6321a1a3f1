"""The main page as four sizes of study have it, at three widths and in both colours: short, whole, for everybody."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages.paper import PDF, installed_browser, printed
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import EnvironmentProblem, ToolMissing
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Page
from tests.browser.conftest import CHROMIUM
from tests.browser.test_report_in_browser import HANGING, NUMBERED, TOO_SMALL, Opened, open_report, settled
from tests.support.accessibility import violations
from tests.unit.report import numbers_example, priced_example

SCREEN_PX, PHONE_PX = 900, 844
WIDTHS = (390, 768, 1280)
"""The narrowest first, as the page is opened with it: a telephone gets the contents folded."""
ALL_AT_ONCE_PX = 12_000
"""Height of a window in which every chart is seen, so that its scripts draw it."""
MAX_WORDS = 1_500
MAX_PDF_PAGES = 12
SLOWER = 4
MAX_READY_MS = 2_000
WORDS = """() => {
  const main = document.querySelector("main").cloneNode(true);
  for (const one of main.querySelectorAll("table, script, style, svg, noscript, option")) one.remove();
  return main.textContent.trim().split(/\\s+/).length;
}"""
OVERFLOWING = """() => {
  for (const one of document.querySelectorAll("main details")) one.open = true;
  const found = [...document.querySelectorAll("main .scroll")].filter(one => one.scrollWidth > one.clientWidth);
  for (const one of document.querySelectorAll("main details")) one.open = false;
  return found.map(one => one.ariaLabel).filter(name => !name.startsWith("Table: What an operation costs"));
}"""
"""Tables that a reader of a telephone would have to scroll sideways, also folded ones; ten columns of costs need it."""
DRAWN = "() => [...document.querySelectorAll('main .drawing')].every(d => d.matches('.vega-embed'))"
READY = """new MutationObserver(() => {
  if (document.documentElement?.dataset.explorer) window.readyAfterMs ??= performance.now();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-explorer"] });"""


def priced(count: int) -> AnalysedStudy:
    """Machines of three clouds, each a little faster than the one before."""
    sold = list(priced_example.MACHINES.values())
    machines = {f"machine-{place:03d}": (*sold[place % 5][:4], 1 + place / 50) for place in range(count)}
    return priced_example.priced(6, machines)


@dataclass(frozen=True)
class Example:
    """A study with the budget of its main page."""

    configurations: int
    study: Callable[[], AnalysedStudy]
    max_screens: float
    max_bytes: int
    month_usd: int
    """What some of its configurations cost at most."""


SMALL = Example(2, numbers_example.every_chapter, 6.9, 1_500_000, 330)
MIDDLE, MANY, MOST = (Example(count, partial(priced, count), 12, 4_000_000, 1_100) for count in (17, 82, 200))
EXAMPLES = (SMALL, pytest.param(MIDDLE, marks=pytest.mark.slow), pytest.param(MANY, marks=pytest.mark.slow), MOST)
Write = Callable[[Example], Path]


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Writes both pages of an example, once, and returns the path of the first."""

    @cache
    def written(example: Example) -> Path:
        folder = tmp_path_factory.mktemp("report")
        for name, html in render_pages(example.study()).html.items():
            (folder / name).write_text(html, encoding="utf-8")
        return folder / Page.MAIN

    return written


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda example: f"{example.configurations} configurations")
def example(request: pytest.FixtureRequest) -> Example:
    found: Example = request.param
    return found


@pytest.fixture(scope="module")
def opened(browser: Any, write: Write, example: Example) -> Iterator[Opened]:
    found = open_report(browser, write(example), WIDTHS[0], "dark")
    yield found
    found.page.context.close()


def resized(page: Any, width: int, height: int = ALL_AT_ONCE_PX) -> None:
    """Charts have adapted when it returns."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(DRAWN)
    settled(page)


def test_the_main_page_stays_within_its_budget(opened: Opened, write: Write, example: Example) -> None:
    page = opened.page
    assert write(example).stat().st_size <= example.max_bytes
    assert page.evaluate(WORDS) <= MAX_WORDS
    for width in WIDTHS:
        resized(page, width)
        first_screen = PHONE_PX if width == WIDTHS[0] else SCREEN_PX
        assert page.evaluate("document.querySelector('.card').getBoundingClientRect().bottom") <= first_screen
        assert page.evaluate(HANGING) == []
        assert page.evaluate(TOO_SMALL) == []
        assert width > WIDTHS[0] or page.evaluate(OVERFLOWING) == []
        assert page.evaluate(NUMBERED) == sorted(page.evaluate(NUMBERED))
    assert page.evaluate("document.querySelector('main').getBoundingClientRect().bottom") <= (
        example.max_screens * SCREEN_PX
    )


def test_a_budget_question_is_answered_at_every_width(opened: Opened, example: Example) -> None:
    page = opened.page
    for width in WIDTHS:
        resized(page, width, SCREEN_PX)
        page.fill("#explore-month", str(example.month_usd))
        found = re.match(r"(\d+) of (\d+) configurations match(?:es)?\. ", page.inner_text("#explore-answer"))
        assert found
        assert 0 < int(found[1]) < int(found[2]) == example.configurations
        assert page.locator("#explore-rows tr").count() == min(20, int(found[1]))
        page.click("#explore-reset")


def test_nothing_on_it_keeps_anybody_out(opened: Opened) -> None:
    """In light and dark, with two rows side by side."""
    for place in (0, 1):
        opened.page.locator("#explore-rows input").nth(place).check()
    assert opened.page.is_visible("#explore-pinned")
    assert violations(opened.page) == []
    opened.page.evaluate("location.hash = '#explore'")


def test_it_prints_on_few_pages(opened: Opened) -> None:
    printed: bytes = opened.page.pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= MAX_PDF_PAGES
    assert opened.said == [], "in all of this"


def test_every_chart_is_there_before_any_script_has_run(browser: Any, write: Write) -> None:
    """So none is blank for a reader who jumps to it, or prints at once."""
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(write(SMALL).as_uri())
    charts = page.locator("main .drawing")
    assert charts.count() >= 10
    for place in range(charts.count()):
        assert charts.nth(place).locator("svg").is_visible()
    context.close()


@pytest.mark.slow
def test_the_evidence_of_many_keeps_nobody_out(browser: Any, write: Write) -> None:
    opened = open_report(browser, write(MANY).with_name(Page.EVIDENCE.value), 1280)
    assert violations(opened.page) == []
    opened.page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("example", [SMALL, MOST], ids=["2", "200"])
def test_it_can_be_used_within_two_seconds_on_a_slow_computer(browser: Any, write: Write, example: Example) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": SCREEN_PX}, offline=True)
    context.add_init_script(READY)
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(write(example).as_uri())
    page.wait_for_selector("html[data-explorer=ready]")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive") <= MAX_READY_MS
    assert page.evaluate("window.readyAfterMs") <= MAX_READY_MS, "fields answer"
    context.close()


@pytest.mark.parametrize("example", [SMALL, pytest.param(MOST, marks=pytest.mark.slow)], ids=["2", "200"])
def test_the_pdf_of_the_main_page_is_short(write: Write, example: Example, tmp_path: Path) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}")
    folder = write(example).parent
    pages = {page.value: (folder / page).read_bytes() for page in Page}
    files = printed(pages, CHROMIUM, tmp_path)
    assert [content[:5] for content in files.values()] == [b"%PDF-"] * 2
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", files[PDF])) <= MAX_PDF_PAGES
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_does_not_print_is_told_with_its_last_words(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho no display >&2; exit 3\n")
    browser.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match=r"did not print index.html \(exit code 3\): no display"):
        printed(dict.fromkeys(Page, b""), browser, tmp_path)


def test_without_a_browser_the_hint_says_how_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissing, match="none of chromium, ") as missing:
        installed_browser()
    assert "print" in missing.value.hint
