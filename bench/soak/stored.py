"""The counts of all kills and damaged inputs so far, in `counts.json`."""

import fcntl
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PATH = Path(__file__).with_name("counts.json")


@dataclass
class Cell:
    """What was counted of one kind of rounds ('kills on aws', 'inputs of parsers')."""

    rounds: int = 0
    """Rounds done; their seeds are 0 to this, exclusive."""
    counts: Counter[str] = field(default_factory=Counter)
    bad_seeds: list[int] = field(default_factory=list)
    """Seeds of rounds in which something happened that must not."""


@dataclass
class Stored:
    """All cells by name, and how long the runs took in all."""

    cells: dict[str, Cell] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, name: str, counts: Counter[str], *, bad: bool) -> None:
        """Adds the next round of a cell."""
        cell = self.cells.setdefault(name, Cell())
        if bad:
            cell.bad_seeds.append(cell.rounds)
        cell.rounds += 1
        cell.counts.update(counts)

    def total(self, kind: str, what: str) -> int:
        """Of one count ('kills'), over all cells whose name begins with the kind ('kills on ')."""
        return sum(cell.counts[what] for name, cell in self.cells.items() if name.startswith(kind))


def load(path: Path = PATH) -> Stored:
    """The stored counts; empty if there are none."""
    if not path.exists():
        return Stored()
    document = json.loads(path.read_text(encoding="utf-8"))
    cells = {
        name: Cell(cell["rounds"], Counter(cell["counts"]), cell["bad_seeds"])
        for name, cell in document["cells"].items()
    }
    return Stored(cells, document["seconds"])


def save(stored: Stored, path: Path = PATH) -> None:
    """Replaces the file as a whole, one line per cell."""
    lines = [
        f"  {json.dumps(name)}: "
        + json.dumps({"rounds": cell.rounds, "counts": dict(sorted(cell.counts.items())), "bad_seeds": cell.bad_seeds})
        for name, cell in sorted(stored.cells.items())
    ]
    text = f'{{\n "seconds": {stored.seconds:.0f},\n "cells": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


@contextmanager
def alone(path: Path = PATH) -> Iterator[None]:
    """Holds off a second run, which would use the same seeds.

    Raises:
        BlockingIOError: another run holds the counts.
    """
    with path.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
