"""What ran where: machines that differ or are shared, limits of the provider, versions, and what is not known."""

from collections import defaultdict
from collections.abc import Collection

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import in_reading_order, listed
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.numbers import Number
from nephoscope.model.questions import ContrastRow
from nephoscope.model.records import CO_LOCATED, NOT_OBSERVED, Metric
from nephoscope.model.rows import ConfigurationRow, MachineRow, MeasurementRow, TrialRow
from nephoscope.model.words import enumeration, named_or_counted, provider_name
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.median import median_interval
from nephoscope.stats.plateau import Cap, caps
from nephoscope.stats.rank_sum import least_n_each


def machines(lookup: Lookup) -> list[Draft]:
    """A warning if machines differ from the first one of their configuration."""
    odd = [row for row in lookup[MachineRow] if row.differs_in]
    if not odd:
        return []
    trials = {trial for row in odd for trial in row.trials}
    numbers: dict[str, Number] = {"count": len(trials)}
    words = {"facts": enumeration(_in_words({fact for row in odd for fact in row.differs_in}))}
    names = listed("names", in_reading_order(lookup, {row.configuration for row in odd}), numbers, words)
    return [
        say(
            "machines",
            "warning",
            f"{{count:count}} {plural(len(trials), 'trial')} of {names} ran on machines that differ from those of the "
            f"other replicates in {{facts}}, and so {plural(len(trials), 'counts', 'count')} as other configurations.",
            numbers=numbers,
            trials=list(trials),
            **words,
        )
    ]


def _in_words(facts: Collection[str]) -> list[str]:
    return [_WORDS.get(fact, fact.replace("_", " ")) for fact in sorted(facts)]


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
    for row in lookup[TrialRow]:
        by_configuration[row.configuration].append(row)
    return [
        _said(name, rows) for name, rows in sorted(by_configuration.items()) if any(row.other_kinds for row in rows)
    ]


def _said(name: str, rows: list[TrialRow]) -> Draft:
    """Each attempt has machines of its own; of a cluster, one that differs is enough."""
    odd = [row for row in rows if row.other_kinds]
    count = sum(len(row.other_kinds) for row in odd)
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
        facts=enumeration(_in_words({fact for row in odd for fact in row.differs_in})),
    )


MAX_NAMED = 8
"""With more configurations than this, the warning counts them instead of naming them."""
HERE = frozenset({"local", "emulated"})
"""Providers whose configurations share this machine on purpose."""


def shared_machines(lookup: Lookup) -> list[Draft]:
    """One warning for each machine with several names, and one if different machines are compared by too few each."""
    return [*_two_names(lookup), *_too_few(lookup)]


def _two_names(lookup: Lookup) -> list[Draft]:
    provider = {row.configuration: row.provider for row in lookup[ConfigurationRow]}
    named: dict[str, frozenset[str]] = {}
    for seen in lookup[MachineRow]:
        named[seen.configuration] = named.get(seen.configuration, frozenset()) | {seen.machine}
    users: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup[TrialRow]:
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
    """Only where types are compared: neither settings of one and the same machine, nor hosts that should be equal."""
    rows = [row for row in lookup.headline_statistics if row.machines is not None]
    few = {row.configuration: row for row in rows if row.scope != "types" and (row.machines or 0) < row.n}
    machines = {row.machine for row in lookup[TrialRow] if row.configuration in few and row.machine is not None}
    if lookup.study.equal_hosts or not few or len({row.configuration for row in rows}) < 2 or len(machines) < 2:
        return []
    numbers: dict[str, Number] = {"least": least_n_each(ALPHA)}
    words: dict[str, str] = {}
    names = listed("names", in_reading_order(lookup, few), numbers, words)
    where = "" if lookup.study.source is not None else '; on clouds, placement = "per-replicate" does'
    return [
        say(
            "shared_machines",
            "warning",
            f"{names} ran on fewer than {{least:count}} machines each, so the answers compare these machines and not "
            "their types: another machine of the same type may be faster or slower. To compare types, measure at least "
            f"{{least:count}} machines of each{where}.",
            numbers=numbers,
            trials=[trial for row in few.values() for trial in row.trials],
            **words,
        )
    ]


