"""Configurations whose sessions with the database were encrypted in different ways."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, say
from nephoscope.model.words import enumeration, named_or_counted

NAME = "encryption"
MAX_NAMED = 4
"""With more configurations than this, the warning counts them instead of naming them."""


def encryption(lookup: Lookup) -> list[Draft]:
    """One warning: TLS costs client and server CPU time, and so may make the difference."""
    ways = sorted(set(lookup.encryption.values()))
    if len(ways) < 2:
        return []
    trials = [row.trial for row in lookup.study.trials if row.counts and row.configuration in lookup.encryption]
    return [
        say(
            NAME,
            "warning",
            "The sessions with the database were encrypted in {count:count} ways: {ways}. A difference between these "
            "configurations may come from the encryption rather than the machine.",
            numbers={"count": len(ways)},
            trials=trials,
            ways=enumeration([f"{way} ({named_or_counted(_those(lookup, way), MAX_NAMED)})" for way in ways]),
        )
    ]


def _those(lookup: Lookup, way: str) -> list[str]:
    return sorted(name for name, used in lookup.encryption.items() if used == way)
