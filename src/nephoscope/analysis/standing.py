"""Where a study's machines stand among public CPU results. Only the same stressor, method and version are compared."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from nephoscope.analysis.renamed import names_of_trials, trials
from nephoscope.analysis.statistics import statistics
from nephoscope.analysis.table import Workings
from nephoscope.model.rows import BenchmarkRow, Statistic, TrialRow
from nephoscope.model.standing import MemoryStanding, PublicMemory, PublicResult, Standing, StandingRow
from nephoscope.model.words import counted, enumeration
from nephoscope.prices.catalogue.index import LICENCE, METHOD, SOURCE, STRESSOR, public_memory, public_results

NEAREST = 3
_USES, _METRIC = "stress-ng", "bogo_ops_per_s"
_MEMORY_METRIC = "read-multi.bandwidth"
_VERSION = re.compile(r"(?<!\d)\d++\.\d++\.\d++")
_ASK = f'`uses = "{_USES}"` with `parameters = {{ stressor = "{STRESSOR}", method = "{METHOD}" }}`'
Versions = Mapping[str, Mapping[str, str]]


def standing_of(
    benchmarks: Sequence[BenchmarkRow],
    trials: Sequence[TrialRow],
    statistics: Sequence[Statistic],
    versions: Versions,
    read_public: Callable[[], Sequence[PublicResult]],
    online: Mapping[str, int | None] = MappingProxyType({}),
) -> Standing:
    """The study's machines among public results.

    Args:
        benchmarks: of the study; only stress-ng is comparable.
        trials: to find the version of each.
        statistics: medians by configuration, with their CPUs.
        versions: trial id -> tool -> what its version command printed.
        read_public: gives the results of others, of any version; called only where they can be compared.
        online: CPUs of each configuration's machine, whether or not they were measured; None or missing: not known.
    """
    asked = [row for row in benchmarks if row.uses == _USES and _is_comparable(row)]
    if not asked:
        return Standing(source=SOURCE, licence=LICENCE, why_not=_other_benchmarks(benchmarks))
    medians = {
        (one.configuration, one.benchmark): one
        for one in statistics
        if one.metric == _METRIC and not one.per_cpu and one.benchmark in {row.benchmark for row in asked}
    }
    if not medians:
        why = f"no trial of {', '.join(sorted(row.benchmark for row in asked))} is valid"
        return Standing(source=SOURCE, licence=LICENCE, why_not=why, is_asked=True)
    ran, public = _versions_of(trials, versions), read_public()
    offered = Counter(one.version for one in public)
    usable = Counter(version for key in medians for version in [ran.get(key)] if version in offered)
    if not usable:
        why = _other_version({ran[key] for key in medians if ran.get(key)}, offered)
        return Standing(source=SOURCE, licence=LICENCE, why_not=why, then=_to_do(offered), is_asked=True)
    version = max(usable, key=lambda one: (usable[one], one))
    among = [one for one in public if one.version == version]
    left_out = sorted(name for name, benchmark in medians if ran.get((name, benchmark)) != version)
    same = [one for key, one in medians.items() if ran.get(key) == version and one.cpus]
    parts = sorted(one.configuration for one in same if 1 < (one.cpus or 0) < (online.get(one.configuration) or 0))
    rows = [
        _placed(one, among, alone=one.cpus == 1 < (online.get(one.configuration) or 0))
        for one in same
        if one.configuration not in parts
    ]
    why_not = [
        f"{why}: {', '.join(names)}"
        for why, names in (
            (f"not measured with stress-ng {version}", left_out),
            ("measured on a part of their CPUs, neither one nor all", parts),
        )
        if names
    ]
    return Standing(
        rows=sorted(rows, key=lambda row: (row.alone, -row.per_vcpu_per_s, row.configuration)),
        among=among,
        version=version,
        source=SOURCE,
        licence=LICENCE,
        why_not=f"not placed, because {'; '.join(why_not)}" if why_not else "",
        is_asked=True,
    )


def memory_standing(
    statistics: Sequence[Statistic], online: Mapping[str, int | None], public: Sequence[PublicMemory]
) -> list[MemoryStanding]:
    """Whole machines among public results by what their CPUs together read from memory, the fastest CPU first.

    The two programs are not one: both read working sets larger than the caches by all CPUs, where memory is the limit.
    """
    whole = [
        one
        for one in statistics
        if one.metric == _MEMORY_METRIC and not one.per_cpu and one.cpus and one.cpus == online.get(one.configuration)
    ]
    return [
        MemoryStanding(
            configuration=one.configuration,
            cpus=one.cpus,
            read_bytes_per_s=one.median,
            slower_per_vcpu=sum(other.per_vcpu_per_s < one.median / one.cpus for other in public),
            nearest=[
                other.type
                for other in sorted(
                    public, key=lambda other: (abs(other.read_bytes_per_s / one.median - 1), other.type)
                )
            ][:NEAREST],
        )
        for one in sorted(whole, key=lambda one: (-one.median / (one.cpus or 1), one.configuration))
        if one.cpus
    ]


def _is_comparable(row: BenchmarkRow) -> bool:
    given = row.parameters
    every_cpu = given.get("workers", "cpus") == "cpus"
    return (given.get("stressor"), given.get("method")) == (STRESSOR, METHOD) and every_cpu


def _versions_of(trials: Sequence[TrialRow], versions: Versions) -> dict[tuple[str, str], str | None]:
    """(configuration, benchmark) -> the version that all its valid trials ran; None: several, or not known."""
    found: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for trial in trials:
        if trial.uses == _USES and trial.verdict is not None:
            said = _VERSION.search(versions.get(trial.trial, {}).get(_USES, ""))
            found[trial.configuration, trial.benchmark].add(said[0] if said else None)
    return {key: next(iter(several)) if len(several) == 1 else None for key, several in found.items()}


def _placed(one: Statistic, among: Sequence[PublicResult], *, alone: bool) -> StandingRow:
    """A whole machine among whole machines, or one CPU that worked `alone` among those that did."""
    cpus = one.cpus or 1

    def distance(other: PublicResult) -> float:
        return abs((other.one_worker_per_s if alone else other.per_s) / one.median - 1)

    near = sorted(among, key=lambda other: (distance(other), other.provider, other.type))
    return StandingRow(
        configuration=one.configuration,
        benchmark=one.benchmark,
        cpus=cpus,
        per_s=one.median,
        slower_per_vcpu=sum(other.cpu_per_s(alone=alone) < one.median / cpus for other in among),
        alone=alone,
        nearest=[other.type for other in near[:NEAREST]],
    )


def _other_benchmarks(benchmarks: Sequence[BenchmarkRow]) -> str:
    ran = sorted({row.benchmark for row in benchmarks if row.uses == _USES})
    what = f"{', '.join(ran)} ran another stressor or method" if ran else "the study has no benchmark stress-ng"
    return f"{what}; the public results are of the stressor {STRESSOR} with the method {METHOD}: {_ASK}"


def _other_version(ran: set[str | None], offered: Mapping[str, int]) -> str:
    there, here = (enumeration(sorted(version for version in some if version)) for some in (offered, ran))
    if not ran:
        return f"it is not known which version of stress-ng this study ran, and the public results are of {there}"
    return f"the public results are of other versions of stress-ng ({there}; this study ran {here})"


def _to_do(offered: Mapping[str, int]) -> str:
    most = max(offered, key=lambda version: (offered[version], version))
    return (
        f"{counted(offered[most], 'type')} ran stress-ng {most}: build it as docs/how-to/place-a-machine.md shows, put "
        "it first on PATH and run the study again."
    )


def standing(of: Workings) -> Standing:
    """The study's machines among the public results that ship."""
    inputs = of.inputs
    versions, cpus_online = inputs.versions_of_trials, of(_online)
    found = standing_of(inputs.benchmarks, of(trials), of(statistics), versions, public_results, cpus_online)
    memory = memory_standing(of(statistics), cpus_online, public_memory())
    return found.model_copy(update={"memory": memory, "memory_among": list(public_memory()) if memory else []})


def _online(of: Workings) -> dict[str, int | None]:
    """CPUs of the machine under test of each configuration as analysed; None: not known, or not always as many."""
    by_trial, counts = of(names_of_trials), defaultdict(set)
    for seen in of.inputs.machines:
        if seen.role == "database":
            counts[by_trial.get(seen.trial, seen.configuration)].add(seen.facts.cpus_online)
    return {name: next(iter(several)) if len(several) == 1 else None for name, several in counts.items()}
