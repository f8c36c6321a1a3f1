"""A question to the catalogue: which machine types fit, what they cost, in the order that was asked for."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import polars as pl
from pydantic import Field

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import listed
from nephoscope.prices.catalogue.index import nearest, short_name
from nephoscope.prices.catalogue.machines import CloudType, prices, types
from nephoscope.prices.cost import METHODS
from nephoscope.study.suggest import meant_by
from nephoscope.study.suggest import nearest as nearest_word

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

    words: tuple[str, ...] = Field(default=(), description="providers, families, and patterns of types with * and ?")
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
        InputError: a column to sort by, a region, a provider or a type that does not exist.
    """
    _require_types(question)
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
    providers, patterns = _words(question)
    if providers:
        fits &= pl.col("provider").is_in(providers)
    if patterns:
        fits &= pl.col("type").is_in(_meant_by(types(), patterns))
    return fits


def _meant_by(table: pl.DataFrame, patterns: Sequence[str]) -> list[str]:
    """Types that a pattern fits, or whose family it names."""
    families = {_family(pattern) for pattern in patterns}
    named = zip(table["type"], table["family"], strict=True)
    return [name for name, family in named if _family(family) in families or _is_one_of(name, patterns)]


def _family(name: str) -> str:
    """'dsv5' of 'Standard_Ds_v5', 'Ds_v5' and the catalogue's 'Dsv5'."""
    return short_name(name).replace("_", "")


def _words(question: Question) -> tuple[list[str], list[str]]:
    """The providers and the patterns of types that are asked for, whatever the case."""
    known = set(types()["provider"])
    providers = [word.casefold() for word in question.words if word.casefold() in known]
    return providers, [word for word in question.words if word.casefold() not in known]


def _is_one_of(name: str, patterns: Sequence[str]) -> bool:
    """Whatever the case, and without Azure's prefix, too. Only * and ? are wildcards, a bracket is itself."""
    escaped = [pattern.casefold().replace("[", "[[]") for pattern in patterns]
    return any(fnmatchcase(one, pattern) for one in (name.casefold(), short_name(name)) for pattern in escaped)


def _require_types(question: Question) -> None:
    """Checks that each pattern fits a type or a family of the providers that are asked for.

    Raises:
        InputError: one does not.
    """
    providers, patterns = _words(question)
    table = types().filter(pl.col("provider").is_in(providers)) if providers else types()
    for pattern in patterns:
        if _meant_by(table, [pattern]):
            continue
        known = sorted(set(types()["provider"]))
        provider = meant_by("provider", pattern, known)
        if provider:
            raise InputError(
                f"the catalogue has no provider {pattern!r}; {provider}", hint=f"its providers: {', '.join(known)}"
            )
        of = f" of {' or '.join(providers)}" if providers else ""
        similar = _similar(table, pattern, providers)
        meant = f"; did you mean {' or '.join(similar)}?" if similar else ""
        raise InputError(
            f"no machine type{of} matches {pattern!r}{meant}",
            hint=f"the words are providers ({', '.join(known)}), families (c8g), and machine types with * and ? as "
            "wildcards: 'c8g*'",
        )


def _similar(table: pl.DataFrame, pattern: str, providers: Sequence[str]) -> list[str]:
    """Types with similar names; of a pattern, the family that it may mean."""
    stem = pattern.rstrip("*")
    if stem == pattern:
        return nearest(providers[0] if len(providers) == 1 else None, pattern)
    family = nearest_word(stem.casefold(), set(table["family"]))
    return [f"{family}*"] if family else []


def named_without_price(question: Question, found: Sequence[MachinePrice]) -> list[str]:
    """Types that are asked for by their whole names but have no such price there, each in a sentence."""
    has = {one.type for one in found}
    _, patterns = _words(question)
    whole = [name for name in types()["type"] if _is_one_of(name, [one for one in patterns if not set(one) & {*"*?"}])]
    return [said for name in whole if name not in has and (said := _no_price(question, name))]


def _no_price(question: Question, name: str) -> str:
    """Empty if it has one, and only other limits exclude it."""
    priced = prices().filter(pl.col("type") == name)
    of_basis = priced.filter(pl.col("basis") == question.basis)
    if not of_basis.height:
        others = ", ".join(sorted(set(priced["basis"])))
        return f"{name} exists, but the catalogue has no {question.basis} price for it; it has {others}"
    if question.region is None or question.region in set(of_basis["region"]):
        return ""
    regions = listed(sorted(set(of_basis["region"])), _MAX_REGIONS)
    return (
        f"{name} exists, but the catalogue has no {question.basis} price for it in {question.region}; it has {regions}"
    )


_MAX_REGIONS = 5


def excluded_by(question: Question) -> dict[str, int]:
    """Fields of a question that nothing fits, without which something would -> how many types then fit."""
    found = {}
    for field, info in Question.model_fields.items():
        if field in {"words", "sort"} or getattr(question, field) == info.default:
            continue
        without = search(question.model_copy(update={field: info.default}))
        if without:
            found[field] = len(without)
    return found


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
