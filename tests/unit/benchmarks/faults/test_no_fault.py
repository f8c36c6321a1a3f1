"""Loads without a fault: how often chance alone makes what follows the moment of a fault seem worse."""

import numpy as np
import pytest

from nephoscope.benchmarks.faults.outages import Effect, FaultedLoad
from nephoscope.benchmarks.load import output as load_output
from tests.support.faulted_load import fault, faulted

RUNS = 1_000
BASELINE_S, AFTER_S = 5, 20
STEPS_PER_S = 10
EMPTY = load_output.read(faulted(BASELINE_S + AFTER_S, []))


def undisturbed(generator: np.random.Generator, rate_per_s: float, pace: str) -> Effect:
    """Of a load whose server is a little faster and slower from second to second, and stops for some milliseconds."""
    length_s = BASELINE_S + AFTER_S
    due_s = (
        np.cumsum(generator.exponential(1 / rate_per_s, round(1.2 * rate_per_s * length_s)))
        if pace == "poisson"
        else np.arange(0, length_s, 1 / rate_per_s)
    )
    slower = np.exp(0.3 * generator.standard_normal(length_s + 2))
    ended_s = due_s + 0.002 * slower[np.minimum(due_s.astype(int), length_s)] * generator.lognormal(0, 0.7, due_s.size)
    for begin_s in generator.uniform(0, length_s, generator.poisson(length_s / 5)):
        end_s = begin_s + generator.uniform(0.005, 0.04)
        ended_s = np.where((ended_s > begin_s) & (ended_s < end_s), end_s, ended_s)
    counts, _ = np.histogram(ended_s, bins=length_s * STEPS_PER_S, range=(0, length_s))
    intervals = tuple(
        interval.model_copy(update={"ended_per_100_ms": counts[at * STEPS_PER_S : (at + 1) * STEPS_PER_S].tolist()})
        for at, interval in enumerate(EMPTY.intervals)
    )
    output = load_output.LoadOutput(started=EMPTY.started, intervals=intervals, finished=EMPTY.finished)
    (effect,) = FaultedLoad(output, (fault(BASELINE_S, BASELINE_S + 2),), baseline_s=BASELINE_S).effects
    return effect


@pytest.mark.parametrize(("rate_per_s", "pace"), [(200, "poisson"), (1_000, "poisson"), (500, "constant")])
def test_a_phase_without_a_fault_is_called_worse_in_at_most_5_of_100_loads(rate_per_s: float, pace: str) -> None:
    generator = np.random.default_rng(8)
    worse = 0
    for _ in range(RUNS):
        effect = undisturbed(generator, rate_per_s, pace)
        worse += bool(effect.zero_s or effect.slow_s or effect.usual_again_s != 0.0)
    assert worse <= RUNS * 0.05


def test_a_server_that_stops_for_half_a_second_is_still_called_slower() -> None:
    (effect,) = FaultedLoad(
        load_output.read(faulted(BASELINE_S + AFTER_S, [(60, 64)])), (fault(BASELINE_S, 7),), baseline_s=BASELINE_S
    ).effects
    assert effect.usual_again_s == pytest.approx(1.5)
    assert effect.zero_s == pytest.approx(0.5)
