"""The two tables of the catalogue, each read once and only when it is needed."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import polars as pl

from nephoscope.model.errors import DamagedFile

INSTALL_AGAIN = "install nephoscope again: the catalogue is a part of it"


@cache
def types() -> pl.DataFrame:
    """A row for each machine type: its facts, with source, licence and date, and the regions that sell it."""
    return _read("types")


def size_of(provider: str, name: str) -> tuple[int, float] | None:
    """vCPUs and memory in GiB of a machine type; None: the catalogue does not have it."""
    return _sizes().get((provider, name))


@cache
def _sizes() -> Mapping[tuple[str, str], tuple[int, float]]:
    rows = types().select("provider", "type", "vcpus", "memory_gib").iter_rows()
    return {(provider, name): (vcpus, memory_gib) for provider, name, vcpus, memory_gib in rows}


@cache
def prices() -> pl.DataFrame:
    """A row for each machine type, region and basis: US dollars per hour, with source, licence and date."""
    return _read("prices")


def prices_of_type(provider: str, name: str, region: str | None = None) -> pl.DataFrame:
    """The rows of one machine type, which stand together, in one region or in all; none if it has no price there."""
    first, count = _places().get((provider, name), (0, 0))
    found = prices().slice(first, count)
    return found if region is None else found.filter(pl.col("region") == region)


@cache
def _places() -> Mapping[tuple[str, str], tuple[int, int]]:
    """(provider, type) -> its first row and how many it has. Found once, as a filter for each type takes longer.

    Raises:
        DamagedFile: the rows of a type do not stand together.
    """
    runs = prices().select(pl.struct("provider", "type").rle().alias("run")).unnest("run").unnest("value")
    places: dict[tuple[str, str], tuple[int, int]] = {}
    first = 0
    for count, provider, name in runs.select("len", "provider", "type").iter_rows():
        if (provider, name) in places:
            message = f"the catalogue's table of prices is damaged: it has rows of {provider} {name} in two places"
            raise DamagedFile(message, hint=INSTALL_AGAIN)
        places[provider, name] = (first, count)
        first += count
    return places


def _read(name: str) -> pl.DataFrame:
    with resources.files("nephoscope.prices.catalogue").joinpath(f"{name}.parquet").open("rb") as file:
        return pl.read_parquet(file)
