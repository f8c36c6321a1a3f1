"""What rejecting, repeating and recording stolen CPU time make of one comparison, and what counts as throttled."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

import numpy as np

from nephoscope.analysis.boards import boards_of
from nephoscope.analysis.cells import Cell
from nephoscope.analysis.comparisons import comparisons_of
from nephoscope.analysis.delivered import compared_as_delivered
from nephoscope.model.records import Direction
from nephoscope.model.rows import Comparison, ComparisonVerdict
from nephoscope.model.subjects import Subject
from nephoscope.stats.change_points import plateaus, throttling
from tests.support.series import Noise

STUDIES = 300
REPLICATES = 10
SPREAD = 0.01
FASTER_QUIET = 1.03
HIT_SHARE = 0.7
LOST = (0.05, 0.15)
MARGIN_PERCENT = 1.5
POLICIES = ("reject", "reject, repeated until valid", "record")

SERIES = 40
THROTTLE_NOISES = (
    *(Noise(length, dependence, 0.02) for length in (60, 120) for dependence in (0.0, 0.9)),
    Noise(120, 0.9, 0.05),
)
SHAPES = ("steady", "last 4 values", "5 of every 50", "last quarter")


def _cell(name: str, values: list[tuple[float, str]]) -> Cell:
    ordered = sorted(values)
    return Cell(
        configuration=name,
        benchmark="example",
        subject=Subject.CPU,
        metric="rate",
        unit="1/s",
        direction=Direction.HIGHER,
        per_cpu=False,
        headline=True,
        cpus=None,
        values=tuple(value for value, _ in ordered),
        members=tuple((trial,) for _, trial in ordered),
        blocks=tuple(range(len(ordered))),
        n_excluded=REPLICATES - len(ordered),
    )


def _compare(cells: Sequence[Cell]) -> list[Comparison]:
    return comparisons_of(boards_of(cells, blocked=False), Comparison, margin_percent=MARGIN_PERCENT)


def verdicts_of(policy: str) -> tuple[Counter[ComparisonVerdict], float]:
    """Verdicts on B against A in `STUDIES` studies, and the median of what they report as B's median.

    A is never disturbed. B is 3 % faster when quiet, but loses 5 to 15 % in 70 % of its trials, and so delivers 5 %
    less.
    """
    found: Counter[ComparisonVerdict] = Counter()
    reported: list[float] = []
    for study in range(STUDIES):
        chance = np.random.default_rng([study, 17])
        a = [(float(value), f"a{at}") for at, value in enumerate(1000 * np.exp(chance.normal(0, SPREAD, REPLICATES)))]
        drawn = 20 * REPLICATES
        quiet = 1000 * FASTER_QUIET * np.exp(chance.normal(0, SPREAD, drawn))
        hit = chance.random(drawn) < HIT_SHARE
        rates = quiet * np.where(hit, 1 - chance.uniform(*LOST, drawn), 1.0)
        trials = [(float(rate), f"b{at}", bool(lost)) for at, (rate, lost) in enumerate(zip(rates, hit, strict=True))]
        first = trials[:REPLICATES] if policy != "reject, repeated until valid" else trials
        kept = [one for one in first if policy == "record" or not one[2]][:REPLICATES]
        if not kept:
            found[ComparisonVerdict.UNRESOLVED] += 1
            continue
        reported.append(median(rate for rate, _, _ in kept))
        cells = [_cell("a", a), _cell("b", [(rate, trial) for rate, trial, _ in kept])]
        lost = frozenset(trial for _, trial, stolen in kept if stolen)
        (row,) = compared_as_delivered(_compare(cells), _compare, cells, lost)
        mirrored = {
            ComparisonVerdict.BETTER: ComparisonVerdict.WORSE,
            ComparisonVerdict.WORSE: ComparisonVerdict.BETTER,
        }
        found[mirrored.get(row.verdict, row.verdict)] += 1
    return found, median(reported)


def disturbance() -> str:
    """The table of docs/concepts/bias.md."""
    lines = [
        f"| trials that lost CPU time | B's median | B better, of {STUDIES} studies | tie | B worse | not decided |",
        "|---|---|---|---|---|---|",
    ]
    for policy in POLICIES:
        found, middle = verdicts_of(policy)
        counts = " | ".join(
            str(found[verdict])
            for verdict in (
                ComparisonVerdict.BETTER,
                ComparisonVerdict.TIE,
                ComparisonVerdict.WORSE,
                ComparisonVerdict.UNRESOLVED,
            )
        )
        lines.append(f"| {policy} | {middle:.0f} | {counts} |")
    return "\n".join(lines) + "\n"


def rejected_as_throttled(noise: Noise, shape: str) -> int:
    """Of `SERIES` series, how many are said to be throttled; dips and falls are of 30 %."""
    found = 0
    for repeat in range(SERIES):
        values = noise.draw(np.random.default_rng([repeat, noise.length, 23]))
        at = np.arange(noise.length)
        low = {
            "steady": at < 0,
            "last 4 values": at >= noise.length - 4,
            "5 of every 50": (at + repeat * 50 // SERIES) % 50 < 5,
            "last quarter": at >= noise.length - noise.length // 4,
        }[shape]
        shaped = np.where(low, 0.7 * values, values).tolist()
        found += throttling(shaped, plateaus(shaped)) is not None
    return found


def throttled() -> str:
    """The table of docs/concepts/detectors.md about what is rejected."""
    lines = [
        "| values | dependence | spread | " + " | ".join(SHAPES) + " |",
        "|---|---|---|" + "---|" * len(SHAPES),
    ]
    for noise in THROTTLE_NOISES:
        counts = " | ".join(str(rejected_as_throttled(noise, shape)) for shape in SHAPES)
        lines.append(f"| {noise.length} | {noise.dependence:g} | {100 * noise.spread:g} % | {counts} |")
    return "\n".join(lines) + "\n"
