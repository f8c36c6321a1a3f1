"""`nephoscope types`: find machine types in the built-in catalogue."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nephoscope.app.commands.options import OTHERS, AsJson, add_command
from nephoscope.app.console import print_answer, print_json, say, tell
from nephoscope.model.words import counted

if TYPE_CHECKING:
    from nephoscope.prices.catalogue.search import MachinePrice, Question

_HEADERS = ("provider", "type", "arch", "vCPUs", "GiB", "CPU", "region", "$/hour", "$/month", "SSD GB", "net Gbit/s",
    "disk Gbit/s")  # fmt: skip
_OPTIONAL = ("arch", "region", "provider", "$/hour", "SSD GB", "CPU")
"""What a narrow terminal can do without."""
_SHOWN_DOUBTS = 5

Basis = Literal["on-demand", "spot", "reserved-1y", "reserved-3y", "savings-plan-1y"]
Architecture = Literal["amd64", "arm64"]
Category = Literal["general", "compute", "memory", "storage"]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(
        app,
        types,
        under=OTHERS,
        example="types 'aws c8g*' --max-usd-month 300 --min-memory 16 --arch arm64",
        more=("types gcp azure --min-vcpus 8 --max-vcpus 8 --category memory --sort=-memory-gib",),
        then="write a type in `database_machine` of a study",
    )


def types(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD", help="providers, families (m6i), types with * and ? as wildcards [default: all]"
        ),
    ] = None,
    region: Annotated[
        str | None,
        typer.Option("--region", metavar="NAME", help="prices of this region [default: a large one in the USA]"),
    ] = None,
    basis: Annotated[Basis, typer.Option("--basis", help="kind of contract")] = "on-demand",
    architecture: Annotated[Architecture | None, typer.Option("--arch", help="amd64 (x86) or arm64")] = None,
    category: Annotated[Category | None, typer.Option("--category", help="what it is made for")] = None,
    min_vcpus: Annotated[int | None, typer.Option("--min-vcpus")] = None,
    max_vcpus: Annotated[int | None, typer.Option("--max-vcpus")] = None,
    min_memory: Annotated[float | None, typer.Option("--min-memory", metavar="GIB")] = None,
    max_memory: Annotated[float | None, typer.Option("--max-memory", metavar="GIB")] = None,
    min_ssd: Annotated[
        int | None, typer.Option("--min-local-ssd", metavar="GB", help="local SSDs that come with the type")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option("--max-usd-month", metavar="USD", help="730 hours of the machine alone")
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="a column of --json; --sort=-COLUMN: the largest first")
    ] = "usd-month",
    as_json: AsJson = False,
) -> None:
    """Find machine types of AWS, Azure and GCP, with prices, in the built-in catalogue. Uses no network.

    Exit code 2: a word is neither a provider nor a family or machine type of the catalogue.
    """
    from nephoscope.prices.catalogue.search import Question, named_without_price, search

    question = Question(
        words=tuple(part for word in words or () for part in word.split()),
        region=region,
        basis=basis,
        architecture=architecture,
        category=category,
        min_vcpus=min_vcpus,
        max_vcpus=max_vcpus,
        min_memory_gib=min_memory,
        max_memory_gib=max_memory,
        min_local_ssd_gb=min_ssd,
        max_usd_per_month=max_usd,
        sort=sort,
    )
    found = search(question)
    if as_json:
        print_json(found)
    else:
        if found:
            print_answer(_HEADERS, map(_cells, found), _OPTIONAL)
        say(counted(len(found), "machine type") + _dates(found))
        _tell_more(found, basis)
    unpriced = named_without_price(question, found)
    for sentence in unpriced:
        tell(sentence)
    if not found and not unpriced:
        _tell_what_excludes(question)


_OPTIONS = {
    "region": "--region",
    "basis": "--basis",
    "architecture": "--arch",
    "category": "--category",
    "min_vcpus": "--min-vcpus",
    "max_vcpus": "--max-vcpus",
    "min_memory_gib": "--min-memory",
    "max_memory_gib": "--max-memory",
    "min_local_ssd_gb": "--min-local-ssd",
    "max_usd_per_month": "--max-usd-month",
}


def _tell_what_excludes(question: "Question") -> None:
    """Which option is to blame if nothing was found."""
    from nephoscope.prices.catalogue.search import excluded_by

    excluding = excluded_by(question)
    for field, many in excluding.items():
        value = getattr(question, field)
        option = f"{_OPTIONS[field]} {value:g}" if isinstance(value, float) else f"{_OPTIONS[field]} {value}"
        tell(f"{option} excludes everything: without it, {counted(many, 'machine type')} would fit")
    if not excluding:
        tell("several options together exclude everything: leave out some of them")


def _tell_more(found: "list[MachinePrice]", basis: Basis) -> None:
    doubtful = [one for one in found if one.disputed or one.wrong]
    for one in doubtful[:_SHOWN_DOUBTS]:
        if one.wrong:
            tell(f"wrong: ${one.usd_hour:g} for {one.type} in {one.region} is {one.wrong}; {one.price_source}")
        else:
            tell(f"disputed: {one.type} in {one.region} costs ${one.usd_hour:g} in {one.price_source}, {one.disputed}")
    more = len(doubtful) - _SHOWN_DOUBTS
    if more > 0:
        tell(f"{counted(more, 'more price')} {'is' if more == 1 else 'are'} disputed or wrong: see --json")
    for terms in sorted({one.terms for one in found if one.terms}):
        names = sorted({one.provider for one in found if one.terms == terms})
        tell(f"terms of {', '.join(names)}: {terms}")
    if found and basis == "spot":
        tell(
            "Spot prices change from day to day, and the provider may take the machine back at any time: a month at "
            "this price is an estimate."
        )


def _dates(found: "list[MachinePrice]") -> str:
    """'; prices of 2026-06-18 to 2026-08-03'."""
    dates = sorted({one.price_date for one in found})
    return f"; prices of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}" if dates else ""


def _cells(one: "MachinePrice") -> tuple[str, ...]:
    return (
        *(one.provider, one.type, one.architecture, str(one.vcpus), f"{one.memory_gib:g}"),
        one.cpu_model or one.cpu_vendor or "",
        one.region,
        f"{one.usd_hour:.4g}" + (" (wrong)" if one.wrong else " (disputed)" if one.disputed else ""),
        f"{one.usd_month:,.0f}",
        "" if one.local_ssd_gb is None else f"{one.local_ssd_gb:,}",
        "" if one.network_gbps is None else f"{one.network_gbps:g}",
        "" if one.volume_gbps is None else f"{one.volume_gbps:g}",
    )
