"""The stored counts as the tables of docs/concepts/statistics.md."""

from itertools import product

from bench.simulations.noises import CV_OF_WORLDS, NOISES, WORLDS
from bench.simulations.stored import Stored
from bench.simulations.studies import (
    BEHIND,
    CONFIGURATIONS,
    POWER_CELLS,
    REPLICATES,
    WORLD_CONFIGURATIONS,
    WORLD_REPLICATES,
    ErrorCell,
    WorldCell,
)

BAR = 0.05 + 0.015
LENIENT_BAR = 0.05 + 0.05
QUESTIONS: dict[str, tuple[str, ...]] = {
    "A best configuration, or one that equals it, is excluded": (
        "equal: best lost",
        *(f"{behind:g} behind: best lost" for behind in BEHIND),
    ),
    "Equal configurations are called different, or get different ranks": ("false difference",),
    "Configurations that differ by the margin are called a tie": ("false tie",),
    "The interval of a contrast misses the true difference": ("pair missed", "contrast missed"),
}
"""What is asked to the counts that belong to it, of which the largest is printed."""


def worst(stored: Stored, cell: ErrorCell, question: str) -> float | None:
    """The largest share of wrong answers; None if nothing was simulated."""
    shares = [stored.share(cell.key, what) for what in QUESTIONS[question]]
    return max((share for share in shares if share is not None), default=None)


def tables(stored: Stored) -> str:
    """One table for each question, and one of powers."""
    fewest, most = min(stored.studies.values()), max(stored.studies.values())
    number = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    sizes = ", ".join(map(str, REPLICATES[:-1])) + f" and {REPLICATES[-1]}"
    lines = [f"Wrong answers in percent of studies, with {sizes} replicates; {number} studies per cell.", ""]
    for question in QUESTIONS:
        lines += [f"{question}:", "", f"| noise | {' | '.join(f'{k} configurations' for k in CONFIGURATIONS)} |"]
        lines.append("|---|" + "---|" * len(CONFIGURATIONS))
        for noise in NOISES:
            cells = (
                " / ".join(_percent(worst(stored, ErrorCell(noise, k, n), question)) for n in REPLICATES)
                for k in CONFIGURATIONS
            )
            lines.append(f"| {noise.name} | {' | '.join(cells)} |")
        lines.append("")
    lines += ["One configuration is better than all others; is it named the only possible best?", ""]
    lines += [
        "| configurations | replicates | CV | others behind | drift per block | found |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {cell.configurations} | {cell.replicates} | {100 * cell.cv:g} % | {100 * cell.gap:g} % "
        f"| {100 * cell.drift:g} % | {_percent(stored.share(cell.key, 'found'))} % |"
        for cell in POWER_CELLS
    ]
    return "\n".join([*lines, *_worlds(stored)]) + "\n"


def _worlds(stored: Stored) -> list[str]:
    columns = {
        "equal: one is excluded": "equal: one lost",
        "one is 5 % better: found": "apart: found",
        "ruled out": "apart: lost",
    }
    sizes = ", ".join(map(str, WORLD_REPLICATES[:-1])) + f" and {WORLD_REPLICATES[-1]}"
    lines = [
        "",
        f"Configurations with a CV of {100 * CV_OF_WORLDS:g} % in worlds that the model does not have, in percent of",
        f"studies, with {sizes} replicates:",
        "",
        f"| world | configurations | {' | '.join(columns)} |",
        "|---|---|" + "---|" * len(columns),
    ]
    for noise, k in product(WORLDS, WORLD_CONFIGURATIONS):
        cells = (
            " / ".join(_percent(stored.share(WorldCell(noise, k, n).key, what)) for n in WORLD_REPLICATES)
            for what in columns.values()
        )
        lines.append(f"| {noise.name} | {k} | {' | '.join(cells)} |")
    return lines


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
