"""What ran where: machines that differ or are shared, limits of the provider, versions, and what is not known."""

from collections import defaultdict
from collections.abc import Mapping

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, percent_range, plural, say
from nephoscope.model.records import CO_LOCATED, NOT_OBSERVED, Metric
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import enumeration, named_or_counted, provider_name
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.median import median_interval
from nephoscope.stats.plateau import Cap, caps
from nephoscope.stats.rank_sum import least_n_each


def machines(lookup: Lookup) -> list[Draft]:
    """One warning per machine that differs from the first one of its configuration."""
    return [
        say(
            "machines",
            "warning",
            "{count:count} "
            + plural(len(row.trials), "trial")
            + " of {name} ran on a machine ({machine}) that differs from the machine of the other replicates in "
            "{facts}. Trials on different machines are treated as different configurations.",
            numbers={"count": len(row.trials)},
            trials=row.trials,
            name=row.configuration,
            machine=row.machine,
            facts=enumeration([_WORDS.get(fact, fact.replace("_", " ")) for fact in row.differs_in]),
        )
        for row in lookup.study.machines
        if row.differs_in
    ]


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
        "exchanged",
        "note",
        f"{{count:count}} of {{attempts:count}} {plural(sum(row.attempts for row in rows), 'attempt')} of {{name}} "
        f"got a machine that differs from most of this configuration in {{facts}}. {rest}",
        numbers={"count": count, "attempts": sum(row.attempts for row in rows), "left": left},
        trials=[row.trial for row in odd],
        name=name,
        facts=enumeration(facts),
    )


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
                "shared_machines",
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
            "shared_machines",
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


def unobserved(lookup: Lookup) -> list[Draft]:
    """One note that says what is not known of these databases."""
    rows = [row for row in lookup.study.trials if row.counts and NOT_OBSERVED in row.conditions]
    if not rows:
        return []
    names = sorted({row.configuration for row in rows})
    few = len(names) <= MAX_NAMED
    return [
        say(
            "unobserved",
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


def colocated(lookup: Lookup) -> list[Draft]:
    """One note per benchmark and configuration whose client ran on the database machine."""
    shares: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in lookup.study.trials:
        stated = CO_LOCATED in row.conditions
        if row.counts and stated and row.client_cpu_share is not None:
            shares[row.benchmark, row.configuration][row.trial] = 100 * row.client_cpu_share
    return [_note(*key, of) for key, of in sorted(shares.items())]


def _note(benchmark: str, configuration: str, of: Mapping[str, float]) -> Draft:
    numbers = {
        "median": median_interval(list(of.values())).median,
        "smallest": min(of.values()),
        "largest": max(of.values()),
        "n": len(of),
    }
    return say(
        "colocated",
        "note",
        "{benchmark_name} on {name}: client and database shared a machine. The client took a median of "
        "{median:percent} of its CPU time ("
        + percent_range("smallest", "largest", numbers)
        + ", n = {n:count}), which the database could not use.",
        numbers=numbers,
        trials=list(of),
        benchmark=benchmark,
        name=configuration,
    )


def encryption(lookup: Lookup) -> list[Draft]:
    """One warning: TLS costs client and server CPU time, and so may make the difference."""
    ways = sorted(set(lookup.encryption.values()))
    if len(ways) < 2:
        return []
    trials = [row.trial for row in lookup.study.trials if row.counts and row.configuration in lookup.encryption]
    return [
        say(
            "encryption",
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


_BOGO_OPS = "bogo-ops/s"
_ARCHITECTURE = "architecture"
"""The question that compares Arm with x86."""


def versions(lookup: Lookup) -> list[Draft]:
    """One warning per tool with several versions or builds: trials may differ because these do."""
    return [*_versions(lookup), *_builds(lookup)]


def _builds(lookup: Lookup) -> list[Draft]:
    """Bogo operations of Arm and x86 come from two builds, whatever the version."""
    asked = {row.benchmark: row for row in lookup.study.contrasts if row.question == _ARCHITECTURE}
    return [
        say(
            "versions",
            "warning",
            "{benchmark_name} compares bogo operations of stress-ng on {left} and {right}: these are two builds of the "
            "program, and a difference may come from the build rather than the CPU.",
            numbers={},
            trials=row.trials,
            benchmark=benchmark,
            left=row.left,
            right=row.right,
        )
        for benchmark, row in sorted(asked.items())
        if any(name == benchmark and metric.unit == _BOGO_OPS for (name, _), metric in lookup.metrics.items())
    ]


def _versions(lookup: Lookup) -> list[Draft]:
    ran = [row.trial for row in lookup.study.trials if row.attempt is not None]
    return [
        say(
            "versions",
            "warning",
            "Trials ran with {count:count} versions of {tool} ({versions}): a difference between trials may come from "
            "the version rather than the machine.",
            numbers={"count": len(used)},
            trials=ran,
            tool=tool,
            versions=enumeration(used),
        )
        for tool, used in lookup.study.tool_versions.items()
        if len(used) > 1
    ]


_LIMITED = {"B/s", "bit/s", "IO/s"}
"""Units of the rates that providers limit."""


def provider_caps(lookup: Lookup) -> list[Draft]:
    """One note for each headline rate of a provider that is the same on three or more machine types."""
    return [
        _told(lookup, benchmark, metric, provider, cap)
        for benchmark, metric in lookup.headlines()
        if metric.unit in _LIMITED
        for provider, by_type in sorted(_by_type(lookup, benchmark, metric).items())
        for cap in caps(by_type)
    ]


def _by_type(lookup: Lookup, benchmark: str, metric: Metric) -> dict[str, dict[str, list[float]]]:
    """Provider -> machine type -> values of its valid trials."""
    types = {row.configuration: (row.provider, row.machine_type) for row in lookup.study.configurations}
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup.study.measurements:
        if (row.benchmark, row.metric, row.at_s, row.valid) == (benchmark, metric.name, None, True):
            provider, machine_type = types.get(row.configuration, (None, None))
            if provider and machine_type:
                found[provider][machine_type].append(row.value)
    return found


def _told(lookup: Lookup, benchmark: str, metric: Metric, provider: str, cap: Cap) -> Draft:
    names = {
        row.configuration
        for row in lookup.study.configurations
        if row.provider == provider and row.machine_type in cap.types
    }
    return say(
        "caps",
        "note",
        "{metric}: {n:count} machine types of {provider} ({types}) all reach about {level:quantity:"
        + metric.unit
        + "}, with a spread of at most {spread:percent} within a type. This looks like a limit set by the provider, "
        "not by the machines.",
        numbers={"n": len(cap.types), "level": cap.level, "spread": 100 * cap.largest_spread},
        trials=sorted(
            row.trial
            for row in lookup.study.trials
            if row.counts and row.benchmark == benchmark and row.configuration in names
        ),
        benchmark=benchmark,
        metric=f"{lookup.title(benchmark, metric.name)} in {benchmark}",
        provider=provider_name(provider),
        types=", ".join(cap.types),
    )
