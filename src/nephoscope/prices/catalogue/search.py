"""A question to the catalogue: which machine types fit, what they cost, in the order that was asked for."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import polars as pl
from pydantic import Field

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.prices.catalogue.machines import CloudType
from nephoscope.prices.catalogue.tables import prices, types
from nephoscope.prices.cost import METHODS

HOURS = METHODS["default"].hours
"""Of a month."""

HOME_REGIONS = (
    "us-east-1",
    *("us-central1", "us-east4", "us-east1"),
    *("eastus", "eastus2", "westus2", "westus3", "southcentralus", "centralus"),
)
"""Where a type is priced if nobody names a region: the first of these that sells it, else the first by name."""


class MachinePrice(CloudType):
    """A machine type with its price in one region under one basis."""

    region: str
    basis: str
    terms: str = Field(description="of a commitment, and how a spot price was worked out")
    usd_hour: float
    usd_month: float = Field(description="730 hours, the machine alone")
    price_date: str
    price_source: str
    price_licence: str
    disputed: str = Field(description="what another source says, if it differs by more than 2 %")
    wrong: str = Field(description="why this price cannot be right; no plan and no report uses it")


class Question(Frozen):
    """What to look for; None: anything."""

    words: tuple[str, ...] = Field(default=(), description="providers, and patterns of types with * and ?")
    region: str | None = None
    basis: str = "on-demand"
    architecture: str | None = None
    category: str | None = None
    min_vcpus: int | None = None
    max_vcpus: int | None = None
    min_memory_gib: float | None = None
    max_memory_gib: float | None = None
    min_local_ssd_gb: int | None = None
    max_usd_per_month: float | None = None
    sort: str = Field(default="usd-month", description="a column; with '-' before it the largest first")


def search(question: Question) -> list[MachinePrice]:
    """Every type that fits, with its price; ties by provider and type.

    Raises:
        InputError: a column to sort by, or a region, that does not exist.
    """
    priced = prices().rename(
        {"usd": "usd_hour", "date": "price_date", "source": "price_source", "licence": "price_licence"}
    )
    if question.region is not None and question.region not in set(priced["region"]):
        raise InputError(
            f"the catalogue has no region {question.region!r}",
            hint="name it as the provider does: us-east-1, us-central1, eastus",
        )
    both = (
        types()
        .filter(_of_type(question))
        .join(priced.filter(pl.col("basis") == question.basis), on=("provider", "type"))
        .with_columns(usd_month=pl.col("usd_hour") * HOURS)
    )
    both = both.filter(pl.col("region") == question.region) if question.region else _at_home(both)
    if question.max_usd_per_month is not None:
        both = both.filter(pl.col("usd_month") <= question.max_usd_per_month)
    column, descending = _column(question.sort, both.columns)
    ordered = both.sort(
        (column, "provider", "type"), descending=(descending, False, False), nulls_last=True, maintain_order=True
    )
    return [MachinePrice.model_validate(row) for row in ordered.iter_rows(named=True)]


def _of_type(question: Question) -> pl.Expr:
    limits: Sequence[tuple[str, Any, Any]] = (
        ("vcpus", question.min_vcpus, question.max_vcpus),
        ("memory_gib", question.min_memory_gib, question.max_memory_gib),
        ("local_ssd_gb", question.min_local_ssd_gb, None),
    )
    fits = pl.lit(value=True)
    for column, least, most in limits:
        if least is not None:
            fits &= pl.col(column) >= least
        if most is not None:
            fits &= pl.col(column) <= most
    for column, wanted in (("architecture", question.architecture), ("category", question.category)):
        if wanted is not None:
            fits &= pl.col(column) == wanted
    known = set(types()["provider"])
    providers = [word for word in question.words if word in known]
    patterns = [word for word in question.words if word not in known]
    if providers:
        fits &= pl.col("provider").is_in(providers)
    if patterns:
        fits &= pl.col("type").is_in([name for name in types()["type"] if _is_one_of(name, patterns)])
    return fits


def _is_one_of(name: str, patterns: Sequence[str]) -> bool:
    """Whatever the case: Azure's names mix both. Only * and ? are wildcards, a bracket is itself."""
    return any(fnmatchcase(name.casefold(), pattern.casefold().replace("[", "[[]")) for pattern in patterns)


def _at_home(both: pl.DataFrame) -> pl.DataFrame:
    rank = {region: number for number, region in enumerate(HOME_REGIONS)}
    return (
        both.with_columns(rank=pl.col("region").replace_strict(rank, default=len(rank), return_dtype=pl.Int64))
        .sort("rank", "region")
        .unique(("provider", "type"), keep="first", maintain_order=True)
        .drop("rank")
    )


def _column(name: str, known: Sequence[str]) -> tuple[str, bool]:
    descending = name.startswith("-")
    column = name.removeprefix("-").replace("-", "_")
    if column not in known or column == "regions":
        columns = ", ".join(one.replace("_", "-") for one in known if one != "regions")
        raise InputError(f"cannot sort by {name!r}", hint=f"columns are: {columns}")
    return column, descending
