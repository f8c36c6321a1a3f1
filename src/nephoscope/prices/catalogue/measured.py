"""Public CPU results of machine types: what Spare Cores measured with stress-ng, as a small table.

`python -m scripts.public_cpu_results` writes it from their files, through the importer `spare-cores`.
"""

import csv
from functools import cache
from importlib import resources

from nephoscope.model.standing import PublicResult

SOURCE = "Spare Cores, sc-inspector-data of 2026-08-22"
LICENCE = "CC BY-SA 4.0"
STRESSOR, METHOD = "cpu", "div16"
"""What they ran: `stress-ng --cpu N --cpu-method div16 -t 10`."""


@cache
def public_results() -> tuple[PublicResult, ...]:
    """A row for each type of the catalogue that they measured."""
    text = resources.files("nephoscope.prices.catalogue").joinpath("measured.csv").read_text(encoding="utf-8")
    return tuple(PublicResult.model_validate(row) for row in csv.DictReader(text.splitlines()))
