"""How much of a reader's attention the main page takes, on studies of 2, 17, 82 and 200 configurations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nephoscope.report.page import render_pages
from nephoscope.report.parts import Page
from nephoscope.report.pdf import paper
from tests.browser.test_report_in_browser import Opened, open_report
from tests.support.report_folder import write_report
from tests.unit.report import priced_example

SCREEN_PX = 900
PHONE_PX = 844
MAX_WORDS = 1_500
MAX_PDF_PAGES = 12
SLOWER = 4
MAX_READY_MS = 2_000
WORDS = """() => {
  const main = document.querySelector("main").cloneNode(true);
  for (const one of main.querySelectorAll("table, script, style, svg, noscript, option")) one.remove();
  return main.textContent.trim().split(/\\s+/).length;
}"""


@dataclass(frozen=True)
class Budget:
    """Of the main page of a study of this many configurations."""

    configurations: int
    max_screens: float
    max_bytes: int


SMALL = Budget(2, 6, 1_500_000)
BUDGETS = (
    SMALL,
    pytest.param(Budget(17, 12, 4_000_000), marks=pytest.mark.slow),
    pytest.param(Budget(82, 12, 4_000_000), marks=pytest.mark.slow),
    Budget(200, 12, 4_000_000),
)


def study_of(count: int) -> Any:
    """Machines of three clouds, each a little faster than the one before."""
    sold = list(priced_example.MACHINES.values())
    machines = {f"machine-{place:03d}": (*sold[place % 5][:4], 1 + place / 50) for place in range(count)}
    return priced_example.priced(6, machines)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Budget], Path]:
    """Writes the report of a study of this size, once."""

    @cache
    def index(budget: Budget) -> Path:
        folder = tmp_path_factory.mktemp("report")
        write_report(study_of(budget.configurations), folder)
        return folder / "index.html"

    return index


def first_card(opened: Opened) -> tuple[float, float]:
    top, bottom = opened.page.evaluate(
        "(box => [box.top, box.bottom])(document.querySelector('.card').getBoundingClientRect())"
    )
    return top, bottom


def hangs_over(opened: Opened) -> float:
    wide: float = opened.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: f"{budget.configurations} configurations")
def test_the_main_page_stays_within_its_budget(browser: Any, written: Callable[[Budget], Path], budget: Budget) -> None:
    path = written(budget)
    assert path.stat().st_size <= budget.max_bytes
    desk, phone = open_report(browser, path, 1280), open_report(browser, path, 390, "dark")
    assert desk.page.evaluate("document.documentElement.scrollHeight") <= budget.max_screens * SCREEN_PX
    assert desk.page.evaluate(WORDS) <= MAX_WORDS
    assert first_card(desk)[1] <= SCREEN_PX
    assert first_card(phone)[1] <= PHONE_PX
    assert (hangs_over(desk), hangs_over(phone)) == (0, 0)
    assert desk.said + phone.said == []
    for opened in (desk, phone):
        opened.page.context.close()


def test_every_chart_is_there_before_any_script_has_run(browser: Any, written: Callable[[Budget], Path]) -> None:
    """So none is blank for a reader who jumps to it, or prints at once."""
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(written(SMALL).as_uri())
    drawings = page.locator("main .drawing")
    assert page.locator("main .drawing svg").count() == drawings.count()
    context.close()


@pytest.mark.slow
def test_it_can_be_used_within_two_seconds_on_a_slow_computer(browser: Any, written: Callable[[Budget], Path]) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": SCREEN_PX}, offline=True)
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(written(SMALL).as_uri())
    assert page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive") <= MAX_READY_MS
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 200])
def test_the_pdf_of_the_main_page_is_short(count: int) -> None:
    """And nothing in it makes WeasyPrint fail, as pictures that were themselves cells of a broken grid did."""
    weasyprint = pytest.importorskip("weasyprint")
    html = paper(render_pages(study_of(count))[Page.MAIN])
    assert len(weasyprint.HTML(string=html).render().pages) <= MAX_PDF_PAGES
