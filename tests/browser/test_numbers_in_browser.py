"""The figures of what machines give, as a reader sees them: marks are counted, nothing hangs over the window."""

from typing import Any

import pytest

from tests.browser.test_report_in_browser import hanging, open_report
from tests.support.report_folder import evidence_page
from tests.unit.report.numbers_example import MACHINES, numbers

REPLICATES = 3
COUNT = """selector => Object.fromEntries([...document.querySelectorAll('#numbers figure')].map(figure => [
  figure.querySelector('.figure-title').textContent.replace(/^Figure \\d+ /, ''),
  figure.querySelectorAll(selector).length]))"""


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("report") / "evidence.html"
    path.write_text(evidence_page(numbers(REPLICATES)), encoding="utf-8")
    opened = open_report(browser, path, 1280)
    assert opened.said == []
    return opened.page


def marks(page: Any, selector: str) -> dict[str, int]:
    found: dict[str, int] = page.evaluate(COUNT, selector)
    return found


def test_every_configuration_has_its_marks(page: Any) -> None:
    machines = len(MACHINES)
    bars, signs = marks(page, ".mark-rect path"), marks(page, ".mark-symbol path")
    lines, rules = marks(page, ".mark-line path"), marks(page, ".mark-rule.role-mark line")
    assert bars["stress-ng: stress-ng matrix, per CPU, ranked"] == 2 * machines, "among all, and in their clouds"
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
    assert signs["stress-ng: stress-ng matrix, per CPU, small and large machines"] == machines


def test_nothing_hangs_over_the_window(page: Any) -> None:
    assert hanging(page) == []


def test_the_contents_lead_to_each_part(page: Any) -> None:
    for part in ("cpu", "network", "storage", "sizes"):
        assert page.locator(f'.contents a[href="#numbers-{part}"]').count() == 1
        assert page.locator(f"#numbers-{part} figure").count() >= 1
