"""How two studies answer the same questions: which configurations are counterparts, and what else differs."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from pydantic import ValidationError

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.editions import AnswerChange, BestChange, ContrastChange
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.rows import ComparisonVerdict, ConfigurationRow, TrialRow
from nephoscope.model.words import counted, named_or_counted
from nephoscope.study.differences import changes, likenesses
from nephoscope.study.model import Configuration


@dataclass(frozen=True)
class Counterparts:
    """One configuration in both studies."""

    before: str
    """Its name in the earlier one."""
    after: str
    differs: tuple[str, ...]
    """What differs between the two, see `study.differences.changes`; empty: nothing that studies declare."""


def counterparts(before: AnalysedStudy, after: AnalysedStudy) -> list[Counterparts]:
    """Pairs of configurations, by the name in the later study.

    The same name comes first. Of the rest, two that differ in nothing but their name belong together, then two that
    differ in one thing only; each only if no other one fits as well.
    """
    old, new = _declared(before), _declared(after)
    names_old, names_new = _measured(before), _measured(after)
    found = [Counterparts(name, name, _differs(name, old, new, before, after)) for name in names_old & names_new]
    old = {name: old[name] for name in sorted(names_old - names_new) if name in old}
    new = {name: new[name] for name in sorted(names_new - names_old) if name in new}
    for most in (0, 1):
        for left, right in _unambiguous(old, new, most):
            found.append(Counterparts(left, right, changes(old.pop(left), new.pop(right))))
    return sorted(found, key=lambda one: one.after)


def _unambiguous(
    old: Mapping[str, Configuration], new: Mapping[str, Configuration], most: int
) -> list[tuple[str, str]]:
    """Names of two configurations that differ in so few things, where that is so of no other one of the two studies."""
    after, before = _partners(old, new, most), _partners(new, old, most)
    return [(left, right) for left, (right, *others) in after.items() if not others and before[right] == [left]]


def _partners(
    some: Mapping[str, Configuration], others: Mapping[str, Configuration], most: int
) -> dict[str, list[str]]:
    """Name -> the others that differ from it in so few things, two at most: more would not change the answer.

    Only those that are alike at all are compared: comparing each with each takes minutes for a thousand.
    """
    alike: dict[Hashable, list[str]] = defaultdict(list)
    for name, other in others.items():
        for likeness in likenesses(other, most):
            alike[likeness].append(name)
    found = {}
    for name, one in some.items():
        candidates = dict.fromkeys(chain.from_iterable(alike.get(likeness, ()) for likeness in likenesses(one, most)))
        fitting = (candidate for candidate in candidates if len(changes(one, others[candidate])) <= most)
        if two := list(islice(fitting, 2)):
            found[name] = two
    return found


def _measured(study: AnalysedStudy) -> set[str]:
    return {row.configuration for row in study[TrialRow]}


def _declared(study: AnalysedStudy) -> dict[str, Configuration]:
    """Configuration as analysed -> as its study declares it; an import may declare one that no study could have."""
    planned = {row.intent.id: row.intent.configuration for row in study.plan.trials}
    found = {}
    for row in study[TrialRow]:
        if row.configuration not in found and row.trial in planned:
            try:
                found[row.configuration] = Configuration.model_validate(planned[row.trial])
            except ValidationError:
                continue
    return found


def _differs(
    name: str,
    old: Mapping[str, Configuration],
    new: Mapping[str, Configuration],
    before: AnalysedStudy,
    after: AnalysedStudy,
) -> tuple[str, ...]:
    if name in old and name in new:
        return changes(old[name], new[name])
    was, is_now = _sold_as(before, name), _sold_as(after, name)
    return (f"machine type: {was} → {is_now}",) if was and is_now and was != is_now else ()


def _sold_as(study: AnalysedStudy, configuration: str) -> str | None:
    return next((row.machine_type for row in study[CostRow] if row.configuration == configuration), None)


MAX_DIFFERENCES = 30
"""Settings and CPUs beyond this number are counted, not listed."""
_OF_A_RUN = frozenset({"port", "cluster_name"})
"""Settings that differ from run to run, as paths do."""
_DECIDED = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.TIE}
_Asked = TypeVar("_Asked", BestRow, ContrastRow)
_Titles = Mapping[tuple[str, str], str]


def best_changes(
    before: AnalysedStudy, after: AnalysedStudy, benchmarks: Collection[str], titles: _Titles, basis: str
) -> list[BestChange]:
    """A row for each leaderboard, as measured and per dollar, of which both studies asked for the best.

    Args:
        before: the earlier study.
        after: the later one.
        benchmarks: those that are comparable.
        titles: of metrics.
        basis: of the prices.
    """
    return [
        BestChange(
            benchmark=row.benchmark,
            metric=row.metric,
            title=titles.get((row.benchmark, row.metric)) or row.metric,
            view=row.view,
            basis=row.basis,
            scope=row.scope,
            before=was.best,
            after=row.best,
            of_before=was.of - len(was.open),
            of_after=row.of - len(row.open),
            outcome=_best_outcome([*was.best, *was.open], [*row.best, *row.open]),
        )
        for was, row in _in_both(before[BestRow], after[BestRow], _board, benchmarks, basis)
    ]


def _board(row: BestRow) -> tuple[object, ...]:
    return row.benchmark, row.metric, row.view, row.basis, row.scope


def _in_both(
    before: Sequence[_Asked],
    after: Sequence[_Asked],
    key: Callable[[_Asked], tuple[object, ...]],
    benchmarks: Collection[str],
    basis: str,
) -> Iterator[tuple[_Asked, _Asked]]:
    """Answers of both studies to the same question, as measured or per dollar, in the order of the later study."""
    old = {key(row): row for row in before}
    for row in after:
        shown = row.view == "plain" or (row.view == "per dollar" and row.basis == basis)
        if shown and row.benchmark in benchmarks and key(row) in old:
            yield old[key(row)], row


def _best_outcome(before: Sequence[str], after: Sequence[str]) -> AnswerChange:
    if {*before}.isdisjoint(after):
        return "changed"
    return "same" if len(before) == 1 and [*before] == [*after] else "not decided"


def contrast_changes(
    before: AnalysedStudy, after: AnalysedStudy, benchmarks: Collection[str], titles: _Titles, basis: str
) -> list[ContrastChange]:
    """A row for each contrast, as measured and per dollar, that both studies answer; arguments of `best_changes`."""
    return [
        ContrastChange(
            question=row.question,
            left=row.left,
            right=row.right,
            benchmark=row.benchmark,
            metric=row.metric,
            title=titles.get((row.benchmark, row.metric)) or row.metric,
            view=row.view,
            basis=row.basis,
            ratio_before=was.ratio,
            low_before=was.low,
            high_before=was.high,
            verdict_before=was.verdict,
            ratio_after=row.ratio,
            low_after=row.low,
            high_after=row.high,
            verdict_after=row.verdict,
            outcome=_contrast_outcome(was.verdict, row.verdict),
        )
        for was, row in _in_both(before[ContrastRow], after[ContrastRow], _question, benchmarks, basis)
    ]


def _question(row: ContrastRow) -> tuple[str | None, ...]:
    return row.question, row.left, row.right, row.benchmark, row.metric, row.view, row.basis


def _contrast_outcome(before: ComparisonVerdict, after: ComparisonVerdict) -> AnswerChange:
    if before not in _DECIDED or after not in _DECIDED:
        return "not decided"
    return "same" if before is after else "changed"


def also_different(before: AnalysedStudy, after: AnalysedStudy, names: Iterable[Counterparts]) -> list[str]:
    """Versions of tools, settings in force and CPUs that differ although no study file says so, as sentences."""
    found = []
    if before.nephoscope_version != after.nephoscope_version:
        found.append(f"nephoscope: {before.nephoscope_version} → {after.nephoscope_version}")
    tools = before.tool_versions.keys() & after.tool_versions.keys()
    changed = sorted(tool for tool in tools if before.tool_versions[tool] != after.tool_versions[tool])
    used = {tool: [" | ".join(study.tool_versions[tool]) for study in (before, after)] for tool in changed}
    found += [f"{tool}: {' → '.join(versions)}" for tool, versions in used.items()]
    where: dict[str, set[str]] = {}
    for one in names:
        for said in (*_settings(before, after, one), *_cpus(before, after, one)):
            where.setdefault(said, set()).add(one.after)
    everywhere = [
        f"{said} ({named_or_counted(sorted(configurations), 3)})" for said, configurations in sorted(where.items())
    ]
    more = len(everywhere) - MAX_DIFFERENCES
    found += everywhere[:MAX_DIFFERENCES]
    return [*found, f"and {counted(more, 'more setting')}"] if more > 0 else found


def _settings(before: AnalysedStudy, after: AnalysedStudy, one: Counterparts) -> list[str]:
    old, new = before.database_settings.get(one.before), after.database_settings.get(one.after)
    if not old or not new:
        return []
    changed = [key for key in sorted(old.keys() & new.keys()) if old[key] != new[key] and key not in _OF_A_RUN]
    return [f"{key}: {old[key]} → {new[key]}" for key in changed if not old[key].startswith("/")]


def _cpus(before: AnalysedStudy, after: AnalysedStudy, one: Counterparts) -> list[str]:
    old, new = (
        next((row.cpu_model for row in study[ConfigurationRow] if row.configuration == name), None)
        for study, name in ((before, one.before), (after, one.after))
    )
    return [f"CPU: {old} → {new}"] if old and new and old != new else []
