"""Which trials share a cluster, and whether a study then compares types of machines by one machine each."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from nephoscope.benchmarks.base import VOLUME, Benchmark, Needs
from nephoscope.model.placement import Placement, shared_cluster
from nephoscope.model.records import TrialIntent
from nephoscope.plan.preparation import HasDataSet
from nephoscope.study.machines import needs_unformatted
from nephoscope.study.managed import ProvidedOnce
from nephoscope.study.model import Configuration, Study
from nephoscope.study.provisioning import CLOUDS


def shared_by(placement: Placement, configuration: Configuration, replicate: int, needs: Needs) -> str | None:
    """Name of the cluster that a trial shares; None: it has one of its own."""
    unformatted = needs.raw_device == VOLUME and needs_unformatted(configuration)
    return shared_cluster(placement, configuration.name, replicate, unformatted=unformatted)


def clusters_of(
    placement: Placement, intents: Iterable[TrialIntent], benchmarks: Mapping[str, Benchmark]
) -> dict[str, str | None]:
    """Trial id -> name of the cluster that it shares, in the order of the trials; None: it has one of its own."""
    if placement == "fresh":
        return {intent.id: None for intent in intents}
    configurations = ProvidedOnce()
    needs: dict[str, Needs] = {}
    found = {}
    for intent in intents:
        use = intent.benchmark
        if use.name not in needs:
            benchmark = benchmarks[use.uses]
            needs[use.name] = benchmark.needs(benchmark.parameters.model_validate(use.parameters))
        configuration = configurations.of(intent.configuration)
        found[intent.id] = shared_by(placement, configuration, intent.replicate, needs[use.name])
    return found


def data_sets_of(intents: Iterable[TrialIntent], benchmarks: Mapping[str, object]) -> dict[str, tuple[int, str]]:
    """Trial id -> size in bytes and name of its data set, of trials whose data sets outlive their clusters."""
    known: dict[tuple[str, int], tuple[int, str]] = {}
    found = {}
    for intent in intents:
        use, benchmark = intent.benchmark, benchmarks[intent.benchmark.uses]
        outlives = intent.configuration.get("database", {}).get("fixtures") is not None
        if not outlives or not isinstance(benchmark, HasDataSet):
            continue
        if (use.name, intent.seed) not in known:
            parameters = benchmark.parameters.model_validate(use.parameters)
            name = benchmark.fixture_name(parameters, intent.seed)
            known[use.name, intent.seed] = benchmark.fixture_bytes(parameters), name
        if known[use.name, intent.seed][0]:
            found[intent.id] = known[use.name, intent.seed]
    return found


def carried_by(clusters: Mapping[str, str | None], data_sets: Mapping[str, tuple[int, str]]) -> dict[str, str]:
    """Name of a cluster, or id of a trial that has one of its own -> the largest data set of its trials.

    That is the one of which snapshots are made, where they are made of volumes.
    """
    found: dict[str, tuple[int, str]] = {}
    for trial_id, mine in data_sets.items():
        cluster = clusters[trial_id] or trial_id
        found[cluster] = max(mine, found.get(cluster, (0, "")))
    return {cluster: name for cluster, (_, name) in found.items()}


def one_machine_each(study: Study) -> list[str]:
    """A warning for each kind of provider where several replicates of different machines share one machine each."""
    if study.replicates == 1:
        return []
    found = []
    kept = _different(study.configurations, CLOUDS, _ordered) if study.placement == "per-configuration" else []
    if kept:
        found.append(
            f"{', '.join(kept)}: all replicates of a configuration share one machine (placement = "
            '"per-configuration"), so the report compares these machines and not their types: of equal types whose '
            "machines vary by 2 %, 6 replicates on one machine each call 64 % different; use placement = "
            '"per-replicate" to compare types'
        )
    hosts = _different(study.configurations, frozenset({"ssh"}), _hosts)
    if hosts:
        found.append(
            f"{', '.join(hosts)}: all replicates of a configuration run on the same hosts, so the report compares "
            "these machines and not their types; to learn how much machines of one type differ, add a configuration "
            "for each further host of that type"
        )
    return found


def _different(
    configurations: Sequence[Configuration], providers: frozenset[str], machine: Callable[[Configuration], Hashable]
) -> list[str]:
    """Names of the configurations of these providers, if not all order the same machine."""
    ours = [one for one in configurations if one.provider in providers]
    return [one.name for one in ours] if len({machine(one) for one in ours}) > 1 else []


def _ordered(configuration: Configuration) -> Hashable:
    database = configuration.database_machine
    return configuration.provider, configuration.region, database.type, database.cpu_platform


def _hosts(configuration: Configuration) -> Hashable:
    return frozenset(configuration.database_machine.hosts or ())
