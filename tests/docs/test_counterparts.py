"""Every figure of the Cloud Reports has a counterpart, which is drawn from a simulated study of the report's shape."""

import json
import re
from functools import cache
from typing import Any

import pytest
import vl_convert

from nephoscope.analysis.lookup import Lookup
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import Spec, unchecked, unpacked
from nephoscope.report.parts import Book, Figure, Table
from tests.docs.counterparts import Ours, Source, counts, figures_table, sources
from tests.support import editions

pytestmark = pytest.mark.whole

ROWS = [row for row in sources() if row.ours is not None]


@cache
def book_of(study: Any) -> Book:
    return Book(Lookup(study()))


def drawn(row: Source) -> Figure | Table | None:
    assert row.ours is not None
    draw = row.ours.draw
    return figure_of(row.study, draw.func, draw.args)


@cache
def figure_of(study: Any, function: Any, arguments: tuple[Any, ...]) -> Figure | Table | None:
    with unchecked():
        found: Figure | Table | None = function(*arguments, book_of(study))
    return found


def specs(figure: Figure) -> list[Spec]:
    return [unpacked(panel.script) for panel in figure.panels]


def layers(spec: Spec) -> list[dict[str, Any]]:
    return [layer["encoding"] for layer in spec["layer"]]


def test_the_tables_have_every_figure_and_no_empty_cell() -> None:
    assert counts() == {"2018": 16, "2020": 42, "2022": 58}
    numbered = [row.title for row in sources() if row.title.startswith("FIG")]
    assert [title.partition(".")[0] for title in numbered] == [f"FIG {number}" for number in range(1, 42)]
    for report in counts():
        cells = [cell for line in figures_table(report).splitlines() for cell in line.strip("|").split("|")]
        assert all(cell.strip() for cell in cells)


def test_each_counterpart_is_drawn_with_the_panel_it_names(subtests: pytest.Subtests) -> None:
    for row in ROWS:
        with subtests.test(row=row):
            found, ours = drawn(row), row.ours
            assert isinstance(ours, Ours)
            if isinstance(found, Table):
                assert len(found.rows) >= len(book_of(row.study).lookup.configurations)
                continue
            assert found is not None
            assert found.table or found.table_link or found.title.endswith("second by second"), "its data as a table"
            assert all(spec["datasets"] and any(spec["datasets"].values()) for spec in specs(found))
            assert any(panel.title.startswith(ours.panel) for panel in found.panels), [
                panel.title for panel in found.panels
            ]


def test_the_bars_and_lines_that_a_page_must_have_are_those_of_the_reports() -> None:
    """What `tests/wholes` looks for on the pages of the shipped editions."""
    counted = {
        f"{row.report} {row.title.partition('.')[0]}": len(row.ours.lacks(book_of(row.study), ()))
        for row in ROWS
        if row.ours and row.ours.measured and row.study is not editions.cr2018
    }
    assert 0 not in counted.values()
    of_2020 = {"FIG 1": 3, "FIG 4": 12, "FIG 5": 7, "FIG 6": 7, "FIG 16": 12, "FIG 22": 13, "FIG 28": 12, "FIG 40": 10}
    assert {name: counted[f"2020 {name}"] for name in of_2020} == of_2020
    of_2022 = {"Top 15 CoreMark scores by instance type": 15, "AWS: Overall median TPM": 21}
    assert {name: counted[f"2022 {name}"] for name in of_2022} == of_2022


def one_of_each() -> list[Source]:
    """A row for each function, drawn from the study with most configurations."""
    return list({row.ours.function: row for row in ROWS if row.ours and isinstance(drawn(row), Figure)}.values())


def test_panels_share_their_axes_and_rows_have_names_of_their_own() -> None:
    for row in one_of_each():
        figure = drawn(row)
        assert isinstance(figure, Figure)
        if row.ours is None or row.ours.function.__name__ in {"cost_per_run", "curves_figure"}:
            continue  # their panels have different units
        for channel in ("x", "y"):
            domains = {
                json.dumps(layer[channel]["scale"]["domain"])
                for spec in specs(figure)
                for layer in layers(spec)
                if layer.get(channel, {}).get("type") == "quantitative"
                and "domain" in (layer[channel].get("scale") or {})
            }
            assert len(domains) <= 1, (row.title, channel)
        for spec in specs(figure):
            for layer in layers(spec):
                if layer.get("y", {}).get("type") == "nominal":
                    names = layer["y"]["scale"]["domain"]
                    assert len(set(names)) == len(names)


def test_a_key_names_what_is_drawn_and_nothing_else() -> None:
    for row in one_of_each():
        figure = drawn(row)
        assert isinstance(figure, Figure)
        series = {
            str(one["series"])
            for spec in specs(figure)
            for one in spec["datasets"].get("rows", [])
            if any("shape" in layer for layer in layers(spec)) and "series" in one
        }
        if figure.key and series:
            assert {entry.text.partition(" active")[0] for entry in figure.key} == series, row.title


def test_one_figure_of_each_kind_becomes_a_picture() -> None:
    for row in one_of_each():
        figure = drawn(row)
        assert isinstance(figure, Figure)
        spec = specs(figure)[0] | {"width": 500, "config": theme.config()}
        picture = vl_convert.vegalite_to_svg(
            re.sub(r"var\(--[a-z0-9-]+\)", "black", json.dumps(spec)), vl_version="6.4"
        )
        assert picture.count("<path") > 4, row.title
