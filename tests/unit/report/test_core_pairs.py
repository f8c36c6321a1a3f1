"""The figure of the way from core to core."""

from collections.abc import Mapping

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.benchmarks.memory.memory import Memory, MemoryParameters, pair_name
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.report.figures.spec import unchecked, unpacked
from nephoscope.report.main.core_pairs import core_pairs
from nephoscope.report.main.palette import palette_of
from nephoscope.report.parts import Book, Figure, Page
from tests.unit.analysis.study_builder import inputs, measurement, trial

NAMES = ("near", "far")
METRICS = {metric.name: metric for metric in Memory().metrics(MemoryParameters())}
FOUR = {(1, 2): 1.0, (1, 3): 8.0, (1, 4): 8.0, (2, 3): 8.0, (2, 4): 8.0, (3, 4): 1.0}


def study(ways: Mapping[tuple[int, int], float]) -> AnalysedStudy:
    """Two machines with these ways, in tens of nanoseconds; those of `far` are twice as long."""
    trials, measurements = [], []
    for replicate in (1, 2, 3):
        for place, name in enumerate(NAMES, 1):
            row = trial(
                f"{name}-{replicate}", name, replicate, benchmark="memory", uses="memory", position_in_block=place
            )
            trials.append(row)
            times = {"near": 1e-8, "far": 2e-8}[name]
            read = METRICS["read-multi.bandwidth"]
            measurements.append(measurement(row, 1e9 / times / 1e8, read))
            measurements += [measurement(row, way * times, METRICS[pair_name(*pair)]) for pair, way in ways.items()]
    return analyse(inputs((trials, measurements), {"memory": tuple(METRICS.values())}))


def figure_of(ways: Mapping[tuple[int, int], float]) -> Figure | None:
    book = Book(Lookup(study(ways))).turned_to(Page.MAIN)
    with unchecked():
        return core_pairs(book, book.lookup.study.benchmarks[0], palette_of(book.lookup))


def test_a_square_for_each_pair_both_ways_shaded_by_the_longest_of_all_machines() -> None:
    figure = figure_of(FOUR)
    assert figure is not None
    near, far = (unpacked(panel.script)["datasets"]["rows"] for panel in figure.panels)
    assert len(near) == len(far) == 2 * len(FOUR)
    texts = {(row["here"], row["there"]): row["value_text"] for row in far}
    assert texts["1", "2"] == texts["2", "1"] == "20"
    assert texts["1", "4"] == texts["4", "1"] == "160"
    assert max(row["value"] for row in far) == pytest.approx(1.0)
    assert max(row["value"] for row in near) == pytest.approx(0.5)
    assert "10 ns to 80 ns" in figure.panels[0].alt


def test_one_pair_is_no_picture() -> None:
    assert figure_of({(1, 2): 3.0}) is None
