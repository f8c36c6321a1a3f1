"""The part of a study that a plan holds: what somebody asks for, or what a budget pays. Pure.

A question is a pair of configurations that one benchmark compares. Within a benchmark, the cheapest configurations
give the most pairs for the money. Between benchmarks, the one with the most pairs per dollar comes first, with as many
configurations as the rest of the budget pays; then the next one, until nothing more fits.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.analysed import PartOfStudy
from nephoscope.model.errors import InputError
from nephoscope.model.numbers import duration, money
from nephoscope.model.records import Plan
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.model.words import listed
from nephoscope.plan.expand import Cell, fitting_cells
from nephoscope.prices.catalogue.index import short_name
from nephoscope.study.model import BenchmarkEntry, Budget, Configuration, Study
from nephoscope.study.suggest import nearest

CHAPTERS = (*(subject.value for subject in Subject), *(load.value for load in DatabaseLoad))
"""What `--only` takes: a subject, or one of the two kinds of load on a database."""
_MAX_NAMED = 8
One = TypeVar("One")


@dataclass(frozen=True)
class Cut:
    """What is asked for; empty: everything."""

    only: tuple[str, ...] = ()
    """Chapters."""
    types: tuple[str, ...] = ()
    """Patterns of machine types, as 'm6i.*'; case does not matter, nor does `Standard_` of Azure."""
    budget_usd: float | None = None
    """For what of it answers the most questions: see `afford`."""

    def __bool__(self) -> bool:
        """False if nothing is cut."""
        return bool(self.only or self.types or self.budget_usd)


def chapter_of(benchmark: Benchmark, parameters: Any) -> str:
    """The chapter of a benchmark: 'oltp' or 'key-value' if it loads a database, else its subject."""
    load = benchmark.database_load_of(parameters)
    return benchmark.subject_of(parameters).value if load is None else load.value


def chapters_of(study: Study, benchmarks: Mapping[str, Benchmark]) -> dict[str, str]:
    """Chapter of each benchmark of a study, by its label."""
    kinds = ((entry, benchmarks[entry.uses]) for entry in study.benchmarks)
    return {entry.label: chapter_of(kind, kind.parameters.model_validate(entry.parameters)) for entry, kind in kinds}


def part_of(study: Study, benchmarks: Mapping[str, Benchmark], cut: Cut) -> Study:
    """The study with the chosen configurations and benchmarks alone; names in other places may then lead nowhere.

    Raises:
        InputError: a chapter does not exist, or a chapter or pattern fits nothing in the study.
    """

    def words(entry: BenchmarkEntry) -> tuple[str, str]:
        benchmark = benchmarks[entry.uses]
        parameters = benchmark.parameters.model_validate(entry.parameters)
        return benchmark.subject_of(parameters).value, chapter_of(benchmark, parameters)

    for chapter in cut.only:
        if chapter not in CHAPTERS:
            near = nearest(chapter, CHAPTERS)
            raise InputError(
                f"there is no chapter {chapter!r}",
                hint=f"did you mean {near}?" if near else f"there are: {', '.join(CHAPTERS)}",
            )
    known = [entry for entry in study.benchmarks if entry.uses in benchmarks]
    entries = _chosen(
        known,
        cut.only,
        lambda entry, chapter: chapter in words(entry),
        lambda chapter: (
            f"no benchmark of this study belongs to the chapter {chapter}",
            f"its chapters: {_named(word for entry in known for word in words(entry))}",
        ),
    )
    configurations = _chosen(
        study.configurations,
        cut.types,
        _fits,
        lambda pattern: (
            f"no configuration of this study has a machine type like {pattern!r}",
            _types_hint(study.configurations),
        ),
    )
    return study.model_copy(update={"benchmarks": entries, "configurations": configurations})


def joined(whole: Plan, cut: Plan, held: Iterable[str]) -> Plan:
    """The plan of what a folder holds already, and of what is cut out now: both are parts of the whole.

    Args:
        whole: of the study.
        cut: a part of it, whose estimates are its own.
        held: ids of the trials that the folder's plan has.
    """
    own = {row.intent.id: row for row in cut.trials}
    kept = {*held, *own}
    rows = [own.get(row.intent.id, row) for row in whole.trials if row.intent.id in kept]
    if len(rows) == len(own):
        return cut
    prices_usd = [row.price_usd for row in rows if row.price_usd is not None]
    return whole.model_copy(
        update={
            "trials": rows,
            "expected_duration_s": sum(row.expected_duration_s for row in rows),
            "price_usd": sum(prices_usd) if len(prices_usd) == len(rows) else None,
        }
    )


def _chosen(
    all_of_them: Iterable[One],
    wanted: tuple[str, ...],
    fits: Callable[[One, str], bool],
    nothing: Callable[[str], tuple[str, str]],
) -> list[One]:
    """Those that fit one of the words at least; each word must fit something."""
    found = list(all_of_them)
    if not wanted:
        return found
    for word in wanted:
        if not any(fits(one, word) for one in found):
            message, hint = nothing(word)
            raise InputError(message, hint=hint)
    return [one for one in found if any(fits(one, word) for word in wanted)]


def _fits(configuration: Configuration, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern.lower()) for name in _type_names(configuration))


def _type_names(configuration: Configuration) -> Iterator[str]:
    """Its machine type as its provider writes it, and without the prefix that all types of Azure have."""
    sold = configuration.priced_as
    kind = configuration.database_machine.type or (sold.type if sold else None)
    if kind is not None:
        yield kind.lower()
        yield short_name(kind)


def _types_hint(configurations: Iterable[Configuration]) -> str:
    types = dict.fromkeys(name for one in configurations for name in list(_type_names(one))[-1:])
    if not types:
        return "its configurations name no machine types: drop --types"
    return f"there are: {_named(types)}; * stands for any text, as in 'm6i.*'"


def _named(words: Iterable[str]) -> str:
    """At most eight of them, each once."""
    return listed(list(dict.fromkeys(words)), _MAX_NAMED)


def part_held(study: Study, plan: Plan, benchmarks: Mapping[str, Benchmark]) -> PartOfStudy | None:
    """The part that a plan is of its study, by `--only`, `--types` or `--budget`; None: all of it.

    Raises:
        InputError: the study cannot be planned.
    """
    whole = set(fitting_cells(study, benchmarks))
    held = whole & {(row.intent.configuration_name, row.intent.benchmark.name) for row in plan.trials}
    if held == whole:
        return None
    names, of_names = ({name for name, _ in cells} for cells in (held, whole))
    labels, of_labels = ({label for _, label in cells} for cells in (held, whole))
    providers = {one.name: one.provider for one in study.configurations}
    chapters = chapters_of(study, benchmarks)
    return PartOfStudy(
        configurations=len(names),
        of_configurations=len(of_names),
        benchmarks=len(labels),
        of_benchmarks=len(of_labels),
        cells=len(held),
        of_cells=len(whole),
        providers=sorted({providers[name] for name in of_names} - {providers[name] for name in names}),
        chapters=[
            one
            for one in CHAPTERS
            if one in {chapters[label] for label in of_labels} - {chapters[label] for label in labels}
        ],
    )


@dataclass(frozen=True)
class _Extent:
    """A benchmark on some of its configurations."""

    benchmark: str
    configurations: tuple[str, ...]
    usd: float

    @property
    def pairs_per_usd(self) -> float:
        return math.comb(len(self.configurations), 2) / self.usd if self.usd else math.inf


@dataclass(frozen=True)
class _Choice:
    """A part of a study."""

    study: Study
    usd: float
    """What its trials cost in the plan of the whole, where they share clusters with others."""


def affordable(study: Study, plan_of: Callable[[Study], Plan], budget_usd: float) -> Study:
    """The chosen part of a study; see the module for the rule. Its own plan never costs more than the budget.

    Trials that share a cluster with others in the plan of the whole pay for it alone once the others are left out. So a
    part may cost more than its trials do there, and the largest sum is sought whose choice still fits.

    Args:
        study: the study, or a part of it.
        plan_of: the plan of a part, with the price of every trial.
        budget_usd: for all replicates of what is chosen.

    Raises:
        InputError: a configuration has no price, or the budget does not pay for one pair under any benchmark.
    """
    costs_usd = _costs_usd(plan_of(study))
    best: Study | None = None
    low_usd, high_usd, aim_usd = 0.0, budget_usd, budget_usd
    for _ in range(_MAX_TRIES):
        choice = _choice(study, costs_usd, aim_usd)
        if choice is not None and (plan_of(choice.study).price_usd or 0.0) > budget_usd:
            high_usd = choice.usd
        else:
            best = best if choice is None else choice.study
            low_usd = aim_usd
        if high_usd - low_usd < _CLOSE_SHARE * budget_usd:
            break
        aim_usd = (low_usd + high_usd) / 2
    return best or _of_one_benchmark(_only(study, costs_usd), plan_of, budget_usd)


_MAX_TRIES = 10
_CLOSE_SHARE = 0.01
"""Of the budget: sums this close to each other are not told apart."""


def _of_one_benchmark(study: Study, plan_of: Callable[[Study], Plan], budget_usd: float) -> Study:
    """The most pairs under one benchmark, at the prices that it has without the others.

    Raises:
        InputError: the budget does not pay for one pair.
    """
    labels = [one.label for one in study.benchmarks]
    alone = {label: _costs_usd(plan_of(_only(study, [label])))[label] for label in labels}
    extents = [one for label, of in alone.items() if (one := _extent(label, of, budget_usd))]
    for extent in sorted(extents, key=lambda one: (len(one.configurations), one.pairs_per_usd), reverse=True):
        part = _with(study, {extent.benchmark: extent.configurations})
        if (plan_of(part).price_usd or 0.0) <= budget_usd:
            return part
    least_usd = min((sum(sorted(of.values())[:2]) for of in alone.values() if len(of) > 1), default=None)
    if least_usd is None:
        raise InputError("--budget chooses pairs of configurations, but no benchmark here runs on two of them")
    raise InputError(
        f"{money(budget_usd)} do not pay for a comparison: the cheapest one costs {money(least_usd)}",
        hint="raise --budget, or lower `replicates`",
    )


def _only(study: Study, labels: Collection[str]) -> Study:
    return study.model_copy(update={"benchmarks": [one for one in study.benchmarks if one.label in labels]})


def _choice(study: Study, costs_usd: Mapping[str, Mapping[str, float]], aim_usd: float) -> _Choice | None:
    """What so much pays at these prices; None: not one pair."""
    chosen: dict[str, _Extent] = {}
    left_usd = aim_usd
    while best := max(
        (one for label, of in costs_usd.items() if label not in chosen and (one := _extent(label, of, left_usd))),
        key=lambda one: (one.pairs_per_usd, one.benchmark),
        default=None,
    ):
        chosen[best.benchmark] = best
        left_usd -= best.usd
    if not chosen:
        return None
    return _Choice(_with(study, {label: one.configurations for label, one in chosen.items()}), aim_usd - left_usd)


def _costs_usd(planned: Plan) -> dict[str, dict[str, float]]:
    """Benchmark -> configuration -> all replicates."""
    if planned.price_usd is None:
        raise InputError(
            f"--budget needs a price for every configuration ({'; '.join(map(str, planned.unpriced[:3]))})",
            hint="set price_usd_per_hour, or leave out these configurations by --types",
        )
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in planned.trials:
        found[row.intent.benchmark.name][row.intent.configuration_name] += row.price_usd or 0.0
    return found


def _extent(benchmark: str, costs_usd: Mapping[str, float], left_usd: float) -> _Extent | None:
    """As many configurations as the money pays, the cheapest first; None: not even two."""
    names: list[str] = []
    spent_usd = 0.0
    for name, usd in sorted(costs_usd.items(), key=lambda item: (item[1], item[0])):
        if spent_usd + usd > left_usd:
            break
        names.append(name)
        spent_usd += usd
    return _Extent(benchmark, tuple(names), spent_usd) if len(names) > 1 else None


def _with(study: Study, chosen: Mapping[str, Sequence[str]]) -> Study:
    kept = {name for names in chosen.values() for name in names}
    entries = [
        one.model_copy(update={"configurations": list(chosen[one.label])})
        for one in study.benchmarks
        if one.label in chosen
    ]
    configurations = [one for one in study.configurations if one.name in kept]
    return study.model_copy(update={"benchmarks": entries, "configurations": configurations})


@dataclass(frozen=True)
class LeftOut:
    """A benchmark that a part of a study runs on fewer configurations than the study, or not at all."""

    chapter: str
    benchmark: str
    configurations: int
    """On which it still runs."""
    of_configurations: int


def left_out(whole: Iterable[Cell], chosen: Plan, chapters: Mapping[str, str]) -> list[LeftOut]:
    """What a part leaves out, in the order of the study.

    Args:
        whole: everything that was asked for.
        chosen: plan of the part.
        chapters: of each benchmark, by its name, in the order of the study.
    """
    asked = Counter(label for _, label in whole)
    kept = Counter(
        label for _, label in {(row.intent.configuration_name, row.intent.benchmark.name) for row in chosen.trials}
    )
    return [LeftOut(chapters[one], one, kept[one], asked[one]) for one in chapters if kept[one] < asked[one]]


def check_budget(plan: Plan, budget: Budget) -> None:
    """Returns normally if the plan is within the budget; pure.

    Raises:
        InputError: more hours or US dollars than allowed, or a limit in dollars for a plan whose price is not known.
    """
    problems = []
    takes_s = plan.expected_duration_s
    if budget.max_hours is not None and takes_s > (allowed_s := budget.max_hours * SECONDS_PER_HOUR):
        over = duration(round(takes_s - allowed_s))
        problems.append(f"the plan takes {duration(round(takes_s))}, {over} more than {duration(round(allowed_s))}")
    if budget.max_usd is not None:
        known = sum(trial.price_usd or 0 for trial in plan.trials)
        at_least = "at least " if plan.price_usd is None else ""
        if known > budget.max_usd:
            over = money(known - budget.max_usd)
            problems.append(f"the plan costs {at_least}{money(known)}, {over} more than {money(budget.max_usd)}")
        elif plan.price_usd is None:
            unknown = "; ".join(map(str, plan.unpriced))
            problems.append(f"the budget is {money(budget.max_usd)}, but the plan's price is not known ({unknown})")
    if problems:
        raise InputError(
            "; ".join(problems),
            hint="use fewer replicates, configurations or benchmarks, shorter durations or a larger [budget], or give "
            "every configuration a price_usd_per_hour",
        )
