"""Study -> Plan: every configuration x benchmark x replicate, in randomised blocks, with hours and dollars."""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from nephoscope.benchmarks.base import VOLUME, Benchmark, Needs
from nephoscope.benchmarks.database.tpcc import PUBLISHED_WAREHOUSE, WAREHOUSE_BYTES
from nephoscope.benchmarks.database.tpcc_editions import EDITIONS
from nephoscope.benchmarks.presets import scale_words
from nephoscope.model.errors import InputError
from nephoscope.model.quantities import MOST_S
from nephoscope.model.records import (
    BenchmarkUse,
    Disturbance,
    Omission,
    Plan,
    PlannedTrial,
    PlanWarning,
    TrialIntent,
    WarningKind,
)
from nephoscope.model.sentence import Sentence
from nephoscope.model.subjects import Subject
from nephoscope.model.units import MIB, SECONDS_PER_HOUR
from nephoscope.model.words import listed
from nephoscope.plan.placement import one_machine_each, shared_by
from nephoscope.plan.preparation import Before, HasDataSet, fill_s
from nephoscope.prices.quote import Quote, quote
from nephoscope.study.machines import first_machine
from nephoscope.study.managed import disturbance_of, is_managed, study_as_provided
from nephoscope.study.model import SNAPSHOTS, BenchmarkEntry, Configuration, Study

Cell = tuple[str, str]
"""Name of a configuration, label of a benchmark."""


def shuffled(cells: Sequence[Cell], *, seed: int, block: int) -> list[Cell]:
    """The cells of one block (counted from 1) in their random order; cells must be unique."""
    return sorted(cells, key=lambda cell: _key(seed, block, cell))


def in_runs(cells: Sequence[Cell], shared: Mapping[Cell, str | None]) -> list[Cell]:
    """The same order, but each cell that shares a cluster directly follows the others on it."""
    first: dict[str, int] = {}
    for place, cell in enumerate(cells):
        first.setdefault(shared[cell] or str(cell), place)
    return sorted(cells, key=lambda cell: first[shared[cell] or str(cell)])


def _key(seed: int, block: int, cell: Cell) -> bytes:
    return hashlib.sha256(json.dumps(["nephoscope/order/1", seed, block, *cell]).encode()).digest()


MIN_REPLICATES_FOR_95_PERCENT = 6
"""The median of n values lies in [min, max] with probability 1 - 2 / 2^n: 93.75 % for 5, 96.88 % for 6."""


def warnings_for(study: Study) -> list[str]:
    """Warnings about a study."""
    return [
        *_few_replicates(study),
        *_fewer_than_the_edition(study),
        *_equal_configurations(study),
    ]


def coverage_of_range(n: int) -> float:
    """Probability that the population's median lies between the smallest and the largest of n values."""
    return 1 - 2 * 0.5**n


def _few_replicates(study: Study) -> list[str]:
    n = study.replicates
    if n >= MIN_REPLICATES_FOR_95_PERCENT:
        return []
    missing = MIN_REPLICATES_FOR_95_PERCENT - n
    if n == 1:
        what = "1 replicate gives no interval at all"
    else:
        what = f"{n} replicates give intervals of the median with {100 * coverage_of_range(n):.4g} % coverage, not 95 %"
    return [f"{what}; {MIN_REPLICATES_FOR_95_PERCENT} are needed: add {missing}"]


def _fewer_than_the_edition(study: Study) -> list[str]:
    """For TPC-C only: microbenchmarks repeat inside a trial what their edition repeated."""
    entries = [entry for entry in study.benchmarks if entry.uses == "tpcc"]
    editions = {entry.label: EDITIONS.get(str(entry.parameters.get("edition"))) for entry in entries}
    times = "once" if study.replicates == 1 else f"{study.replicates} times"
    return [
        f"{label}: {edition.name} ran each point {edition.runs} times; this plan runs it {times}"
        for label, edition in editions.items()
        if edition is not None and edition.runs is not None and study.replicates < edition.runs
    ]


