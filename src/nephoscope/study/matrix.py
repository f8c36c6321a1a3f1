"""[[matrix]]: one entry that stands for many configurations or benchmarks, one for each combination of its axes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from nephoscope.model.frozen import Frozen
from nephoscope.study.explain import Problem
from nephoscope.study.locate import Path
from nephoscope.study.nodes import Node, merged, node
from nephoscope.study.placeholders import VARIABLE, Unfilled, filled, names_in, written
from nephoscope.study.suggest import nearest, shown

MAX_MADE = 10_000
"""A study of more configurations is a slip: the 2022 report had 107."""

Scalar = str | bool | int | float
_OWN = frozenset({"makes", "axes", "by", "include", "exclude"})


class Matrix(Frozen):
    """Makes one configuration (or benchmark) for each combination of its axes.

    Its other keys are those of what it makes; `{axis}` in them stands for the combination's value.
    """

    model_config = ConfigDict(extra="allow")

    makes: Literal["configurations", "benchmarks"] = Field(
        default="configurations", description="what each combination becomes"
    )
    axes: dict[str, Annotated[list[Scalar], Field(min_length=1)]] = Field(
        min_length=1, description="name of a placeholder -> its values; every combination of all axes is made"
    )
    by: dict[str, dict[str, dict[str, Any]]] = Field(
        default={},
        description="axis -> a value of it, or a pattern such as '*.2xlarge' -> further placeholders and their values; "
        "the first pattern that gives a placeholder a value counts",
    )
    include: list[dict[str, Any]] = Field(
        default=[], description="further combinations: a value for every axis, and for other placeholders as needed"
    )
    exclude: list[dict[str, Scalar | list[Scalar]]] = Field(
        default=[], description="combinations to leave out: axis -> a value or pattern, or a list of them"
    )


@dataclass(frozen=True)
class Made:
    """One configuration or benchmark of a matrix."""

    entry: Node
    of: str
    """The combination in words: 'type = "m6i.2xlarge", volume = "gp3"'."""


@dataclass(frozen=True)
class _Combination:
    axes: Mapping[str, Node]
    given: Mapping[str, Node]
    """Further values that an `include` gives."""

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(written(value.value) for value in self.axes.values())

    @property
    def words(self) -> str:
        return ", ".join(f"{axis} = {shown(value.value)}" for axis, value in self.axes.items())


def made_by(raw: Mapping[str, Any], at: Path, defaults: Node) -> tuple[list[Made], list[Problem]]:
    """Everything that a valid matrix makes, and what is wrong with it; pure.

    The first axis changes slowest; what `include` adds comes last.

    Args:
        raw: the entry, which fits `Matrix`.
        at: its place in the file.
        defaults: a table merged below each entry made.
    """
    problems = list(_wrong_axes(raw, at))
    if problems:
        return [], problems
    combinations, problems = _combinations(raw, at)
    problems += _wrong_by(raw, at, combinations)
    template = merged(defaults, Node({key: inner for key, inner in node(raw, at).value.items() if key not in _OWN}, at))
    problems += _unused(raw, at, template)
    if problems:
        return [], problems
    made: list[Made] = []
    for combination in combinations:
        values = _values(raw, at, combination)
        try:
            entry = filled(template, values)
        except Unfilled as unfilled:
            problems.append(_pointing_at_by(unfilled, raw, at, combination))
        else:
            made.append(Made(Node(entry.value if entry else {}, at), combination.words))
    return made, list(dict.fromkeys(problems))


def _wrong_axes(raw: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    axes: Mapping[str, Sequence[Scalar]] = raw["axes"]
    for axis, values in axes.items():
        if not VARIABLE.fullmatch(axis):
            text = "the name of an axis has lower-case letters, digits and _, and starts with a letter"
            yield Problem((*at, "axes", axis), text)
        seen: dict[str, int] = {}
        for place, value in enumerate(values):
            if seen.setdefault(written(value), place) != place:
                yield Problem((*at, "axes", axis, place), f"{shown(value)} appears twice in this axis; remove one")
    many = math.prod(len(values) for values in axes.values())
    if many > MAX_MADE:
        text = f"these axes have {many:,} combinations; a matrix makes at most {MAX_MADE:,}"
        yield Problem((*at, "axes"), text)
    for key in ("by", "include", "exclude"):
        held = raw.get(key, {})
        entries = [((*at, key), held)] if key == "by" else [((*at, key, i), one) for i, one in enumerate(held)]
        for path, entry in entries:
            yield from _wrong_names(path, entry, axes, every=key == "include", others=key == "include")


def _wrong_names(
    path: Path, entry: Mapping[str, Any], axes: Mapping[str, Any], *, every: bool, others: bool
) -> Iterator[Problem]:
    """Names in an entry that are no axis, unless it may name `others`; axes that it lacks, if it needs `every` one."""
    for name in entry if not others else ():
        if name not in axes:
            near = nearest(name, axes)
            hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(axes)}"
            yield Problem((*path, name), f"`{name}` is not an axis of this matrix; {hint}")
    missing = [axis for axis in axes if axis not in entry]
    if every and missing:
        yield Problem(path, f"lacks a value for the axis {' and '.join(f'`{axis}`' for axis in missing)}")
    for axis in axes if every else ():
        if isinstance(entry.get(axis), Mapping | list):
            yield Problem((*path, axis), "an axis takes one value here: text, a number, true or false")


def _combinations(raw: Mapping[str, Any], at: Path) -> tuple[list[_Combination], list[Problem]]:
    axes = {axis: node(values, (*at, "axes", axis)).value for axis, values in raw["axes"].items()}
    every = [_Combination(dict(zip(axes, values, strict=True)), {}) for values in product(*axes.values())]
    problems: list[Problem] = []
    left = every
    for place, entry in enumerate(raw.get("exclude", [])):
        dropped = {one.key for one in every if _matches(entry, one)}
        if not dropped:
            text = "matches no combination of this matrix; check its values, or remove it"
            problems.append(Problem((*at, "exclude", place), text))
        left = [one for one in left if one.key not in dropped]
    for place, entry in enumerate(raw.get("include", [])):
        held = node(entry, (*at, "include", place)).value
        one = _Combination({axis: held[axis] for axis in axes}, {k: v for k, v in held.items() if k not in axes})
        if one.key in {other.key for other in left}:
            problems.append(Problem((*at, "include", place), f"this matrix already has {one.words}; remove it"))
        left = [*left, one]
    if not left:
        problems.append(Problem((*at, "exclude"), "leaves out every combination, so that this matrix makes nothing"))
    return left, problems


def _matches(entry: Mapping[str, Any], combination: _Combination) -> bool:
    return all(
        any(_fits(one, combination.axes[axis]) for one in (wanted if isinstance(wanted, list) else [wanted]))
        for axis, wanted in entry.items()
    )


def _fits(pattern: Any, value: Node) -> bool:
    return fnmatchcase(written(value.value), written(pattern))


def _wrong_by(raw: Mapping[str, Any], at: Path, combinations: Sequence[_Combination]) -> Iterator[Problem]:
    """Patterns that match no value, and placeholders that cannot be given a value here."""
    for axis, patterns in raw.get("by", {}).items():
        every = [*node(raw["axes"][axis], at).value, *(one.axes[axis] for one in combinations)]
        there = {written(value.value): value for value in every}
        for pattern, given in patterns.items():
            path = (*at, "by", axis, pattern)
            if not any(_fits(pattern, value) for value in there.values()):
                near = nearest(pattern, there)
                hint = f'; did you mean "{near}"?' if near else ""
                yield Problem(path, f"matches no value of the axis `{axis}`{hint}")
            for name in given:
                if name in raw["axes"]:
                    yield Problem((*path, name), f"`{name}` is an axis, which has its values in `axes`; rename it")
                elif not VARIABLE.fullmatch(name):
                    text = "the name of a placeholder has lower-case letters, digits and _, and starts with a letter"
                    yield Problem((*path, name), text)


def _unused(raw: Mapping[str, Any], at: Path, template: Node) -> Iterator[Problem]:
    """Values that no placeholder asks for are slips of the pen."""
    givers = [
        inner for patterns in node(raw.get("by", {}), (*at, "by")).value.values() for inner in patterns.value.values()
    ]
    included = node(raw.get("include", []), (*at, "include")).value
    axes = node(raw["axes"], (*at, "axes"))
    try:
        used = names_in(template).union(*(names_in(one) for one in (axes, *givers, *included)))
    except Unfilled as unfilled:
        yield unfilled.problem
        return
    for giver in (*givers, *included):
        for name, value in giver.value.items():
            if name not in used and name not in raw["axes"]:
                near = nearest(name, used - set(raw["axes"]))
                hint = f"; did you mean `{near}`?" if near else f"; write `{{{name}}}` where it belongs, or remove it"
                yield Problem(value.at, f"no placeholder uses `{name}`{hint}")


def _values(raw: Mapping[str, Any], at: Path, combination: _Combination) -> dict[str, Node]:
    """All placeholders of a combination: its axes, then what its `include` gives, then `by` in the order written."""
    values = {**combination.axes, **combination.given}
    for axis, patterns in raw.get("by", {}).items():
        for pattern, given in patterns.items():
            if _fits(pattern, combination.axes[axis]):
                path = (*at, "by", axis, pattern)
                values = {name: node(value, (*path, name)) for name, value in given.items()} | values
    return values


def _pointing_at_by(unfilled: Unfilled, raw: Mapping[str, Any], at: Path, combination: _Combination) -> Problem:
    """Where `by` gives other combinations a value, the problem is that it gives this one none."""
    for axis, patterns in raw.get("by", {}).items():
        if any(unfilled.lacking in given for given in patterns.values()):
            value = shown(combination.axes[axis].value)
            text = f"nothing gives a value to `{{{unfilled.lacking}}}` for {axis} = {value}; add one here"
            return Problem((*at, "by", axis), text)
    return unfilled.problem
