"""Looks at a growing study: the values that they take, and what an open question keeps measured."""

import numpy as np

from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.looks import looks_after
from nephoscope.insights.registry import analyse
from nephoscope.model.questions import BestRow
from nephoscope.model.written import OVERALL
from tests.unit.analysis.study_builder import inputs, rows

MACHINES = "abcd"


def on_four_machines() -> StudyInputs:
    """Two configurations, each on four machines that differ; twelve trials in turn, so three on each machine."""
    noise = np.random.default_rng(3).normal(0, 0.002, (2, 12))
    left, right = np.tile([0.0, 0.06, 0.02, 0.04], 3), np.tile([0.02, -0.04, 0.0, -0.02], 3)
    logs = {"left": left + noise[0], "right": right + noise[1]}
    trials, measurements = rows({name: (1000 * np.exp(values)).tolist() for name, values in logs.items()})
    placed = [
        row.model_copy(update={"machine": f"{row.configuration}-{MACHINES[(row.replicate - 1) % 4]}"}) for row in trials
    ]
    return inputs((placed, measurements))


def test_trials_that_share_a_machine_count_as_one_value_in_looks_as_in_the_analysis() -> None:
    study = on_four_machines()
    last = looks_after(study, 12, [])[-1]
    best = next(row for row in last.questions if (row.kind, row.view, row.about) == ("best", "plain", "overall"))
    assert best.configurations == ["left", "right"], "four machines each do not tell these types apart"
    row = next(row for row in analyse(study)[BestRow] if (row.view, row.scope) == ("plain", OVERALL))
    assert sorted(row.best) == best.configurations


def test_an_open_best_of_question_keeps_references_for_the_spread() -> None:
    noise = np.random.default_rng(5).normal(0, 0.01, (20, 10))
    means = np.log(1000) - np.where(np.arange(20) < 2, 0.0, 0.5) - np.where(np.arange(20) == 1, 0.02, 0.0)
    values = {f"m{place:02}": np.exp(means[place] + noise[place]).tolist() for place in range(20)}
    look = looks_after(inputs(rows(values)), 3, [])[-1]
    assert look.measured == {"tpcc": ["m00", "m01", "m08", "m17"]}
    assert next(row for row in look.questions if row.kind == "best").configurations == ["m00", "m01"]
