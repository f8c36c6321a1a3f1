"""The figures of what machines give, as a reader sees them: marks are counted, nothing hangs over the window."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.test_report_in_browser import CHROMIUM, FLAGS, WIDTHS, Opened, open_report
from tests.support.report_folder import write_report
from tests.unit.report.numbers_example import MACHINES, numbers

api = pytest.importorskip("playwright.sync_api")
REPLICATES = 3
COUNT = """selector => Object.fromEntries([...document.querySelectorAll('#numbers figure')].map(figure => [
  figure.querySelector('.figure-title').textContent.replace(/^Figure \\d+ /, ''),
  figure.querySelectorAll(selector).length]))"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Opened]]:
    if not CHROMIUM.exists():
        pytest.skip("no /usr/bin/chromium")
    folder = tmp_path_factory.mktemp("results") / "report"
    write_report(numbers(REPLICATES), folder)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield {width: open_report(browser, folder / "evidence.html", width) for width in WIDTHS}
        browser.close()


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, opened: dict[int, Opened]) -> Any:
    assert opened[request.param].said == []
    return opened[request.param].page


def marks(page: Any, selector: str) -> dict[str, int]:
    found: dict[str, int] = page.evaluate(COUNT, selector)
    return found


def test_every_configuration_has_its_marks(page: Any) -> None:
    machines = len(MACHINES)
    bars, signs = marks(page, ".mark-rect path"), marks(page, ".mark-symbol path")
    lines, rules = marks(page, ".mark-line path"), marks(page, ".mark-rule.role-mark line")
    assert bars["stress-ng: Bogo operations (matrix), per CPU, ranked"] == machines
    assert rules["multi-stream: throughput, slowest to fastest second"] == machines
    assert bars["multi-stream: throughput, slowest to fastest second"] == machines, "the ticks of the median second"
    assert lines["multi-stream: throughput, second by second"] == machines * REPLICATES
    assert signs["multi-stream: effect of more streams"] == 4 * machines
    assert bars["ping: distribution of round-trip times"] >= machines * 3
    assert rules["ping: distribution of round-trip times"] == 1, "light in fibre"
    assert signs["fio: I/O rate by job"] == (5 + 6) * machines, "a mixed job is in both"
    for kind in ("reads", "writes"):
        assert signs[f"sysbench-fileio: {kind}: effect of more threads"] == 4 * 6 * machines
        assert lines[f"sysbench-fileio: {kind}: effect of more threads"] == 4 * machines
    assert signs["stress-ng: Bogo operations (matrix), per CPU, small and large machines"] == machines


def test_nothing_hangs_over_the_window(page: Any) -> None:
    wide, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= window


def test_the_contents_lead_to_each_part(page: Any) -> None:
    for part in ("cpu", "network", "storage", "sizes"):
        assert page.locator(f'.contents a[href="#numbers-{part}"]').count() == 1
        assert page.locator(f"#numbers-{part} figure").count() >= 1
