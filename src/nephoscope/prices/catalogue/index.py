"""The small tables of the catalogue, which are read where a plan only asks what a type is; and results of others.

`python -m scripts.public_cpu_results` writes what Spare Cores measured with stress-ng and membench from their files,
through the importer `spare-cores`.
"""

import csv
import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from nephoscope.model.standing import PublicMemory, PublicResult

MAX_NAMES = 3


@cache
def architectures() -> Mapping[tuple[str, str], str]:
    """(provider, machine type) -> amd64 or arm64, for every type of the catalogue."""
    text = resources.files("nephoscope.prices.catalogue").joinpath("types.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["provider"], row["type"]): row["architecture"] for row in rows}


def short_name(name: str) -> str:
    """In lower case, without the prefix that all types of Azure have: 'd8s_v5' of 'Standard_D8s_v5'."""
    return name.casefold().removeprefix(_AZURE_PREFIX)


_AZURE_PREFIX = "standard_"


def nearest(provider: str | None, name: str) -> list[str]:
    """At most three types of the provider, or of all, with similar names, the most similar one first."""
    by_short = {short_name(one): one for maker, one in architectures() if provider in {maker, None}}
    close = difflib.get_close_matches(short_name(name), by_short, n=MAX_NAMES, cutoff=0.75)
    return [by_short[one] for one in close]


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
