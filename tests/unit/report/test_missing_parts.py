"""One insight, figure or section that raises costs itself: the page says so, and everything else is there."""

import json
import re
from pathlib import Path
from typing import NoReturn

import pytest

from nephoscope.app.cli import main
from nephoscope.insights import registry
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import EXIT_DEFECT, EXIT_OK
from nephoscope.model.missing import MissingPart, contained
from nephoscope.report import page as pages
from nephoscope.report.page import Pages, render_pages
from nephoscope.report.parts import Book, Figure, Page, Table
from tests.unit.analysis.study_builder import inputs, noisy
from tests.unit.report.priced_example import priced

FAULT = "planted <b>fault</b>"
TABLES = ("OPENING", "CLOSING", "EVIDENCE")
SECTIONS = [(table, name) for table in TABLES for name in vars(pages)[table]]
REHEARSED = """
name = "small"
replicates = 3

[[configurations]]
name = "a"

[[configurations]]
name = "b"
database_machine = { cpus = 1 }

[[benchmarks]]
uses = "coremark"
"""


def broken(*_: object, **__: object) -> NoReturn:
    raise ZeroDivisionError(FAULT)


@pytest.fixture(scope="module")
def study() -> AnalysedStudy:
    return priced(4)


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing them takes most of the time of a page, and the other tests do not look at them."""
    monkeypatch.setattr(pages, "svg_of", lambda *_: "")


def named(pages: Pages) -> list[tuple[str, str]]:
    return [(part.kind, part.name) for part in pages.missing]


def lines_of(html: str) -> str:
    """What the page says is missing; empty if nothing is."""
    _, _, rest = html.partition('id="missing"')
    return rest.partition("</div>")[0]


def test_each_rule_that_raises_costs_its_own_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    example = inputs(noisy({"a": 1, "b": 1.2}, n=3))
    whole = analyse(example)
    assert not whole.missing
    rules = dict(registry.RULES)
    for name in rules:
        monkeypatch.setattr(registry, "RULES", {**rules, name: broken})
        analysed = analyse(example)
        assert [(part.kind, part.name) for part in analysed.missing] == [("insight", name)]
        assert analysed.insights == [insight for insight in whole.insights if insight.rule != name]


def test_a_rule_that_raised_is_named_on_both_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "RULES", {**registry.RULES, "noise": broken})
    rendered = render_pages(analyse(inputs(noisy({"a": 1, "b": 1.2}, n=3))))
    assert named(rendered) == [("insight", "noise")]
    for html in rendered.html.values():
        assert "the insight “noise”: ZeroDivisionError: planted &lt;b&gt;fault&lt;/b&gt;" in lines_of(html)
        assert "A part of this report is missing" in html
        assert "Traceback" not in html


@pytest.mark.parametrize("first", range(3))
def test_sections_that_raise_cost_themselves(monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy, first: int) -> None:
    """Every third at a time: its neighbours are there."""
    failing = SECTIONS[first::3]
    for table, name in failing:
        monkeypatch.setattr(pages, table, {**vars(pages)[table], name: broken})
    rendered = render_pages(study)
    assert sorted(named(rendered)) == sorted(("section", name) for _, name in failing)
    for html in rendered.html.values():
        assert all(f"the section “{name}”: ZeroDivisionError" in lines_of(html) for _, name in failing)
        assert html.rstrip().endswith("</html>")


def test_what_raised_is_never_said_not_to_exist(monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy) -> None:
    """'This study has no answers' would be a lie."""
    for table in TABLES:
        monkeypatch.setattr(pages, table, dict.fromkeys(vars(pages)[table], broken))
    monkeypatch.setattr(pages, "chapters", broken)
    rendered = render_pages(study)
    assert len(rendered.missing) == len(SECTIONS) + 1
    for html in rendered.html.values():
        for lie in ("no answers", "no benchmarks", "nothing to compare", "No machine", "No check", "no trials"):
            assert lie not in html
        assert "Nothing ran" not in html
        assert "A part is missing here" in html


def test_a_chapter_and_a_benchmark_that_raise_cost_themselves(
    monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy
) -> None:
    monkeypatch.setattr("nephoscope.report.main.chapters.chapter_table", broken)
    monkeypatch.setattr("nephoscope.report.sections.benchmarks.of_benchmark", broken)
    rendered = render_pages(study)
    assert {kind for kind, _ in named(rendered)} == {"section"}
    names = {name for _, name in named(rendered)}
    assert {f"benchmark {row.benchmark}" for row in study.benchmarks} < names
    assert any(name.startswith("chapter ") for name in names)
    assert 'id="chapter-cost"' in rendered.html[Page.MAIN]


def test_a_figure_that_raises_costs_itself(monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy) -> None:
    """Of every figure the same function makes the part of the page, so four places of both pages say as much as all."""
    whole, draw = render_pages(study), Book.figure
    count = sum(html.count("<figure ") for html in whole.html.values())
    assert count > 10
    for place in (0, count // 3, 2 * count // 3, count - 1):
        drawn = 0

        def fails_once(self: Book, *args: object, place: int = place, **kwargs: object) -> Figure:
            nonlocal drawn
            drawn += 1
            if drawn == place + 1:
                broken()
            return draw(self, *args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(Book, "figure", fails_once)
        rendered = render_pages(study)
        ((kind, name),) = named(rendered)
        assert kind == "figure"
        assert all(name in lines_of(html) for html in rendered.html.values())
        numbers = [int(found) for html in rendered.html.values() for found in re.findall(r">Figure (\d+)<", html)]
        assert numbers == list(range(1, len(numbers) + 1)), "no gap"


def test_a_picture_that_cannot_be_drawn_is_left_to_the_browser(
    monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy
) -> None:
    monkeypatch.setattr(pages, "svg_of", broken)
    rendered = render_pages(study)
    assert rendered.missing
    assert {kind for kind, _ in named(rendered)} == {"figure"}
    assert rendered.html[Page.MAIN].count("data-for=") == render_pages(study).html[Page.MAIN].count("data-for=")


def test_what_cannot_be_printed_costs_its_own_part_of_the_page(
    monkeypatch: pytest.MonkeyPatch, study: AnalysedStudy
) -> None:
    monkeypatch.setattr(Table, "chunks", property(broken))
    rendered = render_pages(study)
    assert {kind for kind, _ in named(rendered)} == {"section"}
    assert all("printing trials" in lines_of(html) for html in rendered.html.values())
    assert 'id="verdict"' in rendered.html[Page.MAIN], "it has no table"
    assert "printing opening" in lines_of(rendered.html[Page.EVIDENCE])


def test_somebody_who_stops_the_program_stops_it() -> None:
    missing: list[MissingPart] = []
    with pytest.raises(KeyboardInterrupt), contained(missing, "section", "slow"):
        raise KeyboardInterrupt
    assert missing == []


@pytest.fixture
def rehearsed(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(REHEARSED)
    out = tmp_path / "out"
    assert main(["run", str(tmp_path / "small.toml"), "--rehearse", "--out", str(out)]) == EXIT_OK
    return out


def test_commands_name_what_is_missing_and_fail_only_if_strict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rehearsed: Path
) -> None:
    file = rehearsed / "report" / "missing-parts.json"
    with monkeypatch.context() as planted:
        planted.setattr(registry, "RULES", {**registry.RULES, "noise": broken})
        for command, details in (("analyze", rehearsed / "analysis.json"), ("report", file)):
            capsys.readouterr()
            assert main([command, str(rehearsed)]) == EXIT_OK
            told = capsys.readouterr().err.replace("\n", " ")
            assert f"missing: the insight “noise”: ZeroDivisionError: {FAULT}" in told
            assert f"this is a defect in nephoscope: please report it with {details}" in told
            assert main([command, str(rehearsed), "--strict"]) == EXIT_DEFECT
        (part,) = json.loads(file.read_text())
        assert "in broken" in part["traceback"]
    capsys.readouterr()
    assert main(["report", str(rehearsed), "--strict"]) == EXIT_OK, "a mended rule speaks: it is analysed again"
    assert "missing" not in capsys.readouterr().err
    assert not file.exists()
