"""What the small table of the catalogue says of each type. It is read where a plan only asks what a type is."""

import csv
import difflib
from collections.abc import Mapping
from functools import cache
from importlib import resources

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
