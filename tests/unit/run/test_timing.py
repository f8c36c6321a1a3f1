"""Where a run's time went, from the states of its trials."""

import pytest

from nephoscope.app.usable import in_one_line
from nephoscope.model.control import StateRecord
from nephoscope.run.states import time_spent

STEPS = ["planned", "leased", "provisioning", "preparing", "verified", "running", "collected", "destroying", "done"]


def trial(start_s: float, *seconds: float) -> list[StateRecord]:
    """A trial that is in each state for so long; each state but the last has its seconds."""
    moments = [start_s + sum(seconds[:place]) for place in range(len(seconds) + 1)]
    return [
        StateRecord(state=state, at_unix_ms=round(at * 1000), attempt=1)
        for state, at in zip(STEPS, moments, strict=True)
    ]


def test_each_step_adds_up_over_trials_and_the_longest_comes_first() -> None:
    trials = [trial(0, 0, 0, 1, 2, 3, 10, 0, 0.25), trial(20, 0, 0, 1, 2, 4, 30, 0, 0.25)]
    spent = time_spent(trials, 0)
    assert spent is not None
    assert spent.elapsed_s == pytest.approx(57.25)
    assert list(spent.by_step_s.items()) == [
        *[("benchmarks", 40.0), ("databases and data", 7.0), ("checking machines", 4.0)],
        *[("getting machines", 2.0), ("returning machines", 0.5)],
    ]
    assert in_one_line(spent) == (
        "took 57 s: benchmarks 40 s (70%), databases and data 7 s, checking machines 4 s, getting machines 2 s, "
        "returning machines 0 s, the rest 4 s"
    )


def test_what_an_earlier_run_did_or_left_open_does_not_count() -> None:
    left = trial(0, 0, 0, 1, 2, 3, 10, 0, 0)[:6]
    resumed = [*left, *trial(1000, 0, 0, 1, 2, 3, 10, 0, 0)]
    spent = time_spent([resumed, trial(5, 0, 0, 1, 1, 1, 1, 0, 0)], 900_000)
    assert spent is not None
    assert spent.elapsed_s == pytest.approx(16)
    assert spent.by_step_s["benchmarks"] == 10
    assert time_spent([left], 900_000) is None


def test_clusters_beside_each_other_have_no_rest() -> None:
    spent = time_spent([trial(0, 0, 0, 0, 0, 0, 30, 0, 0)] * 2, 0)
    assert spent is not None
    assert in_one_line(spent) == "took 30 s: benchmarks 1 min 00 s (100%), added up over clusters"
