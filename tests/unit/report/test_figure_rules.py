"""What holds for every figure of the report, whichever chart it is."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import altair as alt
import pytest
import vl_convert
from hypothesis import example as tried_with
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import MeasurementRow
from nephoscope.report.figures.results import MIN_LENGTH_S, MIN_POINTS, courses, finished
from nephoscope.report.figures.settled import MAX_CHARACTERS, linear_ticks, log_ticks, settled, wrapped
from nephoscope.report.figures.spec import NUMBER, TITLES, Spec, data, unchecked, unpacked
from nephoscope.report.figures.spec import finished as chart
from nephoscope.report.main.ratios import VERDICTS
from nephoscope.report.parts import Book, Figure
from nephoscope.report.sections.benchmarks import benchmark_section, compared_headlines, order_figures
from nephoscope.report.sections.machine_numbers import machine_numbers
from tests.unit.report import numbers_example, priced_example
from tests.unit.report import report_example as example
from tests.unit.report.report_example_trials import Sketch

SCREEN = 900
TYPES = tuple(
    f"azure-standard-e{size}s-v5-in-eastus-zone-{zone}" for size in (2, 4, 8, 16, 32, 64) for zone in range(7)
)
STUDIES: dict[str, Callable[[], AnalysedStudy]] = {
    "laptop": example.laptop,
    "42 types": lambda: example.build(Sketch(configurations=list(TYPES), replicates=2, series_s=12)),
    "priced": lambda: priced_example.priced(4),
    "numbers": numbers_example.numbers,
}


def every_figure(study: AnalysedStudy) -> Iterator[Figure]:
    book = Book(Lookup(study))
    for row in book.lookup.study.benchmarks:
        section = benchmark_section(book, row)
        yield from (figure for many in section.headline for figure in many)
        yield from section.latency
        yield from section.series
    yield from compared_headlines(book)
    yield from order_figures(book)
    yield from (figure for _, _, many in machine_numbers(book) for figure in many)
    assert book.missing == []


@pytest.fixture(scope="module", params=STUDIES)
def figures(request: pytest.FixtureRequest) -> list[Figure]:
    with unchecked():
        found = list(every_figure(STUDIES[request.param]()))
    assert found
    return found


def specs_of(figure: Figure) -> list[Spec]:
    return [unpacked(panel.script) for panel in figure.panels]


def layers(spec: Spec) -> Iterator[dict[str, Any]]:
    return iter(spec.get("layer", [spec]))


def drawn(spec: Spec, layer: dict[str, Any], name: str) -> Iterator[float]:
    source: dict[str, Any] = layer.get("data") or spec.get("data") or {}
    rows = spec["datasets"].get(source.get("name"), [])
    for channel in (name, f"{name}2"):
        encoded: dict[str, Any] = layer.get("encoding", {}).get(channel) or {}
        if "field" in encoded and encoded.get("scale", 1) is not None:
            yield from (row[encoded["field"]] for row in rows if isinstance(row.get(encoded["field"]), int | float))


def test_an_axis_has_a_tick_at_or_beyond_its_last_point(figures: list[Figure]) -> None:
    for figure in figures:
        for spec in specs_of(figure):
            for name in ("x", "y"):
                channels = [layer["encoding"].get(name, {}) for layer in layers(spec)]
                measured = [one for one in channels if one.get("type") == "quantitative" and "axis" in one]
                values = [value for layer in layers(spec) for value in drawn(spec, layer, name)]
                for one in measured:
                    assert one["axis"]["values"][-1] >= max(values) * (1 - 1e-9), (figure.title, name)


def test_layers_are_put_together_as_altair_does_it() -> None:
    base = alt.Chart(data("rows")).encode(x="rate:Q", y="name:N")
    limit = alt.Chart(data("limits")).mark_rule().encode(x=alt.X("limit:Q", title="at most"))
    for layers in (
        [base.mark_bar()],
        [base.mark_bar(), base.mark_text().encode(text="name:N")],
        [base.mark_bar(), limit],
    ):
        whole = alt.layer(*layers).to_dict(validate=False)
        ours = chart(layers, 40)
        kept = ({name: spec[name] for name in spec if name in {"layer", "data"}} for spec in (ours, whole))
        assert len({json.dumps(spec) for spec in kept}) == 1


def test_zero_has_no_unit_on_an_axis_of_long_numbers() -> None:
    """Vega writes the ticks of such an axis with the prefix of the largest: 0M, 0.5M, 1M."""
    across = alt.X("rate:Q", title="per second", scale=alt.Scale(zero=True))
    bars = [alt.Chart(data("rows")).mark_bar().encode(x=across)]
    [drawing] = settled([("", "", chart(bars, 40, rows=[{"rate": 951_718}]))])
    ticks = re.findall(r">([\d.]+M?)<", vl_convert.vegalite_to_svg({**drawing.spec, "width": 300}))
    assert (ticks[0], ticks[-1]) == ("0", "1M")


def test_panels_with_the_same_quantity_share_their_axis(figures: list[Figure]) -> None:
    for figure in figures:
        domains = defaultdict(set)
        for spec in specs_of(figure):
            for name in ("x", "y"):
                for layer in layers(spec):
                    one = layer["encoding"].get(name, {})
                    if one.get("type") == "quantitative" and one.get("title") and "domain" in one.get("scale", {}):
                        domains[name, one["title"]].add(tuple(one["scale"]["domain"]))
        assert all(len(many) == 1 for many in domains.values()), figure.title


def test_names_of_rows_take_one_width_so_that_equal_values_have_equal_lengths(figures: list[Figure]) -> None:
    for figure in figures:
        encodings = [layer["encoding"] for spec in specs_of(figure) for layer in layers(spec)]
        axes = [y.get("axis") or {} for one in encodings if (y := one.get("y", {})).get("type") == "nominal"]
        widths = {(axis.get("minExtent"), axis.get("maxExtent")) for axis in axes}
        assert len(widths) <= 1, figure.title
        assert len(figure.panels) == 1 or (None, None) not in widths, figure.title


def test_no_chart_is_taller_than_a_screen_so_that_its_axis_is_in_sight(figures: list[Figure]) -> None:
    assert all(spec["height"] < SCREEN for figure in figures for spec in specs_of(figure))


def test_rows_have_whole_and_unique_labels(figures: list[Figure]) -> None:
    for figure in figures:
        for spec in specs_of(figure):
            encodings = [layer["encoding"] for layer in layers(spec)]
            y: dict[str, Any] = next((one["y"] for one in encodings if "field" in one.get("y", {})), {})
            names = y.get("scale", {}).get("domain", []) if y.get("type") == "nominal" else []
            assert len(set(names)) == len(names)
            if any(len(name) > MAX_CHARACTERS for name in names):
                lines = json.loads(y["axis"]["labelExpr"].removesuffix("[datum.value]"))
                assert ["".join(lines[name]) for name in names] == names
                room = (spec["height"] - 46) / len(names)
                assert room >= 14 * max(map(len, wrapped(names).values())), "lines of one name do not touch the next"
                for move in y["axis"]["labelOffset"]["condition"]:
                    moved = [name for name in names if json.dumps(name) in move["test"]]
                    assert {-7 * (len(lines[name]) - 1) for name in moved} == {move["value"]}, "lines beside their row"


def test_tooltips_have_the_same_fields_in_the_same_order_and_format(figures: list[Figure]) -> None:
    order = list(TITLES)
    for figure in figures:
        for spec in specs_of(figure):
            for layer in layers(spec):
                told = layer["encoding"].get("tooltip")
                if isinstance(told, list):
                    fields = [one["field"] for one in told]
                    assert fields == sorted(fields, key=order.index), figure.title
                    assert all(one["title"] == TITLES[one["field"]] for one in told)
                    assert all(one.get("format") == NUMBER or one["type"] == "nominal" for one in told)


def test_a_legend_names_only_what_is_drawn(figures: list[Figure]) -> None:
    for figure in figures:
        rows = [row for spec in specs_of(figure) for many in spec["datasets"].values() for row in many]
        words = {entry.text for entry in figure.key}
        hollow = any(row.get("counts") is False for row in rows)
        assert any("hollow" in text for text in words) == hollow, figure.title
        assert ("excluded trial" in words) == any(
            "excluded" in spec["datasets"] and spec["datasets"]["excluded"] for spec in specs_of(figure)
        )
        names = {row["configuration"] for row in rows if "configuration" in row}
        assert not {entry.text for entry in figure.key if entry.sign in "●■▲◆▼✚▶◀"} & (set(TYPES) - names)
        verdicts = {VERDICTS[row["verdict"]][2] for row in rows if "verdict" in row}
        assert not verdicts or words == verdicts


def test_a_colour_means_one_thing_over_the_page(figures: list[Figure]) -> None:
    meant = defaultdict(set)
    for figure in figures:
        for spec in specs_of(figure):
            for layer in layers(spec):
                scale = (layer["encoding"].get("color") or {}).get("scale", {})
                for value, colour in zip(scale.get("domain", ()), scale.get("range", ()), strict=False):
                    if value != "achieved":  # the colour of the configuration that its panel names
                        meant[colour].add(value)
    assert all(len(many) == 1 for colour, many in meant.items() if re.match(r"var\(--c\d", colour)), meant
    of_configurations = {colour for colour in meant if "--c" in colour}
    assert not of_configurations & {colour for colour in meant if "--p" in colour}


def test_a_time_axis_needs_ten_points_and_two_seconds(figures: list[Figure]) -> None:
    for figure in figures:
        for spec in specs_of(figure):
            for kind in ("valid", "excluded"):
                by_trial = defaultdict(list)
                for row in spec["datasets"].get(kind, ()):
                    by_trial[row["trial"]].append(row["s"])
                for seconds in by_trial.values():
                    assert len(seconds) >= MIN_POINTS, figure.title
                    assert max(seconds) - min(seconds) >= MIN_LENGTH_S


def series(*values: tuple[float, float]) -> list[Any]:
    one = next(row for row in example.laptop()[MeasurementRow] if row.at_s is not None)
    return [one._replace(at_s=at_s, value=value) for at_s, value in values]


def test_an_unfinished_last_second_is_cut() -> None:
    whole = [(float(second), 5.0) for second in range(1, 13)]
    assert finished(series(*whole)) == series(*whole)
    assert finished(series(*whole, (12.4, 4.9))) == series(*whole), "a shorter interval"
    assert finished(series(*whole, (13.0, 0.0))) == series(*whole), "a thread that has ended"
    stalled = [*whole, (13.0, 0.0), (14.0, 0.0)]
    assert finished(series(*stalled)) == series(*stalled), "a stall stays in sight"
    assert finished(series((1.0, 5.0))) == series((1.0, 5.0))


def test_short_trials_have_no_course() -> None:
    assert courses(series(*((float(second), 5.0) for second in range(9)))) == {}
    assert courses(series(*((second / 10, 5.0) for second in range(15)))) == {}, "under two seconds"
    assert [len(many) for many in courses(series(*((float(second), 5.0) for second in range(10)))).values()] == [10]


@given(st.floats(-1e6, 1e6), st.floats(1, 1e9))
def test_linear_ticks_enclose_the_values_with_few_round_numbers(low: float, spread: float) -> None:
    ticks = linear_ticks(low, low + spread)
    high = max(low + spread, math.nextafter(low, math.inf))
    assert ticks[0] <= low + 1e-6 * spread
    assert ticks[-1] >= high - 1e-6 * spread
    assert 2 <= len(ticks) <= 8


@given(st.floats(min_value=1e-9, max_value=1e6), st.floats(min_value=1.001, max_value=1e9))
def test_log_ticks_enclose_the_values_with_few_round_numbers(low: float, spread: float) -> None:
    ticks = log_ticks(low, low * spread)
    assert 0 < ticks[0] <= low * (1 + 1e-6) or spread > 1e5
    assert ticks[-1] >= low * spread * (1 - 1e-6)
    assert 2 <= len(ticks) <= 11


@given(st.lists(st.text("ab-_ .", min_size=1, max_size=80), min_size=1, max_size=3, unique=True))
@tried_with([f"{'a' * MAX_CHARACTERS} ", f"{'a' * MAX_CHARACTERS} {'b' * MAX_CHARACTERS}"])
def test_lines_of_a_name_are_the_name(names: list[str]) -> None:
    for name, lines in wrapped(names).items():
        assert "".join(lines) == name
        assert all(len(line.rstrip()) <= MAX_CHARACTERS for line in lines)


def test_many_rows_become_panels_side_by_side() -> None:
    y = {"field": "name", "type": "nominal", "scale": {"domain": [f"n{place}" for place in range(50)]}}
    rows = [{"name": f"n{place}", "value": place} for place in range(50)]
    x = {"field": "value", "type": "quantitative", "title": "size"}
    spec = {"data": {"name": "rows"}, "encoding": {"x": x, "y": y}, "datasets": {"rows": rows}, "height": 1546}
    found = settled([("left", "Dots.", spec), ("right", "Dots.", spec)])
    assert [one.title for one in found[:3]] == ["left, 1 to 17 of 50", "right, 1 to 17 of 50", "left, 18 to 33 of 50"]
    assert sum(len(one.spec["datasets"]["rows"]) for one in found) == 100
    assert {tuple(one.spec["encoding"]["x"]["scale"]["domain"]) for one in found} == {(0.0, 50.0)}
