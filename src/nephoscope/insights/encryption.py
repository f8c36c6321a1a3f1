"""Configurations whose sessions with the database were encrypted in different ways."""

from nephoscope.analysis.findings import Findings
from nephoscope.insights.words import Draft, say
from nephoscope.model.words import enumeration, named_or_counted

NAME = "encryption"
MAX_NAMED = 4
"""With more configurations than this, the warning counts them instead of naming them."""


def encryption(findings: Findings) -> list[Draft]:
    """One warning: TLS costs client and server CPU time, and so may make the difference."""
    ways = sorted(set(findings.encryption.values()))
    if len(ways) < 2:
        return []
    trials = [row.trial for row in findings.trials if row.counts and row.configuration in findings.encryption]
    return [
        say(
            NAME,
            "warning",
            "The sessions with the database were encrypted in {count:count} ways: {ways}. A difference between these "
            "configurations may come from the encryption rather than the machine.",
            numbers={"count": len(ways)},
            trials=trials,
            ways=enumeration([f"{way} ({named_or_counted(_those(findings, way), MAX_NAMED)})" for way in ways]),
        )
    ]


def _those(findings: Findings, way: str) -> list[str]:
    return sorted(name for name, used in findings.encryption.items() if used == way)
