"""Simulates more studies and adds their counts: `python -m bench.simulations --studies 4000`.

Every study has a number, which is its seed. Each run continues after the numbers that are counted already, so several
short runs give the same counts as a long one. Interrupt it at any time.
"""

import argparse
import sys

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench.simulations.stored import Stored, load, save
from bench.simulations.studies import CELLS, Cell, fingerprint, simulate

BATCH = 100


def rounds(stored: Stored, studies: int) -> list[tuple[Cell, int, int]]:
    """What is still to do, in rounds over all cells: an interrupted run leaves about as many studies in each cell."""
    return [
        (cell, max(first, stored.studies.get(cell.key, 0)), min(first + BATCH, studies))
        for first in range(0, studies, BATCH)
        for cell in CELLS
        if stored.studies.get(cell.key, 0) < min(first + BATCH, studies)
    ]


def main() -> None:
    """Simulates until each cell has the number of studies that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=4000, help="studies per cell, those already counted included")
    studies: int = parser.parse_args().studies
    now = fingerprint()
    stored = load()
    if stored is not None and stored.fingerprint != now:
        sys.stderr.write("The procedure has changed since the stored studies: starting at 0.\n")
        stored = None
    stored = stored or Stored(now)
    columns = (TextColumn("{task.description:42}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(elapsed_when_finished=False)) as progress:
        batches = rounds(stored, studies)
        task = progress.add_task("studies", total=sum(last - first for _, first, last in batches))
        for cell, first, last in batches:
            progress.update(task, description=cell.key)
            stored.add(cell.key, last - first, simulate(cell, first, last))
            progress.advance(task, last - first)
            save(stored)


if __name__ == "__main__":
    main()