def unobserved(lookup: Lookup) -> list[Draft]:
    """A warning that says what is not known of these databases."""
    rows = [row for row in lookup[TrialRow] if row.counts and NOT_OBSERVED in row.conditions]
    if not rows:
        return []
    numbers: dict[str, Number] = {"trials": len(rows)}
    words: dict[str, str] = {}
    names = listed("names", in_reading_order(lookup, {row.configuration for row in rows}), numbers, words)
    return [
        say(
            "unobserved",
            "warning",
            f"{names}: the machine of the database was not observed in {{trials:count}} {plural(len(rows), 'trial')}. "
            "Its CPU, memory, disk and load, and what else ran there, are not known. Facts and telemetry are those of "
            "the load machine.",
            numbers=numbers,
            trials=[row.trial for row in rows],
            **words,
        )
    ]


def colocated(lookup: Lookup) -> list[Draft]:
    """A warning if clients ran on the database machine, with the largest median share that they took of it."""
    shares: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in lookup[TrialRow]:
        stated = CO_LOCATED in row.conditions
        if row.counts and stated and row.client_cpu_share is not None:
            shares[row.benchmark, row.configuration][row.trial] = 100 * row.client_cpu_share
    if not shares:
        return []
    numbers: dict[str, Number] = {"most": max(median_interval(list(of.values())).median for of in shares.values())}
    words: dict[str, str] = {}
    benchmarks = listed("benchmarks", sorted({benchmark for benchmark, _ in shares}), numbers, words)
    return [
        say(
            "colocated",
            "warning",
            f"Client and database shared a machine in {benchmarks}, and the client took up to {{most:percent}} of its "
            "CPU time, which the database could not use. Compare these numbers with each other, not with numbers from "
            "elsewhere.",
            numbers=numbers,
            trials=[trial for of in shares.values() for trial in of],
            **words,
        )
    ]


def encryption(lookup: Lookup) -> list[Draft]:
    """One warning: TLS costs client and server CPU time, and so may make the difference."""
    ways = sorted(set(lookup.encryption.values()))
    if len(ways) < 2:
        return []
    trials = [row.trial for row in lookup[TrialRow] if row.counts and row.configuration in lookup.encryption]
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
    rows = [
        row
        for row in lookup[ContrastRow]
        if row.question == _ARCHITECTURE
        and any(name == row.benchmark and metric.unit == _BOGO_OPS for (name, _), metric in lookup.metrics.items())
    ]
    if not rows:
        return []
    numbers: dict[str, Number] = {}
    words = {"left": rows[0].left, "right": rows[0].right}
    benchmarks = sorted({row.benchmark for row in rows})
    return [
        say(
            "versions",
            "warning",
            f"{listed('benchmarks', benchmarks, numbers, words)} {plural(len(benchmarks), 'compares', 'compare')} bogo "
            "operations of stress-ng on {left} and {right}: these are two builds of the program, and a difference may "
            "come from the build rather than the CPU.",
            numbers=numbers,
            trials=[trial for row in rows for trial in row.trials],
            **words,
        )
    ]


def _versions(lookup: Lookup) -> list[Draft]:
    several = {tool: used for tool, used in lookup.study.tool_versions.items() if len(used) > 1}
    if not several:
        return []
    numbers: dict[str, Number] = {"count": len(several)}
    words: dict[str, str] = {}
    tools = listed("tools", [f"{tool} ({enumeration(used)})" for tool, used in several.items()], numbers, words)
    return [
        say(
            "versions",
            "warning",
            f"{{count:count}} {plural(len(several), 'tool')} ran in several versions: {tools}. A difference "
            "may come from a version rather than from a machine.",
            numbers=numbers,
            trials=[row.trial for row in lookup[TrialRow] if row.attempt is not None],
            **words,
        )
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
    types = {row.configuration: (row.provider, row.machine_type) for row in lookup[ConfigurationRow]}
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup[MeasurementRow]:
        if (row.benchmark, row.metric, row.at_s, row.valid) == (benchmark, metric.name, None, True):
            provider, machine_type = types.get(row.configuration, (None, None))
            if provider and machine_type:
                found[provider][machine_type].append(row.value)
    return found


def _told(lookup: Lookup, benchmark: str, metric: Metric, provider: str, cap: Cap) -> Draft:
    names = {
        row.configuration
        for row in lookup[ConfigurationRow]
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
            for row in lookup[TrialRow]
            if row.counts and row.benchmark == benchmark and row.configuration in names
        ),
        benchmark=benchmark,
        metric=f"{lookup.title(benchmark, metric.name)} in {benchmark}",
        provider=provider_name(provider),
        types=", ".join(cap.types),
    )
