"""One machine type of the catalogue: its facts, and its prices as rows of a price book."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from nephoscope.model.errors import DamagedFile
from nephoscope.model.frozen import Frozen
from nephoscope.prices.catalogue.tables import INSTALL_AGAIN, prices_of_type
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
