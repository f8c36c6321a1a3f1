"""Machines that differ from most of their configuration, which a study with `equal_machines` exchanges."""

from collections import defaultdict

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import enumeration

NAME = "exchanged"
_WORDS = {
    "cpu_model": "CPU model",
    "cpu_family": "CPU family",
    "cpu_model_number": "CPU model number",
    "cpu_stepping": "CPU stepping",
    "cpus_online": "number of CPUs",
    "numa_nodes": "NUMA nodes",
    "l2_bytes": "second-level cache",
    "l3_bytes": "last-level cache",
}
"""Facts whose name is not the reader's word."""


def exchanged(lookup: Lookup) -> list[Draft]:
    """One note for each configuration that got such machines."""
    by_configuration: dict[str, list[TrialRow]] = defaultdict(list)
    for row in lookup.study.trials:
        by_configuration[row.configuration].append(row)
    return [
        _said(name, rows) for name, rows in sorted(by_configuration.items()) if any(row.other_kinds for row in rows)
    ]


def _said(name: str, rows: list[TrialRow]) -> Draft:
    """Each attempt has machines of its own; of a cluster, one that differs is enough."""
    odd = [row for row in rows if row.other_kinds]
    count = sum(len(row.other_kinds) for row in odd)
    differing = sorted({fact for row in odd for fact in row.differs_in})
    facts = [_WORDS.get(fact, fact.replace("_", " ")) for fact in differing]
    left = sum(not row.counts for row in odd)
    rest = (
        "Their trials ran again on new machines."
        if not left
        else f"{{left:count}} {plural(left, 'trial')} of them did not run again on a machine of the usual kind, and "
        f"{plural(left, 'is', 'are')} excluded."
    )
    return say(
        NAME,
        "note",
        f"{{count:count}} of {{attempts:count}} {plural(sum(row.attempts for row in rows), 'attempt')} of {{name}} "
        f"got a machine that differs from most of this configuration in {{facts}}. {rest}",
        numbers={"count": count, "attempts": sum(row.attempts for row in rows), "left": left},
        trials=[row.trial for row in odd],
        name=name,
        facts=enumeration(facts),
    )
