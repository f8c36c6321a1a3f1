"""Which configuration of an earlier study is the counterpart of which in a later one, and what differs between them."""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from pydantic import ValidationError

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostRow
from nephoscope.model.rows import TrialRow
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
