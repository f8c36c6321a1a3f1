"""What ran where: machines that differ or are shared, limits of the provider, versions, and what is not known."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.insights.durability import each_way
from nephoscope.insights.names import in_reading_order
from nephoscope.insights.words import Draft, note, plural, warning
from nephoscope.model.questions import ContrastRow
from nephoscope.model.records import CO_LOCATED, NOT_OBSERVED, Metric
from nephoscope.model.rows import ConfigurationRow, MachineRow, MeasurementRow, TrialRow
from nephoscope.model.words import enumeration, provider_name
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.median import median_interval
from nephoscope.stats.plateau import Cap, caps
from nephoscope.stats.rank_sum import least_n_each


def machines(lookup: Lookup) -> Iterator[Draft]:
    """A warning if machines differ from the first one of their configuration."""
    odd = [row for row in lookup[MachineRow] if row.differs_in]
    trials = {trial for row in odd for trial in row.trials}
    if odd:
        yield warning(
            "{count:counted:trial} of {names} ran on machines that differ from those of the other replicates in "
            "{facts}, and so {count:goes:counts|count} as other configurations.",
            numbers={"count": len(trials)},
            trials=trials,
            facts=enumeration(_in_words({fact for row in odd for fact in row.differs_in})),
            names=in_reading_order(lookup, {row.configuration for row in odd}),
        )


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


def exchanged(lookup: Lookup) -> Iterator[Draft]:
    """One note for each configuration that got such machines; of a cluster, one that differs is enough."""
    for name, rows in sorted(grouped(lookup[TrialRow], lambda row: row.configuration).items()):
        odd = [row for row in rows if row.other_kinds]
        left = sum(not row.counts for row in odd)
        rest = (
            "{left:counted:trial} of them did not run again on a machine of the usual kind, and {left:goes:is|are} "
            "excluded."
        )
        if odd:
            yield note(
                "{count:count} of {attempts:counted:attempt} of {name} got a machine that differs from most of this "
                f"configuration in {{facts}}. {rest if left else 'Their trials ran again on new machines.'}",
                numbers={
                    "count": sum(len(row.other_kinds) for row in odd),
                    "attempts": sum(row.attempts for row in rows),
                    "left": left,
                },
                trials=[row.trial for row in odd],
                name=name,
                facts=enumeration(_in_words({fact for row in odd for fact in row.differs_in})),
            )


MAX_NAMED = 8
"""With more configurations than this, the warning counts them instead of naming them."""
HERE = frozenset({"local", "emulated"})
"""Providers whose configurations share this machine on purpose."""


def shared_machines(lookup: Lookup) -> Iterator[Draft]:
    """One warning for each machine with several names, and one if different machines are compared by too few each."""
    yield from _two_names(lookup)
    yield from _too_few(lookup)


def _two_names(lookup: Lookup) -> Iterator[Draft]:
    provider = {row.configuration: row.provider for row in lookup[ConfigurationRow]}
    named: dict[str, frozenset[str]] = {}
    for seen in lookup[MachineRow]:
        named[seen.configuration] = named.get(seen.configuration, frozenset()) | {seen.machine}
    used = grouped((row for row in lookup[TrialRow] if row.machine is not None), lambda row: str(row.machine))
    for _, rows in sorted(used.items()):
        names = sorted({row.configuration for row in rows})
        on_purpose = {provider.get(name) for name in names} <= HERE
        if on_purpose or len({named.get(name) for name in names}) == 1:
            continue
        yield warning(
            "{names} name different machines, but all {trials:count} trials ran on the same one. What differs between "
            "them is not the machine: compare them as settings of one machine, or correct the addresses in the study.",
            numbers={"trials": len(rows)},
            trials=[row.trial for row in rows],
            names=enumeration(names),
        )


def _too_few(lookup: Lookup) -> Iterator[Draft]:
    """Only where types are compared: neither settings of one and the same machine, nor hosts that should be equal."""
    rows = [row for row in lookup.headline_statistics if row.machines is not None]
    too_few = [row for row in rows if row.scope != "types" and (row.machines or 0) < row.n]
    few = {row.configuration for row in too_few}
    machines = {row.machine for row in lookup[TrialRow] if row.configuration in few and row.machine is not None}
    if lookup.study.equal_hosts or not few or len({row.configuration for row in rows}) < 2 or len(machines) < 2:
        return
    where = "" if lookup.study.source is not None else '; on clouds, placement = "per-replicate" does'
    yield warning(
        "{names} ran on fewer than {least:count} machines each, so the answers compare these machines and not their "
        "types: another machine of the same type may be faster or slower. To compare types, measure at least "
        f"{{least:count}} machines of each{where}.",
        numbers={"least": least_n_each(ALPHA)},
        trials=[trial for row in too_few for trial in row.trials],
        names=in_reading_order(lookup, few),
    )


def unobserved(lookup: Lookup) -> Iterator[Draft]:
    """A warning that says what is not known of these databases."""
    rows = [row for row in lookup[TrialRow] if row.counts and NOT_OBSERVED in row.conditions]
    if rows:
        yield warning(
            "{names}: the machine of the database was not observed in {trials:counted:trial}. Its CPU, memory, disk "
            "and load, and what else ran there, are not known. Facts and telemetry are those of the load machine.",
            numbers={"trials": len(rows)},
            trials=[row.trial for row in rows],
            names=in_reading_order(lookup, {row.configuration for row in rows}),
        )


def colocated(lookup: Lookup) -> Iterator[Draft]:
    """A warning if clients ran on the database machine, with the largest median share that they took of it."""
    shares: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in lookup[TrialRow]:
        stated = CO_LOCATED in row.conditions
        if row.counts and stated and row.client_cpu_share is not None:
            shares[row.benchmark, row.configuration][row.trial] = 100 * row.client_cpu_share
    if shares:
        yield warning(
            "Client and database shared a machine in {benchmarks}, and the client took up to {most:percent} of its CPU "
            "time, which the database could not use. Compare these numbers with each other, not with numbers from "
            "elsewhere.",
            numbers={"most": max(median_interval(list(of.values())).median for of in shares.values())},
            trials=[trial for of in shares.values() for trial in of],
            benchmarks=sorted({benchmark for benchmark, _ in shares}),
        )


def encryption(lookup: Lookup) -> Iterator[Draft]:
    """One warning: TLS costs client and server CPU time, and so may make the difference."""
    ways = sorted(set(lookup.encryption.values()))
    if len(ways) > 1:
        yield warning(
            "The sessions with the database were encrypted in {count:count} ways: {ways}. A difference between these "
            "configurations may come from the encryption rather than the machine.",
            numbers={"count": len(ways)},
            trials=[row.trial for row in lookup[TrialRow] if row.counts and row.configuration in lookup.encryption],
            ways=each_way(lookup.encryption, {way: way for way in ways}, MAX_NAMED),
        )


_BOGO_OPS = "bogo-ops/s"
_ARCHITECTURE = "architecture"
"""The question that compares Arm with x86."""


def versions(lookup: Lookup) -> Iterator[Draft]:
    """One warning per tool with several versions or builds: trials may differ because these do."""
    several = {tool: used for tool, used in lookup.study.tool_versions.items() if len(used) > 1}
    if several:
        yield warning(
            "{count:counted:tool} ran in several versions: {tools}. A difference may come from a version rather than "
            "from a machine.",
            numbers={"count": len(several)},
            trials=[row.trial for row in lookup[TrialRow] if row.attempt is not None],
            tools=[f"{tool} ({enumeration(used)})" for tool, used in several.items()],
        )
    yield from _builds(lookup)


def _builds(lookup: Lookup) -> Iterator[Draft]:
    """Bogo operations of Arm and x86 come from two builds, whatever the version."""
    rows = [
        row
        for row in lookup[ContrastRow]
        if row.question == _ARCHITECTURE
        and any(name == row.benchmark and metric.unit == _BOGO_OPS for (name, _), metric in lookup.metrics.items())
    ]
    if rows:
        benchmarks = sorted({row.benchmark for row in rows})
        yield warning(
            f"{{benchmarks}} {plural(len(benchmarks), 'compares', 'compare')} bogo operations of stress-ng on {{left}} "
            "and {right}: these are two builds of the program, and a difference may come from the build rather than "
            "the CPU.",
            numbers={},
            trials=[trial for row in rows for trial in row.trials],
            left=rows[0].left,
            right=rows[0].right,
            benchmarks=benchmarks,
        )


_LIMITED = {"B/s", "bit/s", "IO/s"}
"""Units of the rates that providers limit."""


def provider_caps(lookup: Lookup) -> Iterator[Draft]:
    """One note for each headline rate of a provider that is the same on three or more machine types."""
    for benchmark, metric in lookup.headlines():
        if metric.unit in _LIMITED:
            for provider, by_type in sorted(_by_type(lookup, benchmark, metric).items()):
                yield from (_told(lookup, benchmark, metric, provider, cap) for cap in caps(by_type))


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
    return note(
        "{metric}: {n:count} machine types of {provider} ({types}) all reach about {level:quantity:"
        + metric.unit
        + "}, with a spread of at most {spread:percent} within a type. This looks like a limit set by the provider, "
        "not by the machines.",
        numbers={"n": len(cap.types), "level": cap.level, "spread": 100 * cap.largest_spread},
        trials=[row.trial for row in lookup.trials_of(benchmark) if row.counts and row.configuration in names],
        benchmark=benchmark,
        metric=f"{lookup.title(benchmark, metric.name)} in {benchmark}",
        provider=provider_name(provider),
        types=", ".join(cap.types),
    )
