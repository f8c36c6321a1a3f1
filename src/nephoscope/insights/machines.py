"""Replicates that did not run on the same machine."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.words import enumeration

NAME = "machines"


def machines(lookup: Lookup) -> list[Draft]:
    """One warning per machine that differs from the first one of its configuration."""
    return [
        say(
            NAME,
            "warning",
            "{count:count} "
            + plural(len(row.trials), "trial")
            + " of {name} ran on a machine ({machine}) that differs from the machine of the other replicates in "
            "{facts}. Trials on different machines are treated as different configurations.",
            numbers={"count": len(row.trials)},
            trials=row.trials,
            name=row.configuration,
            machine=row.machine,
            facts=enumeration([fact.replace("_", " ") for fact in row.differs_in]),
        )
        for row in lookup.study.machines
        if row.differs_in
    ]
