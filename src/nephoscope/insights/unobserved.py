"""Databases on machines that nobody observed: a managed one, or a server of the user's elsewhere."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.records import NOT_OBSERVED
from nephoscope.model.words import enumeration

NAME = "unobserved"
MAX_NAMED = 8
"""With more configurations than this, the note counts them instead of naming them."""


def unobserved(lookup: Lookup) -> list[Draft]:
    """One note that says what is not known of these databases."""
    rows = [row for row in lookup.study.trials if row.counts and NOT_OBSERVED in row.conditions]
    if not rows:
        return []
    names = sorted({row.configuration for row in rows})
    few = len(names) <= MAX_NAMED
    return [
        say(
            NAME,
            "note",
            ("{names}" if few else "{count:count} configurations")
            + ": the machine of the database was not observed in {trials:count} "
            + plural(len(rows), "trial")
            + ". Its CPU, memory, disk and load, and what else ran there, are not known. Facts and telemetry are those "
            "of the load machine.",
            numbers={"count": len(names), "trials": len(rows)},
            trials=[row.trial for row in rows],
            **({"names": enumeration(names)} if few else {}),
        )
    ]
