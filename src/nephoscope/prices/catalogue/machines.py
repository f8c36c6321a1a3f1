"""One machine type of the catalogue: its facts, and its prices as rows of a price book."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import polars as pl
from pydantic import Field, ValidationError

from nephoscope.model.errors import DamagedFile
from nephoscope.model.frozen import Frozen
from nephoscope.prices.rows import DISPUTED, Kind, Price, Unit


class CloudType(Frozen):
    """What sources say of a machine type. None: they do not say."""

    provider: str
    type: str
    family: str
    generation: int | None
    category: str = Field(description="general, compute, memory or storage")
    burstable: bool
    vcpus: int
    threads_per_core: int | None
    architecture: str = Field(description="amd64 or arm64")
    cpu_vendor: str | None
    cpu_model: str | None
    memory_gib: float
    local_ssd_gb: int | None = Field(description="all local SSDs that come with it")
    network_gbps: float | None = Field(description="baseline, not burst")
    volume_gbps: float | None = Field(description="most to all volumes")
    regions: list[str] = Field(description="where the catalogue has an on-demand price of it")
    source: str
    licence: str
    date: str


def prices_of(provider: str, name: str, region: str | None = None) -> tuple[Price, ...]:
    """Every price of a type, in one region or in all, as rows of a price book; empty if the catalogue has none.

    Raises:
        DamagedFile: a row is none of a price book: without a price, or with one below 0.
    """
    return tuple(_price(row) for row in prices_of_type(provider, name, region).iter_rows(named=True))


def _price(row: Mapping[str, Any]) -> Price:
    values = {column: row[column] for column in ("provider", "region", "basis", "terms", "usd", "source", "licence")}
    try:
        return Price(
            kind=Kind.MACHINE,
            item=row["type"],
            unit=Unit.HOUR,
            date=row["date"],
            disputed=row["wrong"],
            note=f"{DISPUTED}{row['disputed']}" if row["disputed"] else "",
            **values,
        )
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        where = f"{row['provider']} {row['region']} {row['type']}, {row['basis']}"
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}, found {first['input']!r}"
        raise DamagedFile(f"the catalogue's price of {where} is damaged: {problem}", hint=INSTALL_AGAIN) from error


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
