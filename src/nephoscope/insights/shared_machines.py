"""Configurations whose machines cannot stand for a type: too few of them, or one machine under several names."""

from collections import defaultdict

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.words import enumeration
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.rank_sum import least_n_each

NAME = "shared_machines"
MAX_NAMED = 8
"""With more configurations than this, the warning counts them instead of naming them."""
HERE = frozenset({"local", "emulated"})
"""Providers whose configurations share this machine on purpose."""


def shared_machines(lookup: Lookup) -> list[Draft]:
    """One warning for each machine with several names, and one if different machines are compared by too few each."""
    return [*_two_names(lookup), *_too_few(lookup)]


def _two_names(lookup: Lookup) -> list[Draft]:
    provider = {row.configuration: row.provider for row in lookup.study.configurations}
    named: dict[str, frozenset[str]] = {}
    for seen in lookup.study.machines:
        named[seen.configuration] = named.get(seen.configuration, frozenset()) | {seen.machine}
    users: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup.study.trials:
        if row.machine is not None:
            users[row.machine][row.configuration].append(row.trial)
    found = []
    for _, by_configuration in sorted(users.items()):
        names = sorted(by_configuration)
        on_purpose = {provider.get(name) for name in names} <= HERE
        if on_purpose or len({named.get(name) for name in names}) == 1:
            continue
        found.append(
            say(
                NAME,
                "warning",
                "{names} name different machines, but all {trials:count} trials ran on the same one. What differs "
                "between them is not the machine: compare them as settings of one machine, or correct the addresses "
                "in the study.",
                numbers={"trials": sum(map(len, by_configuration.values()))},
                trials=[trial for many in by_configuration.values() for trial in many],
                names=enumeration(names),
            )
        )
    return found


def _too_few(lookup: Lookup) -> list[Draft]:
    """Only where machines differ between configurations: on one and the same machine, settings are compared."""
    rows = [row for row in lookup.headline_statistics if row.machines is not None]
    few = {row.configuration: row for row in rows if row.scope != "types" and (row.machines or 0) < row.n}
    machines = {row.machine for row in lookup.study.trials if row.configuration in few and row.machine is not None}
    if not few or len({row.configuration for row in rows}) < 2 or len(machines) < 2:
        return []
    names = enumeration(sorted(few)) if len(few) <= MAX_NAMED else ""
    return [
        say(
            NAME,
            "warning",
            ("{names} " if names else "{count:count} configurations ")
            + plural(len(few), "was", "were")
            + " measured in several trials on fewer than {least:count} machines each. So the answers "
            "compare these machines and not their types: another machine of the same type may be faster or slower. To "
            "compare types, measure at least {least:count} machines of each"
            + ("." if lookup.study.source is not None else '; on clouds, placement = "per-replicate" does.'),
            numbers={"count": len(few), "least": least_n_each(ALPHA)},
            trials=[trial for row in few.values() for trial in row.trials],
            case="few machines",
            **({"names": names} if names else {}),
        )
    ]
