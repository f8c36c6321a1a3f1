"""The live page: a study that grows while the page is open, without a reload, an error or a line that is too long."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.store.folder import ResultsFolder
from tests.support.accessibility import violations
from tests.support.command_line import start_nephoscope
from tests.support.made_results import made_results, write_trial


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[list[ResultsFolder], str]]:
    """Two studies that a controller works on here, so that no report is drawn."""
    here = {"provider": '"local"'}
    folders = [
        made_results(tmp_path / "grows", {"a": [100.0, None], "b": [None, None]}, machines={"a": here, "b": here}),
        made_results(tmp_path / "stands", {"c": [1.0]}, machines={"c": here}),
    ]
    left = tmp_path / "left"
    left.mkdir()
    with folders[0].lock(), folders[1].lock():
        process = start_nephoscope(
            "serve", *(folder.path for folder in folders), "--port", "0", environment={"TMPDIR": str(left)}
        )
        assert process.stdout is not None
        yield folders, process.stdout.readline().decode().strip()
        process.terminate()
        assert process.wait(timeout=60) == 143
    assert list(left.iterdir()) == [], "its temporary files are gone"


def test_a_page_that_is_open_follows_the_study(browser: Any, served: tuple[list[ResultsFolder], str]) -> None:
    (growing, _), address = served
    problems: list[str] = []
    page: Any = browser.new_page(viewport={"width": 390, "height": 844})
    page.on("console", lambda said: problems.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    first = page.locator(".study").first
    first.locator(".words", has_text="1 of 4 trials ended").wait_for()
    assert page.locator(".study h2").count() == 2
    page.evaluate("document.body.dataset.same = 'page'")
    for planned, trial in growing.planned():
        if not trial.attempts():
            loud = planned.intent.configuration_name == "a"
            write_trial(growing, planned.intent, "<i>postgres</i> used 1.3 CPUs" if loud else 200.0)
    first.locator(".words", has_text="4 of 4 trials ended").wait_for()
    assert first.locator(".refused li").all_inner_texts() == [
        "invalid a · fake · replicate 2 · 10 s\nforeign-load: <i>postgres</i> used 1.3 CPUs"
    ]
    assert first.locator(".ended li").count() == 4
    assert "drawn when the study ends" in first.locator(".report").inner_text()
    first.locator(".bar > span:first-child", has_text="b").wait_for()
    assert first.locator(".bar > span:first-child").all_inner_texts() == ["b", "a"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.body.dataset.same") == "page", "it was not loaded again"
    assert problems == []
    assert violations(page) == []
    page.close()
