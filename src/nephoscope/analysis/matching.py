"""Which configuration of an earlier study is the counterpart of which in a later one, and what differs between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.study.differences import changes
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
    rest_old, rest_new = sorted(names_old - names_new), sorted(names_new - names_old)
    for most in (0, 1):
        fitting = [
            Counterparts(left, right, said)
            for left in rest_old
            for right in rest_new
            if left in old and right in new and len(said := changes(old[left], new[right])) <= most
        ]
        for one in _unambiguous(fitting):
            found.append(one)
            rest_old.remove(one.before)
            rest_new.remove(one.after)
    return sorted(found, key=lambda one: one.after)


def _unambiguous(fitting: Sequence[Counterparts]) -> Iterator[Counterparts]:
    lefts, rights = [one.before for one in fitting], [one.after for one in fitting]
    return (one for one in fitting if lefts.count(one.before) == 1 and rights.count(one.after) == 1)


def _measured(study: AnalysedStudy) -> set[str]:
    return {row.configuration for row in study.trials}


def _declared(study: AnalysedStudy) -> dict[str, Configuration]:
    """Configuration as analysed -> as its study declares it; an import may declare one that no study could have."""
    planned = {row.intent.id: row.intent.configuration for row in study.plan.trials}
    found = {}
    for row in study.trials:
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
    return next((row.machine_type for row in study.costs if row.configuration == configuration), None)
