"""The counts of all simulated studies so far, in `counts.json`."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PATH = Path(__file__).with_name("counts.json")


@dataclass
class Stored:
    """Counts by cell, of the procedure with this fingerprint."""

    fingerprint: list[float]
    studies: dict[str, int] = field(default_factory=dict)
    """By key of the cell: the number of studies simulated; their numbers are 0 to this, exclusive."""
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, key: str, studies: int, counts: Counter[str]) -> None:
        """Adds the next studies of a cell."""
        self.studies[key] = self.studies.get(key, 0) + studies
        self.counts.setdefault(key, Counter()).update(counts)

    def share(self, key: str, what: str) -> float | None:
        """In which share of studies this happened; None if none was simulated."""
        studies = self.studies.get(key, 0)
        return self.counts[key][what] / studies if studies else None


def load(path: Path = PATH) -> Stored | None:
    """The stored counts; None if there are none."""
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    cells = document["cells"]
    return Stored(
        document["fingerprint"],
        {key: cell["studies"] for key, cell in cells.items()},
        {
            key: Counter({what: count for what, count in cell.items() if what != "studies"})
            for key, cell in cells.items()
        },
    )


def save(stored: Stored, path: Path = PATH) -> None:
    """Replaces the file as a whole, one line per cell."""
    lines = [
        f"  {json.dumps(key)}: {json.dumps({'studies': stored.studies[key], **dict(sorted(counts.items()))})}"
        for key, counts in stored.counts.items()
    ]
    text = f'{{\n "fingerprint": {json.dumps(stored.fingerprint)},\n "cells": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
