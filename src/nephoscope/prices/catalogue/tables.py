"""The two tables of the catalogue, each read once and only when it is needed."""

from functools import cache
from importlib import resources

import polars as pl


@cache
def types() -> pl.DataFrame:
    """A row for each machine type: its facts, with source, licence and date, and the regions that sell it."""
    return _read("types")


@cache
def prices() -> pl.DataFrame:
    """A row for each machine type, region and basis: US dollars per hour, with source, licence and date."""
    return _read("prices")


def _read(name: str) -> pl.DataFrame:
    with resources.files("nephoscope.prices.catalogue").joinpath(f"{name}.parquet").open("rb") as file:
        return pl.read_parquet(file)
