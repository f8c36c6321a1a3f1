"""What the small table of the catalogue says of each type. It is read where a plan only asks what a type is."""

import csv
import difflib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

MAX_NAMES = 3


@cache
def architectures() -> Mapping[tuple[str, str], str]:
    """(provider, machine type) -> amd64 or arm64, for every type of the catalogue."""
    text = resources.files("nephoscope.prices.catalogue").joinpath("types.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return MappingProxyType({(row["provider"], row["type"]): row["architecture"] for row in rows})


def nearest(provider: str, name: str) -> list[str]:
    """At most three types of the provider with similar names, the most similar one first."""
    by_folded = {one.casefold(): one for maker, one in architectures() if maker == provider}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=MAX_NAMES, cutoff=0.75)
    return [by_folded[one] for one in close]
