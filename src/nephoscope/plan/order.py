"""The order of trials: a shuffle that is the same on every platform and in every version.

Each cell of a block gets the key sha256("nephoscope/order/1", seed, block, configuration, benchmark), and the cells
are sorted by it. The keys are independent and uniform, so every permutation is equally likely (Abedi & Brecht, ICPE
'17, randomised blocks). And a cell's key does not depend on the other cells: adding a configuration does not change the
order of the existing ones.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

Cell = tuple[str, str]
"""Name of a configuration, label of a benchmark."""


def shuffled(cells: Sequence[Cell], *, seed: int, block: int) -> list[Cell]:
    """The cells of one block (counted from 1) in their random order; cells must be unique."""
    return sorted(cells, key=lambda cell: _key(seed, block, cell))


def in_runs(cells: Sequence[Cell], shared: Mapping[Cell, str | None]) -> list[Cell]:
    """The same order, but each cell that shares a cluster directly follows the others on it."""
    first: dict[str, int] = {}
    for place, cell in enumerate(cells):
        first.setdefault(shared[cell] or str(cell), place)
    return sorted(cells, key=lambda cell: first[shared[cell] or str(cell)])


def _key(seed: int, block: int, cell: Cell) -> bytes:
    return hashlib.sha256(json.dumps(["nephoscope/order/1", seed, block, *cell]).encode()).digest()
