"""Public results of machine types: what Spare Cores measured with stress-ng and membench, as two small tables.

`python -m scripts.public_cpu_results` writes them from their files, through the importer `spare-cores`.
"""

import csv
from collections.abc import Iterator
from functools import cache
from importlib import resources

from nephoscope.model.standing import PublicMemory, PublicResult

SOURCE = "Spare Cores, sc-inspector-data of 2026-08-22"
LICENCE = "CC BY-SA 4.0"
STRESSOR, METHOD = "cpu", "div16"
"""What they ran: `stress-ng --cpu N --cpu-method div16 -t 10`."""


@cache
def public_results() -> tuple[PublicResult, ...]:
    """A row for each type of the catalogue that they measured."""
    return tuple(PublicResult.model_validate(row) for row in _rows("measured.csv"))


@cache
def public_memory() -> tuple[PublicMemory, ...]:
    """A row for each type whose memory they measured."""
    return tuple(PublicMemory.model_validate(row) for row in _rows("memory.csv"))


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = resources.files("nephoscope.prices.catalogue").joinpath(name).read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())
