"""`sort` and `awk` give the statistics of a report to the last digit: for the example, and for any number of values."""

import re
from pathlib import Path

import numpy as np
import pytest

from nephoscope.analysis.analyse import analyse
from nephoscope.model.records import Direction, Metric
from tests.docs import pages
from tests.support.report_folder import write_report
from tests.unit.analysis.study_builder import inputs, measurement, trial

PAGE = pages.ROOT / "docs" / "how-to" / "recompute-a-number.md"
METRIC = Metric(name="bogo_ops_per_s", unit="bogo-ops/s", direction=Direction.HIGHER, title="t", headline=True)


def results(folder: Path, programs: Path) -> list[list[str]]:
    """Output lines of the page's computing commands, in order."""
    variables = pages.environment(programs)
    said = []
    for session in pages.sessions(PAGE.read_text(encoding="utf-8")):
        for command in session.commands:
            done = pages.run(command, folder, variables)
            assert done.returncode == 0, done.stdout
            if "printf" in command.text:
                said.append(done.stdout.splitlines())
    return said


def hold(said: list[list[str]]) -> None:
    median, stored_median, interval, stored_interval, margin = said
    assert median == stored_median
    assert re.sub(r" k \d+,", "", interval[0]) == stored_interval[0]
    assert margin[0] == margin[1]


def test_the_example_agrees_to_the_last_digit(tmp_path: Path) -> None:
    session = pages.sessions(PAGE.read_text(encoding="utf-8"))[0]
    hold(results(pages.place(session, "", tmp_path), tmp_path / "programs"))


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 9, 12, 20, 31])
def test_any_number_of_values_agrees_to_the_last_digit(n: int, tmp_path: Path) -> None:
    trials, measurements = [], []
    for index, value in enumerate(np.random.default_rng(n).lognormal(9, 0.1, n + 1)):
        row = trial(f"t{index}", "local-all", index + 1, benchmark="stress-ng-matrix")
        if index == n:
            row = row.model_copy(update={"verdict": "invalid"})
        trials.append(row)
        found = measurement(row, float(value), METRIC)
        measurements.append(found._replace(valid=index < n))
    study = analyse(inputs((trials, measurements), metrics={"stress-ng-matrix": [METRIC]}))
    write_report(study, tmp_path / "report")
    hold(results(tmp_path / "report", tmp_path / "programs"))
