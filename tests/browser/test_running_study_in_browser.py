"""The page of a study that runs, in a browser: it says how far the study is, follows it, and stands still if asked."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.redraw import Phase, command
from nephoscope.store.folder import ResultsFolder
from tests.support.accessibility import violations
from tests.support.command_line import start_nephoscope
from tests.support.made_results import made_results, write_trial


def write_report(folder: ResultsFolder) -> None:
    subprocess.run(command(folder.path, Phase.RUNNING, 0), check=True)


def stand_still(route: Any) -> None:
    """Answers without the header that loads the list again, while axe looks at it."""
    answer = route.fetch()
    route.fulfill(response=answer, headers={name: text for name, text in answer.headers.items() if name != "refresh"})


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[ResultsFolder, str]]:
    """Two studies that a controller works on; the first one has a report."""
    folders = [
        made_results(tmp_path / "grows", {"a": [100.0, None], "b": [None, None]}),
        made_results(tmp_path / "stands", {"c": [1.0, None]}),
    ]
    with folders[0].lock(), folders[1].lock():
        write_report(folders[0])
        process = start_nephoscope("serve", *(folder.path for folder in folders), "--port", "0")
        assert process.stdout is not None
        yield folders[0], process.stdout.readline().decode().strip()
        process.terminate()
        assert process.wait(timeout=60) == 143


def test_a_page_that_is_open_follows_the_study(browser: Any, running: tuple[ResultsFolder, str]) -> None:
    growing, address = running
    problems: list[str] = []
    page: Any = browser.new_page(viewport={"width": 390, "height": 844})
    page.on("console", lambda said: problems.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    assert page.locator("h2").count() == 2
    assert page.locator("h2 a").count() == 1
    page.clock.install()
    page.locator("h2 a").click()
    progress = page.locator(".progress")
    progress.get_by_text("1 of 4 trials ended.").wait_for()
    for planned, trial in growing.planned():
        if not trial.attempts() and planned.intent.block == 2:
            loud = planned.intent.configuration_name == "a"
            write_trial(growing, planned.intent, "<i>postgres</i> used 1.3 CPUs" if loud else 200.0)
    write_report(growing)
    page.clock.fast_forward(60_000)
    progress.get_by_text("3 of 4 trials ended.").wait_for()
    assert progress.locator("li").all_inner_texts() == [
        "a · fake · replicate 2: foreign-load: <i>postgres</i> used 1.3 CPUs"
    ]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    progress.get_by_label("Reload every minute").uncheck()
    page.evaluate("document.body.dataset.same = 'page'")
    page.clock.fast_forward(180_000)
    assert page.evaluate("document.body.dataset.same") == "page", "it was not loaded again"
    assert problems == []
    page.route(address, stand_still)
    page.goto(address)
    assert violations(page) == []
    page.close()
