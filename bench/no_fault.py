"""How often chance alone makes what follows the moment of a fault seem worse; writes bench/NO_FAULT.md.

Loads without any fault are simulated and judged by the code that judges faults: `nephoscope.benchmarks.faults`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench.harness.sources import ROOT
from nephoscope.benchmarks.faults.outages import Effect, FaultedLoad
from nephoscope.benchmarks.load import output as load_output
from nephoscope.stats.proportion import proportion_interval
from tests.support.faulted_load import fault, faulted

BASELINE_S, AFTER_S, FAULT_S = 5, 20, 2
STEPS_PER_S = 10
SEED = 8
LIMIT = 0.05
OUT = ROOT / "bench" / "NO_FAULT.md"


@dataclass(frozen=True)
class Cell:
    """A kind of load."""

    rate_per_s: float
    pace: str


CELLS = (
    *(Cell(rate_per_s, "poisson") for rate_per_s in (200, 1_000)),
    *(Cell(rate_per_s, "constant") for rate_per_s in (200, 500)),
)
ABOUT = """\
Each simulated load runs for {length} s: its operations take a lognormal time, whose median differs from second to
second (standard deviation of its logarithm 0.3), and the server stops for 5 to 40 ms about every 5 s. After a baseline
of {baseline} s, a fault that does nothing is noted. What follows is worse if nothing was completed in any step, if any
second was slow, or if the usual rate was ever lost. At most {limit:.0%} of loads may be called that.

What the load generator sees itself, such as the longest outage, is not judged against a baseline."""


@cache
def _empty() -> load_output.LoadOutput:
    return load_output.read(faulted(BASELINE_S + AFTER_S, []))


def undisturbed(generator: np.random.Generator, of: Cell) -> Effect:
    """Of a load whose server is a little faster and slower from second to second, and stops for some milliseconds."""
    length_s = BASELINE_S + AFTER_S
    due_s = (
        np.cumsum(generator.exponential(1 / of.rate_per_s, round(1.2 * of.rate_per_s * length_s)))
        if of.pace == "poisson"
        else np.arange(0, length_s, 1 / of.rate_per_s)
    )
    slower = np.exp(0.3 * generator.standard_normal(length_s + 2))
    ended_s = due_s + 0.002 * slower[np.minimum(due_s.astype(int), length_s)] * generator.lognormal(0, 0.7, due_s.size)
    for begin_s in generator.uniform(0, length_s, generator.poisson(length_s / 5)):
        end_s = begin_s + generator.uniform(0.005, 0.04)
        ended_s = np.where((ended_s > begin_s) & (ended_s < end_s), end_s, ended_s)
    counts, _ = np.histogram(ended_s, bins=length_s * STEPS_PER_S, range=(0, length_s))
    intervals = tuple(
        interval.model_copy(update={"ended_per_100_ms": counts[at * STEPS_PER_S : (at + 1) * STEPS_PER_S].tolist()})
        for at, interval in enumerate(_empty().intervals)
    )
    output = load_output.LoadOutput(_empty().started, intervals, _empty().finished)
    (effect,) = FaultedLoad(output, (fault(BASELINE_S, BASELINE_S + FAULT_S),), baseline_s=BASELINE_S).effects
    return effect


@dataclass(frozen=True)
class Worse:
    """In how many loads what followed was called worse, by what it was judged."""

    zero: int
    slow: int
    unusual: int
    any: int
    of: int


def worse(of: Cell, loads: int) -> Worse:
    """Of so many loads."""
    generator = np.random.default_rng(SEED)
    effects = [undisturbed(generator, of) for _ in range(loads)]
    found = [(bool(one.zero_s), bool(one.slow_s), one.usual_again_s != 0.0) for one in effects]
    zero, slow, unusual = (sum(column) for column in zip(*found, strict=True))
    return Worse(zero, slow, unusual, sum(map(any, found)), loads)


def page(rows: Sequence[tuple[Cell, Worse]]) -> str:
    """What was counted, in Markdown."""
    about = ABOUT.format(length=BASELINE_S + AFTER_S, baseline=BASELINE_S, limit=LIMIT)
    lines = [
        "# A phase without a fault", "", f"`python -m bench.no_fault`, {rows[0][1].of:,} loads a row.", "", about, "",
        "| operations/s | pace | nothing completed | a slow second | rate lost | any of them | 95 % interval |",
        "|--:|---|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for cell, found in rows:
        low, high = proportion_interval(found.any, found.of)
        each = (found.zero, found.slow, found.unusual)
        shares = " | ".join(f"{count / found.of:.1%}" for count in each)
        lines.append(
            f"| {cell.rate_per_s:,.0f} | {cell.pace} | {shares} | **{found.any / found.of:.1%}** "
            f"| {low:.1%} to {high:.1%} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Returns 1 if a phase is called worse in more loads than the limit allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=int, default=1_000)
    loads: int = parser.parse_args().loads
    rows = [(cell, worse(cell, loads)) for cell in CELLS]
    OUT.write_text(page(rows), encoding="utf-8")
    return int(any(found.any > LIMIT * found.of for _, found in rows))


if __name__ == "__main__":
    raise SystemExit(main())
