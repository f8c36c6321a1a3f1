"""What counts as one value: a trial, or a machine with the median of its trials."""

from typing import Any

import numpy as np
import pytest

from nephoscope.analysis.cells import Cell, cells_of
from nephoscope.analysis.units import MIN_MACHINES, counted_cells, scope_of_cells, units_of_cell
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import Comparison, ComparisonVerdict, RankRow, Statistic
from tests.unit.analysis.study_builder import METRICS, inputs, rows


def cell(values: list[float], configuration: str = "a") -> Cell:
    return cells_of(*rows({configuration: values}), METRICS)[0]


def names(configuration: str, machines: str) -> dict[str, str | None]:
    """The n-th trial of a configuration on the machine with the n-th letter; a dot: not known."""
    return {
        f"tpcc-{configuration}-{place}": None if letter == "." else letter
        for place, letter in enumerate(machines, start=1)
    }


@pytest.mark.parametrize(
    ("machines", "values", "counted", "scope"),
    [
        ("abcdef", 6, "trials", "types"),
        ("aaaaaa", 6, "trials", "this machine"),
        ("aabbcc", 6, "trials", "these machines"),
        ("aabcde", 5, "machines", "types"),
        ("abcdab", 4, "machines", "types"),
        ("abcde.", 6, "trials", "not known"),
        ("......", 6, "trials", "not known"),
    ],
)
def test_machines_are_counted_where_there_are_enough_of_them(
    machines: str, values: int, counted: str, scope: str
) -> None:
    found = units_of_cell(cell([1, 2, 3, 4, 5, 6]), names("a", machines))
    assert (len(found.values), found.counted, scope_of_cells([found])) == (values, counted, scope)
    assert sorted(found.trials) == [f"tpcc-a-{place}" for place in range(1, 7)]


def test_a_machine_has_the_median_of_its_trials_and_values_stay_sorted() -> None:
    found = units_of_cell(cell([10, 1, 12, 3, 4, 14, 5]), names("a", "abacdac"))
    assert list(found.values) == [1, 4, 4, 12]
    places = [[int(trial[-1]) for trial in many] for many in found.members]
    assert places == [[2], [4, 7], [5], [1, 3, 6]]


@pytest.mark.parametrize(
    ("left", "right", "scope"),
    [
        ("abcd", "efgh", "types"),
        ("abcd", "eeee", "these machines"),
        ("aaaa", "eeee", "these machines"),
        ("aaaa", "aaaa", "this machine"),
        ("a", "b", "these machines"),
        ("abcd", "....", "not known"),
        ("aaaa", "....", "these machines"),
    ],
)
def test_a_comparison_speaks_for_the_narrower_of_its_sides(left: str, right: str, scope: str) -> None:
    sides = {"a": left, "b": right}
    cells = [
        units_of_cell(cell([float(place) for place in range(1, len(where) + 1)], name), names(name, where))
        for name, where in sides.items()
    ]
    assert scope_of_cells(cells) == scope


def study(machines: dict[str, str], values: dict[str, list[float]]) -> AnalysedStudy:
    trials, measurements = rows(values)
    places = {trial: place for name, where in machines.items() for trial, place in names(name, where).items()}
    return analyse(inputs(([row.model_copy(update={"machine": places[row.trial]}) for row in trials], measurements)))


def test_an_analysis_counts_machines_and_says_so_in_every_row() -> None:
    generator = np.random.default_rng(3)
    values = {name: [float(v) for v in level + generator.normal(0, 1, 12)] for name, level in (("a", 100), ("b", 150))}
    found = study({"a": "abcdefabcdef", "b": "uvwxyzuvwxyz"}, values)
    for row in found[Statistic]:
        assert (row.n, row.counted, row.machines, row.scope) == (6, "machines", 6, "types")
        assert len(row.trials) == 12
        assert row.n_excluded == 0
    (plain, _) = found[Comparison]
    assert (plain.n_left, plain.n_right, plain.counted_left, plain.machines_right) == (6, 6, "machines", 6)
    assert (plain.verdict, plain.scope) == (ComparisonVerdict.WORSE, "types")


def test_a_machine_for_each_trial_changes_no_number() -> None:
    values = {"a": [1.0, 2, 3, 4, 5, 6], "b": [3.0, 4, 5, 6, 7, 80]}
    apart, unknown = study({"a": "abcdef", "b": "uvwxyz"}, values), study({"a": "." * 6, "b": "." * 6}, values)
    drop = {"machines", "scope", "machines_left", "machines_right"}
    kinds: list[type[Any]] = [Statistic, Comparison, RankRow]
    for kind in kinds:
        one, other = ([row.model_dump(exclude=drop) for row in found[kind]] for found in (apart, unknown))
        assert one == other


def test_an_outlier_among_machines_names_all_its_trials() -> None:
    values = [100.0, 101, 102, 99, 100, 300, 101, 100, 103, 98, 101, 301]
    found = study({"a": "abcdefabcdef"}, {"a": values})
    assert found[Statistic][0].outliers == ["tpcc-a-6", "tpcc-a-12"]


def test_the_least_number_of_machines_is_that_of_the_least_claim() -> None:
    assert MIN_MACHINES == 4
    assert counted_cells([], [], METRICS) == []