def _equal_configurations(study: Study) -> list[str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for configuration in study.configurations:
        groups[configuration.model_dump_json(exclude={"name", "labels", "price_usd_per_hour", "price_basis"})].append(
            configuration.name
        )
    return [
        f"configurations {', '.join(names)} differ only in name or price: an A/A comparison, whose differences are "
        "noise"
        for names in groups.values()
        if len(names) > 1
    ]


def expand(
    study: Study,
    benchmarks: Mapping[str, Benchmark],
    *,
    scale: float | None = None,
    part: Study | None = None,
    simulated: bool = False,
) -> Plan:
    """The plan of a study; pure: equal study and benchmarks, equal bytes.

    One block for each replicate; a block holds every configuration x benchmark once, in an order drawn from the
    study's seed and the block's number. Trials that share the machines of their replicate follow each other, in that
    order. A benchmark skips configurations with fewer machines than it needs and, if it
    names configurations, all others. Durations are in seconds, one trial after the other; prices in US dollars, `None`
    as soon as one configuration has no price.

    Args:
        study: what to plan.
        benchmarks: by the name that a study uses.
        scale: of sizes and run times of every benchmark, applied to the study's values; None: the study's values as
        they are.
        part: the same study with fewer configurations and benchmarks: only their trials are planned, with the ids and
            places that they have in the plan of the whole; None: all of it.
        simulated: a rehearsal, whose trials have ids of their own: they never pass for measured ones.

    Raises:
        InputError: the study uses a benchmark that is not in `benchmarks`, its parameters do not fit, it has no
            scale, no configuration has the machines that it needs, or the part has no trial.
    """
    part = part or study
    entries = {entry.label: _resolve(_with_scale(entry, benchmarks, scale), benchmarks) for entry in study.benchmarks}
    configurations = {configuration.name: configuration for configuration in study_as_provided(study).configurations}
    managed = {one.name for one in study.configurations if is_managed(one)}
    fitting, left_out = _fitting(configurations, entries, managed)
    asked = _cells_of(part)
    chosen = _chosen(fitting, asked)
    quotes = {one.name: quote(one, 1) for one in part.configurations}
    subjects = {one.name: _subject(study, one) for one in study.configurations}
    alone = {name: first_machine(one) for name, one in configurations.items() if name not in managed}
    quotes_alone = {one.name: quote(alone[one.name], 1) for one in part.configurations if one.name in alone}
    before = Before()
    trials: list[PlannedTrial] = []
    for block in range(1, study.replicates + 1):
        order, shared, largest = _order_of_block(study, configurations, entries, fitting, chosen, block)
        needs_one = _cells_of_one_machine(shared, entries)
        for position, (name, label) in enumerate(order, start=1):
            if (name, label) not in chosen:
                continue
            entry, place = entries[label], ((block - 1) * len(fitting) + position, position)
            carried = largest[shared[name, label]] if shared[name, label] else entry.fixture_bytes
            setup = before.of(configurations[name], entry.fixture_bytes, shared[name, label], carried_bytes=carried)
            duration_s = entry.duration_s + setup.total_s
            duration_s += fill_s(configurations[name], entry.filled_share) if entry.filled_share else 0.0
            _require_an_end(f"{label} on {name}", duration_s)
            is_alone = name in alone and (name, label) in needs_one
            per_hour_usd = (quotes_alone if is_alone else quotes)[name].price_usd
            cost_usd = None if per_hour_usd is None else per_hour_usd * (duration_s / SECONDS_PER_HOUR)
            subject = subjects[name].on(alone[name]) if is_alone else subjects[name]
            intent = _intent(study, subject, entry, block, place, simulated=simulated)
            trials.append(PlannedTrial(intent=intent, expected_duration_s=duration_s, price_usd=cost_usd))
    prices_usd = [trial.price_usd for trial in trials if trial.price_usd is not None]
    return Plan(
        study=study.name,
        seed=study.seed,
        trials=trials,
        stop=study.stop,
        simulated=simulated,
        expected_duration_s=math.fsum(trial.expected_duration_s for trial in trials),
        price_usd=math.fsum(prices_usd) if len(prices_usd) == len(trials) else None,
        unpriced=[Omission(name, Sentence(str(found.missing))) for name, found in quotes.items() if found.missing],
        warnings=[
            *_warnings("scale", _scaled(entries.values())),
            *_warnings("hours", notes := before.notes()),
            *_warnings("hours", [_WAREHOUSE] if notes and any(one.has_warehouses for one in entries.values()) else []),
            *_warnings("method", warnings_for(part)),
            *_warnings("placement", one_machine_each(part)),
            *_warnings("prices", _priced_elsewhere(quotes.values())),
            *_warnings("skipped", (sentence for cell, sentence in left_out.items() if cell in asked)),
        ],
    )


def _require_an_end(what: str, duration_s: float) -> None:
    if not duration_s <= MOST_S:
        raise InputError(
            f"{what} would take {duration_s:.0e} s, and no plan takes more than {MOST_S:.0e} s",
            hint="lower its durations, or the size of its data",
        )


def _order_of_block(
    study: Study,
    configurations: Mapping[str, Configuration],
    entries: Mapping[str, "_Resolved"],
    fitting: Sequence[Cell],
    chosen: Collection[Cell],
    block: int,
) -> tuple[Sequence[Cell], Mapping[Cell, str | None], Mapping[str | None, int]]:
    """The cells of a block in their order, the machines that each shares, and the largest data set on these (bytes)."""
    shared = {
        (name, label): shared_by(study.placement, configurations[name], block, entries[label].needs)
        for name, label in fitting
    }
    largest: dict[str | None, int] = {}
    for cell in chosen:
        largest[shared[cell]] = max(largest.get(shared[cell], 0), entries[cell[1]].fixture_bytes)
    order = shuffled(fitting, seed=study.seed, block=block)
    return in_runs(order, shared) if study.placement == "per-replicate" else order, shared, largest


def _cells_of_one_machine(shared: Mapping[Cell, str | None], entries: Mapping[str, "_Resolved"]) -> set[Cell]:
    """Those on whose machines nothing runs that measures more than one: the others of a cluster would be idle."""
    wide = {cluster for (_, label), cluster in shared.items() if cluster is not None and not entries[label].of_one}
    return {cell for cell, cluster in shared.items() if entries[cell[1]].of_one and cluster not in wide}


def _warnings(kind: WarningKind, texts: Iterable[str]) -> Iterator[PlanWarning]:
    return (PlanWarning(kind=kind, text=text) for text in texts)


def fitting_cells(study: Study, benchmarks: Mapping[str, Benchmark]) -> list[Cell]:
    """Every configuration x benchmark that the plan of a study has.

    Raises:
        InputError: as `expand`.
    """
    entries = {entry.label: _resolve(entry, benchmarks) for entry in study.benchmarks}
    configurations = {one.name: one for one in study_as_provided(study).configurations}
    managed = {one.name for one in study.configurations if is_managed(one)}
    cells, _ = _fitting(configurations, entries, managed)
    return cells


def _priced_elsewhere(quotes: Collection[Quote]) -> list[str]:
    """One sentence for all prices that are another region's."""
    of_regions: dict[tuple[str, str], set[str]] = {}
    for one in (one for quote_ in quotes for one in quote_.elsewhere):
        of_regions.setdefault((one.region, one.price_of), set()).add(one.what)
    found = [
        f"{listed(sorted(whats), _MAX_NAMED)} in {region} (price of {other})"
        for (region, other), whats in sorted(of_regions.items())
    ]
    return [f"no price in these regions; the plan uses another region's: {'; '.join(found)}"] if found else []


_MAX_NAMED = 3


def _fitting(
    configurations: Mapping[str, Configuration], entries: Mapping[str, "_Resolved"], managed: Collection[str]
) -> tuple[list[Cell], dict[Cell, str]]:
    """Every configuration x benchmark with enough machines, and a sentence for each of the others.

    Of a `managed` database only the load machine could be measured otherwise than through the database, so that only
    benchmarks of databases fit.
    """
    cells: list[Cell] = []
    left_out: dict[Cell, str] = {}
    for name, configuration in configurations.items():
        load = configuration.load_machine
        there = configuration.database_machine.count + (load.count if load else 0)
        for label, entry in entries.items():
            if entry.run_on and name not in entry.run_on:
                continue
            if name in managed and not entry.of_database:
                left_out[name, label] = (
                    f"{label} does not measure a database, and {name} is a managed database: skipped there"
                )
            elif entry.needs.machines <= there:
                cells.append((name, label))
            else:
                left_out[name, label] = (
                    f"{label} needs {entry.needs.machines} machines, but {name} has {there}: skipped there"
                )
    for label in sorted(entries.keys() - {label for _, label in cells}):
        where = set(entries[label].run_on) or set(configurations)
        if not entries[label].of_database and not where - set(managed):
            raise InputError(
                f"benchmark {label!r} does not measure a database, but every configuration is a managed database",
                hint="remove the benchmark, or add a configuration whose machines nephoscope can reach",
            )
        raise InputError(
            f"benchmark {label!r} needs {entries[label].needs.machines} machines, but no configuration has that many",
            hint="give a configuration a load_machine or a database_machine.count of 2 or more, or remove the "
            "benchmark",
        )
    return cells, left_out


def _cells_of(part: Study) -> set[Cell]:
    """Every configuration x benchmark, as far as the benchmark names no others."""
    named = {benchmark.label: frozenset(benchmark.configurations) for benchmark in part.benchmarks}
    return {
        (one.name, label)
        for one in part.configurations
        for label, names in named.items()
        if one.name in names or not names
    }


def _chosen(fitting: Collection[Cell], asked: set[Cell]) -> set[Cell]:
    """The cells of a part in which there is something to measure.

    Raises:
        InputError: there is none.
    """
    found = asked.intersection(fitting)
    if not found:
        raise InputError(
            "nothing is left to measure: none of the chosen benchmarks runs on the chosen configurations",
            hint="choose more chapters or machine types; `nephoscope plan STUDY --rows` lists every trial",
        )
    return found


_NOT_MEASURED: dict[str, Any] = {
    **dict.fromkeys(("price_usd_per_hour", "price_basis", "priced_as", "rented", "labels"), True),
    "ssh": {"key_file": True, "jump": True, "host_keys": True, "inventory": True},
    **{role: {"local_ssd_gib": True} for role in ("database_machine", "load_machine")},
    "cloud": dict.fromkeys(("identity", "ingress", "reach", "user"), True),
}
"""Keys that do not change what is measured: prices, labels, who owns a machine, how to log in, what it may access, what
only the estimate of hours needs."""


_FILES_ELSEWHERE = ("azure-stores://", SNAPSHOTS)
"""Where a data set is kept changes nothing measured. Addresses of buckets are part of ids, as they always were."""


def _measured(configuration: Configuration) -> str:
    """What a configuration adds to the ids of its trials.

    Keys that are not given are left out, so that a key added by a later version keeps the ids. So are its price and the
    keys to its hosts, which nothing measured depends on.
    """
    plain = configuration.model_dump(mode="json", exclude_none=True, exclude=_NOT_MEASURED)
    if str(plain["database"].get("fixtures")).startswith(_FILES_ELSEWHERE):
        del plain["database"]["fixtures"]
    return _canonical(plain)


def _canonical(plain: object) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _trial_id(configuration: str, benchmark: str, *, replicate: int, seed: int, simulated: bool) -> str:
    """12 hexadecimal digits of the SHA-256 of everything a trial depends on, and of nothing else.

    The hash is over one JSON object with sorted keys. `configuration` and `benchmark` are canonical JSON already, built
    once for all trials that share them. Neither the order nor other trials enter, so adding replicates or
    configurations does not change existing ids.
    """
    whole = f'{{"benchmark":{benchmark},"configuration":{configuration},"replicate":{replicate},"seed":{seed}}}'
    whole = f'{{"rehearsal":{whole}}}' if simulated else whole
    return hashlib.sha256(whole.encode("ascii")).hexdigest()[:12]


@dataclass(frozen=True)
class _Resolved:
    """One benchmark of the study with what its implementation says about it."""

    use: BenchmarkUse
    canonical: str
    """Of `use`, for the ids of its trials."""
    duration_s: float
    needs: Needs
    run_on: frozenset[str]
    """Names of configurations; empty: all with enough machines."""
    of_database: bool
    """It measures a database."""
    fixture_bytes: int
    of_one: bool
    """It measures one machine."""
    """Size of its data set; 0: it has none."""
    has_warehouses: bool
    """Its data set is TPC-C's."""
    filled_share: float
    """Of a raw volume that it fills first; 0: it measures none."""


_WAREHOUSE = f"a warehouse counts as {WAREHOUSE_BYTES / MIB:g} MiB, as measured ({PUBLISHED_WAREHOUSE})"
_SCALE = "scale"
"""The parameter that scales all sizes and times of a benchmark. Like the other parameters, it enters the trial id."""


def _with_scale(entry: BenchmarkEntry, benchmarks: Mapping[str, Benchmark], scale: float | None) -> BenchmarkEntry:
    benchmark = benchmarks.get(entry.uses)
    if scale is None or benchmark is None:
        return entry
    if _SCALE not in benchmark.parameters.model_fields:
        raise InputError(
            f"benchmark {entry.label!r} has no scale: {entry.uses} takes its sizes and times only from the study",
            hint="omit --scale, or write a study that holds only the microbenchmarks",
        )
    return entry.model_copy(update={"parameters": {**entry.parameters, _SCALE: scale}})


def _scaled(entries: Collection[_Resolved]) -> list[str]:
    """One sentence for each scale below 1: such a plan yields none of the edition's numbers."""
    labels: dict[float, list[str]] = {}
    for entry in entries:
        scale = float(entry.use.parameters.get(_SCALE, 1))
        if scale < 1:
            labels.setdefault(scale, []).append(entry.use.name)
    every = len(entries)
    return [
        scale_words(scale) if len(names) == every else f"{', '.join(names)}: {scale_words(scale)}"
        for scale, names in labels.items()
    ]


def _resolve(entry: BenchmarkEntry, benchmarks: Mapping[str, Benchmark]) -> _Resolved:
    """The entry with its parameters filled in (a study built in code may omit some)."""
    benchmark = benchmarks.get(entry.uses)
    if benchmark is None:
        raise InputError(f"no benchmark {entry.uses!r}", hint=f"there are: {', '.join(sorted(benchmarks))}")
    try:
        parameters = benchmark.parameters.model_validate(entry.parameters)
    except ValidationError as error:
        raise InputError(f"parameters of benchmark {entry.label!r} are not valid: {error}") from error
    plain = parameters.model_dump(mode="json", by_alias=True)
    use = BenchmarkUse(name=entry.label, uses=entry.uses, version=benchmark.version_of(plain), parameters=plain)
    needs = benchmark.needs(parameters)
    return _Resolved(
        use=use,
        canonical=_canonical(use.model_dump(mode="json")),
        duration_s=benchmark.expected_duration_s(parameters),
        needs=needs,
        run_on=frozenset(entry.configurations),
        of_database=benchmark.subject_of(parameters) is Subject.DATABASE,
        fixture_bytes=benchmark.fixture_bytes(parameters) if isinstance(benchmark, HasDataSet) else 0,
        of_one=benchmark.extent_of(parameters).machines == 1,
        has_warehouses="warehouses" in plain,
        filled_share=float(plain.get(_SCALE, 1)) if needs.raw_device == VOLUME else 0.0,
    )


@dataclass(frozen=True)
class _Subject:
    """One configuration as its trials hold it."""

    plain: dict[str, Any]
    canonical: str
    """For the ids of its trials."""
    disturbance: Disturbance

    def on(self, machines: Configuration) -> "_Subject":
        """The same with fewer machines; what is measured, and so its id, does not depend on idle ones."""
        return replace(self, plain=machines.model_dump(mode="json"))


def _subject(study: Study, configuration: Configuration) -> _Subject:
    plain = configuration.model_dump(mode="json")
    return _Subject(plain, _measured(configuration), disturbance_of(study, configuration))


def _intent(
    study: Study, subject: _Subject, entry: _Resolved, block: int, place: tuple[int, int], *, simulated: bool
) -> TrialIntent:
    """One trial, at its place in the plan and in its block.

    The replicate is the block. Every trial has the study's seed, so that all of them do the same work on the same data.
    """
    position, position_in_block = place
    return TrialIntent(
        id=_trial_id(subject.canonical, entry.canonical, replicate=block, seed=study.seed, simulated=simulated),
        study=study.name,
        configuration=subject.plain,
        benchmark=entry.use,
        replicate=block,
        block=block,
        position=position,
        position_in_block=position_in_block,
        seed=study.seed,
        disturbance=subject.disturbance,
        lost_connections=study.lost_connections,
        margin_percent=study.equivalence_margin_percent,
    )


class ParametersOnce:
    """Parameters of the trials of one plan, where a benchmark of one name has the same in each; read once by name."""

    def __init__(self, benchmarks: Mapping[str, Benchmark]) -> None:
        self._benchmarks = benchmarks
        self._read: dict[str, Any] = {}

    def of(self, use: BenchmarkUse) -> Any:
        """Of one trial."""
        if use.name not in self._read:
            self._read[use.name] = self._benchmarks[use.uses].parameters.model_validate(use.parameters)
        return self._read[use.name]
