"""More machines: which configurations make a group, what is fitted, told and drawn."""

from dataclasses import replace
from typing import Any

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import GrowthRow
from nephoscope.report.figures.growth import growth_figures
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.parts import Book
from nephoscope.report.sections.benchmarks import benchmark_section
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import inputs, measurement, rows

RATE = Metric(
    name="operations_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="reads and writes per second",
    headline=True,
    per_cpu=True,
)
TIMES_MS = {"p50": 1.0, "p99": 4.0}
TIMES = [
    Metric(name=f"read.service_{which}", unit="s", direction=Direction.LOWER, title=f"read, {which}")
    for which in TIMES_MS
]
SYSTEMS = ("postgres", "valkey")
SPREAD = (0.98, 0.99, 1.0, 1.01, 1.02, 1.03)
MEDIAN = 1.005


def configuration(system: str, machines: int, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{system}-{machines}",
        "provider": "ssh",
        "database_machine": {"hosts": [f"h{n}" for n in range(machines)], "count": machines, "type": "small"},
        "load_machine": {"hosts": ["load"]},
        "database": {"system": system, "connections": 8 * machines},
        **more,
    }


def grown(values: dict[str, float], configurations: list[dict[str, Any]]) -> AnalysedStudy:
    found = rows(
        {name: [value * factor for factor in SPREAD] for name, value in values.items()}, benchmark="kv95", metric=RATE
    )
    for row in found[0]:
        found[1].extend(
            measurement(row, ms / 1000, metric) for metric, ms in zip(TIMES, TIMES_MS.values(), strict=True)
        )
    study = Study.model_validate(
        {"name": "s", "configurations": configurations, "benchmarks": [{"uses": "kv", "name": "kv95"}]}
    )
    return analyse(replace(inputs(found, {"kv95": [RATE, *TIMES]}), study=study))


@pytest.fixture(scope="module")
def study() -> AnalysedStudy:
    values = {"valkey-3": 30e3, "valkey-6": 60e3, "postgres-1": 9e3, "postgres-3": 8e3}
    return grown(values, [configuration(name.split("-")[0], int(name.split("-")[1])) for name in values])


def told(study: AnalysedStudy) -> list[str]:
    return [str(insight.text) for insight in study.insights if insight.rule == "growth"]


def test_a_database_is_fitted_over_its_machines(study: AnalysedStudy) -> None:
    copies, shards = study[GrowthRow]
    assert (shards.group, shards.machines, shards.configurations) == (
        "valkey on small",
        [3, 6],
        ["valkey-3", "valkey-6"],
    )
    assert shards.exponent == pytest.approx(1)
    assert shards.at_one == pytest.approx(10e3 * MEDIAN, rel=1e-4)
    assert shards.medians == pytest.approx([30e3 * MEDIAN, 60e3 * MEDIAN])
    assert (shards.growth, copies.growth) == ("linear", "none")
    assert len(shards.trials) == 2 * len(SPREAD)


def test_what_is_told(study: AnalysedStudy) -> None:
    copies, shards = told(study)
    assert shards.endswith("to the power of 1.00 (95.8 % interval 0.96 to 1.04): growth is linear.")
    assert shards.startswith(
        "kv95, valkey on small: reads and writes per second is 30,150/s on 3 and 60,300/s on 6 machines"
    )
    assert copies.endswith(
        "it does not grow with the number of machines. One machine takes all writes; the others hold replicas."
    )
    assert "\N{MINUS SIGN}0.11" in copies


@pytest.mark.parametrize(
    ("value", "growth", "ending"),
    [(45e3, "sub-linear", "but less than linearly."), (56.5e3, "not decided", "do not show whether growth is linear.")],
)
def test_less_than_linear_growth_is_told(value: float, growth: str, ending: str) -> None:
    configurations = [configuration("valkey", machines) for machines in (3, 6)]
    study = grown({"valkey-3": 30e3, "valkey-6": value}, configurations)
    assert [row.growth for row in study[GrowthRow]] == [growth]
    assert told(study)[0].endswith(ending)


@pytest.mark.parametrize(
    "other",
    [
        configuration("valkey", 6, database={"system": "valkey", "settings": {"appendonly": "no"}}),
        configuration("valkey", 3) | {"name": "valkey-6"},
        configuration("valkey", 6, region="elsewhere"),
    ],
)
def test_what_differs_in_more_than_machines_is_not_fitted(other: dict[str, Any]) -> None:
    study = grown({"valkey-3": 30e3, "valkey-6": 60e3}, [configuration("valkey", 3), other])
    assert study[GrowthRow] == []
    assert told(study) == []


def test_a_section_has_each_figure_once(study: AnalysedStudy) -> None:
    book = Book(Lookup(study))
    section = benchmark_section(book, book.lookup.study.benchmarks[0])
    titles = [figure.title for figures in section.headline for figure in figures]
    assert "kv95: response times over the number of machines" in titles
    assert len(set(titles)) == len(titles)


def test_trials_fit_and_linear_growth_are_drawn(study: AnalysedStudy) -> None:
    book = Book(Lookup(study))
    figure, times = growth_figures(book, book.lookup.study.benchmarks[0])
    assert [panel.title for panel in figure.panels] == ["postgres on small", "valkey on small"]
    shards = unpacked(figure.panels[1].script)["datasets"]
    assert [point["machines"] for point in shards["points"]] == [3] * 6 + [6] * 6
    assert [(end["machines"], end["value"]) for end in shards["linear"]] == [
        (3, pytest.approx(30e3 * MEDIAN)),
        (6, pytest.approx(60e3 * MEDIAN)),
    ]
    assert shards["fitted"][-1]["value"] == pytest.approx(60e3 * MEDIAN, rel=1e-4)
    assert [panel.title for panel in times.panels] == [f"{name} on small: read service" for name in SYSTEMS]
    drawn = unpacked(times.panels[1].script)["datasets"]["rows"]
    assert [(one["series"], one["machines"], one["value"]) for one in drawn] == [
        ("p50", 3, pytest.approx(TIMES_MS["p50"])),
        ("p50", 6, pytest.approx(TIMES_MS["p50"])),
        ("p99", 3, pytest.approx(TIMES_MS["p99"])),
        ("p99", 6, pytest.approx(TIMES_MS["p99"])),
    ]
    assert figure.table is not None
    assert [row.cells[-2].text for row in figure.table.rows if row.cells] == ["none", "linear"]
