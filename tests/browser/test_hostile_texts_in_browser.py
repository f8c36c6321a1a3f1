"""Texts of other people's files in a report: whatever stands in them, the reader's browser runs none of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nephoscope.app.stages import evaluation
from nephoscope.importers.folder import write
from nephoscope.importers.imported import ImportedStudy
from nephoscope.importers.registry import IMPORTERS
from nephoscope.store.folder import ResultsFolder
from tests.support.others_results import SAMPLES

HOSTILE = """ </script></style></title>--><script>hit()</script><img src=x onerror=hit()><svg onload=hit()>\
'"` onmouseover=hit() x=${hit()}{{hit()}}\u2028</textarea><a href=javascript:hit()>x</a>\x1b[31m"""
NAMES = frozenset({"name", "benchmark", "provider", "verdict", "subject", "direction", "format", "check"})
"""Keys whose values are words of nephoscope, or names, which importers make safe."""


def planted(value: Any, add: Callable[[str], str], key: str = "") -> Any:
    """The value with something added to each free text in it."""
    if isinstance(value, str):
        return value if key in NAMES else add(value)
    if isinstance(value, list):
        return [planted(one, add, key) for one in value]
    if isinstance(value, dict):
        return {name: planted(one, add, name) for name, one in value.items()}
    return value


def hostile(tmp_path: Path) -> ImportedStudy:
    """What an importer reads, with something to run in every text."""
    file = tmp_path / "run.xml"
    file.write_text(SAMPLES["phoronix"])
    read = IMPORTERS["phoronix"].read(file).model_dump()
    found = ImportedStudy.model_validate(planted(read, lambda text: f"{text}{HOSTILE}"))
    assert found.trials
    assert str(found).count("onerror") > 10
    return found


def test_no_text_of_an_import_runs_in_the_pages_of_its_report(browser: Any, tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "results")
    write(hostile(tmp_path), folder, "0")
    evaluation.report(folder)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    said: list[str] = []
    asked: list[str] = []
    opened = context.new_page()
    opened.on("dialog", lambda dialog: said.append(dialog.message))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("console", lambda message: said.append(message.text))
    opened.on("request", lambda request: asked.append(request.url))
    opened.expose_function("hit", lambda: said.append("it ran"))
    for page in ("index.html", "evidence.html"):
        opened.goto((folder.report_dir / page).as_uri())
        opened.wait_for_selector("html[data-charts=drawn]", timeout=60_000)
        assert "onerror=hit()" in opened.inner_text("body")
        for kind in ("img[src=x]", "[onerror]", "[onmouseover]", "svg[onload]", "a[href^=javascript]"):
            assert opened.locator(kind).count() == 0, kind
        opened.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        opened.mouse.move(400, 400)
    assert said == []
    assert len(asked) == 2, "nothing but the pages themselves"
    context.close()
