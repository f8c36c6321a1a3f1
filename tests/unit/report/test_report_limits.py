"""A page stays within its bounds: long tables are folded, and what it does not hold stands beside it."""

import re
from pathlib import Path

import pytest

from nephoscope.report import parts
from nephoscope.report.parts import Cell, Column, Link, Row, Table
from nephoscope.report.sections import trials as trial_section
from nephoscope.report.tables.html import rows_html
from tests.support.report_folder import evidence_page
from tests.unit.report import report_example as example

COLUMNS = (Column("Name"), Column("Value", numeric=True))


def table(*sizes: int) -> Table:
    rows: list[Row] = []
    for group, size in enumerate(sizes):
        rows.append(Row(group=Link(f"group {group}", None)))
        rows += [Row((Cell(f"{group}-{index}"), Cell("1"))) for index in range(size)]
    return Table("numbers", COLUMNS, tuple(rows))


def test_each_group_of_a_long_table_is_folded_on_its_own() -> None:
    long, short = table(40, 3).chunks
    assert (len(long.shown), len(long.folded)) == (11, 30)
    assert (len(short.shown), len(short.folded)) == (4, 0)


def test_a_short_table_is_never_torn() -> None:
    assert [len(chunk.folded) for chunk in table(12).chunks] == [0]


def test_rows_are_escaped() -> None:
    hostile = "<img src=x onerror=alert(1)>\"'"
    cell = Cell(hostile, href=hostile, note=hostile, title=hostile, lines=(hostile,), links=(Link(hostile, hostile),))
    html = rows_html(
        COLUMNS, [Row((cell, cell), anchor=hostile), Row(group=Link(hostile, hostile), group_note=hostile)]
    )
    assert "<img" not in html
    assert re.findall(r'(?:href|title|id)="([^"]*)"', html).count("&lt;img src=x onerror=alert(1)&gt;&#34;&#39;") == 8


def test_trials_beyond_the_bound_are_in_the_files_beside_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_TRIALS", 5)
    html = evidence_page(example.laptop())
    assert len(re.findall(r'<tr id="trial-', html)) == 5
    assert "more rows: measurements.csv and raw_files.csv" in html
    anchors = set(re.findall(r'\bid="([^"]+)"', html))
    assert {link for link in re.findall(r'href="#([^"]+)"', html) if link} <= anchors
    assert 'href="../' not in html


def test_many_trials_are_drawn_as_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = evidence_page(example.laptop())
    monkeypatch.setattr(parts, "MAX_DRAWN_VALUES", 5)
    html = evidence_page(example.laptop())
    assert "too many trials to draw every one" in html
    assert "every replicate" in plain
    assert "every replicate" not in html
    assert len(html) < len(plain)


def test_sets_of_trials_and_links_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephoscope.report.parts.MAX_SETS", 3)
    monkeypatch.setattr(trial_section, "MAX_SETS", 3)
    monkeypatch.setattr(parts, "MAX_LINKS", 2)
    html = evidence_page(example.laptop())
    assert len(re.findall(r'<tr id="evidence-', html)) == 3
    assert "Further numbers have no set here: see the column" in html
    assert re.search(r'<span class="id">and \d+ more</span>', html)


def test_templates_name_no_file_that_is_not_written() -> None:
    templates = Path(parts.__file__).parent / "templates"
    named = {name for file in templates.glob("*.j2") for name in re.findall(r'href="([a-z_]+\.csv)"', file.read_text())}
    assert named <= {"measurements.csv", "statistics.csv", "comparisons.csv", "costs.csv", "transfers.csv"}
