"""[[matrix]]: one entry that stands for many configurations or benchmarks, one for each combination of its axes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from nephoscope.model.frozen import Frozen
from nephoscope.study.explain import Problem, first_problems
from nephoscope.study.placeholders import (
    MOST_SIZE,
    VARIABLE,
    Node,
    TooLarge,
    Unfilled,
    filled,
    merged,
    names_in,
    node,
    room_left,
    written,
)
from nephoscope.study.suggest import hint_among, nearest, shown
from nephoscope.study.toml_text import Path

MAX_MADE = 10_000
"""A study of more configurations is a slip: the 2022 report had 107."""

MOST_MATCHES = 20_000_000
"""Of patterns with values: some ten seconds."""

Scalar = str | bool | int | float
Kind = Literal["configurations", "benchmarks"]
_OWN = frozenset({"makes", "axes", "by", "values", "include", "exclude"})


class Matrix(Frozen):
    """Makes one configuration (or benchmark) for each combination of its axes.

    Its other keys are those of what it makes; `{axis}` in them stands for the combination's value.
    """

    model_config = ConfigDict(extra="allow")

    makes: Kind | None = Field(
        default=None, description="what each combination becomes; default: benchmarks if it has `uses`"
    )
    axes: dict[str, Annotated[list[Scalar], Field(min_length=1)] | dict[str, dict[str, Any]]] = Field(
        min_length=1,
        description="name of a placeholder -> its values; every combination of all axes is made. Or a table: "
        "value, a text -> further placeholders and their values, as in `by`",
    )
    by: dict[str, dict[str, dict[str, Any]]] = Field(
        default={},
        description="axis -> a value of it, or a pattern such as '*.2xlarge' -> further placeholders and their values; "
        "the first pattern that gives a placeholder a value counts",
    )
    values: dict[str, dict[str, dict[str, Any]]] = Field(
        default={},
        description="placeholder -> an axis -> a value of it, or a pattern -> the placeholder's value: `by` the other "
        "way round, for what differs by many values of an axis; what `by` gives counts first",
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
class _Giver:
    """Gives placeholders their values in all combinations with a value of an axis."""

    axis: str
    pattern: str
    given: Node
    """Placeholder -> value."""
    at: Path
    """Place of the pattern in the file."""
    literal: bool = False
    """The pattern is a value of the axis."""

    def fits(self, value: Node) -> bool:
        """Whether it gives anything to combinations with this value of its axis."""
        return written(value.value) == self.pattern if self.literal else _fits(self.pattern, value)


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


def kind_of(raw: Mapping[str, Any]) -> Kind:
    """What a valid matrix makes."""
    return raw.get("makes") or ("benchmarks" if "uses" in raw else "configurations")


def made_by(
    raw: Mapping[str, Any], at: Path, defaults: Node, chosen: Mapping[str, Node]
) -> tuple[list[Made], list[Problem]]:
    """Everything that a valid matrix makes, and what is wrong with it; pure.

    The first axis changes slowest; what `include` adds comes last.

    Args:
        raw: the entry, which fits `Matrix`.
        at: its place in the file.
        defaults: a table merged below each entry made.
        chosen: placeholders and their values, for those to which the matrix gives none.
    """
    problems = first_problems(_wrong_axes(raw, at))
    if problems:
        return [], problems
    combinations, problems = _combinations(raw, at)
    givers = list(_givers(raw, at))
    problems += first_problems(_wrong_givers(raw, at, givers, combinations))
    template = merged(defaults, Node({key: inner for key, inner in node(raw, at).value.items() if key not in _OWN}, at))
    problems += first_problems(_unused(raw, at, template, givers))
    if problems:
        return [], problems
    made: list[Made] = []
    room = MOST_SIZE
    for combination in combinations:
        values = {**chosen, **_values(combination, givers)}
        try:
            entry = filled(template, values)
            room = room_left(room, entry.size if entry else 0, at)
        except TooLarge as large:
            return [], [large.problem]
        except Unfilled as unfilled:
            problems.append(_pointing_at_giver(unfilled, givers, combination))
        else:
            made.append(Made(Node(entry.value if entry else {}, at), combination.words))
    return made, list(dict.fromkeys(problems))


def _wrong_axes(raw: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    axes: Mapping[str, Sequence[Scalar] | Mapping[str, Any]] = raw["axes"]
    for axis, values in axes.items():
        if not VARIABLE.fullmatch(axis):
            text = "the name of an axis has lower-case letters, digits and _, and starts with a letter"
            yield Problem((*at, "axes", axis), text)
        if not values:
            yield Problem((*at, "axes", axis), "{} is not allowed; expected: a table of at least 1 value")
        seen: dict[str, int] = {}
        for place, value in enumerate(values):
            if seen.setdefault(written(value), place) != place:
                yield Problem((*at, "axes", axis, place), f"{shown(value)} appears twice in this axis; remove one")
    yield from _too_many(raw, at, axes)
    yield from _wrong_names((*at, "by"), raw.get("by", {}), axes)
    for name, by_axis in raw.get("values", {}).items():
        yield from _wrong_names((*at, "values", name), by_axis, axes)
    for place, entry in enumerate(raw.get("exclude", [])):
        yield from _wrong_names((*at, "exclude", place), entry, axes)
    for place, entry in enumerate(raw.get("include", [])):
        yield from _not_whole((*at, "include", place), entry, axes)


def _too_many(raw: Mapping[str, Any], at: Path, axes: Mapping[str, Any]) -> Iterator[Problem]:
    many = math.prod(len(values) for values in axes.values()) + len(raw.get("include", []))
    if many > MAX_MADE:
        text = f"these axes have {many:,} combinations; a matrix makes at most {MAX_MADE:,}"
        yield Problem((*at, "axes"), text)
    patterns = sum(1 for _ in _givers(raw, at)) + len(raw.get("exclude", []))
    if many * patterns > MOST_MATCHES:
        text = f"{many:,} combinations and {patterns:,} patterns take too long to match; write fewer patterns"
        yield Problem(at, text)


def _wrong_names(path: Path, entry: Mapping[str, Any], axes: Mapping[str, Any]) -> Iterator[Problem]:
    """Names in an entry that are no axis."""
    for name in entry:
        if name not in axes:
            yield Problem((*path, name), f"`{name}` is not an axis of this matrix; {hint_among(name, axes, '`{}`')}")


def _not_whole(path: Path, entry: Mapping[str, Any], axes: Mapping[str, Any]) -> Iterator[Problem]:
    """Axes that a further combination lacks, or to which it gives no single value."""
    missing = [axis for axis in axes if axis not in entry]
    if missing:
        yield Problem(path, f"has no value for the axis {' and '.join(f'`{axis}`' for axis in missing)}")
    for axis in axes:
        if isinstance(entry.get(axis), Mapping | list):
            yield Problem((*path, axis), "an axis takes one value here: text, a number, true or false")


def _axes(raw: Mapping[str, Any], at: Path) -> dict[str, list[Node]]:
    """The values of each axis."""
    return {
        axis: [
            Node(value, (*at, "axes", axis, value if isinstance(values, Mapping) else place))
            for place, value in enumerate(values)
        ]
        for axis, values in raw["axes"].items()
    }


def _givers(raw: Mapping[str, Any], at: Path) -> Iterator[_Giver]:
    """In the order in which they count."""
    for axis, held in raw["axes"].items():
        for value, given in held.items() if isinstance(held, Mapping) else ():
            path = (*at, "axes", axis, value)
            yield _Giver(axis, value, node(given, path), path, literal=True)
    for axis, patterns in raw.get("by", {}).items():
        for pattern, given in patterns.items():
            path = (*at, "by", axis, pattern)
            yield _Giver(axis, pattern, node(given, path), path)
    for name, by_axis in raw.get("values", {}).items():
        for axis, patterns in by_axis.items():
            for pattern, value in patterns.items():
                path = (*at, "values", name, axis, pattern)
                yield _Giver(axis, pattern, Node({name: node(value, path)}, path), path)


def _combinations(raw: Mapping[str, Any], at: Path) -> tuple[list[_Combination], list[Problem]]:
    axes = _axes(raw, at)
    every = [_Combination(dict(zip(axes, values, strict=True)), {}) for values in product(*axes.values())]
    problems: list[Problem] = []
    left = list(every)
    for place, entry in enumerate(raw.get("exclude", [])):
        dropped = {one.key for one in every if _matches(entry, one)}
        if not dropped:
            text = "matches no combination of this matrix; check its values, or remove it"
            problems.append(Problem((*at, "exclude", place), text))
        left = [one for one in left if one.key not in dropped]
    keys = {one.key for one in left}
    for place, entry in enumerate(raw.get("include", [])):
        held = node(entry, (*at, "include", place)).value
        one = _Combination({axis: held[axis] for axis in axes}, {k: v for k, v in held.items() if k not in axes})
        if one.key in keys:
            problems.append(Problem((*at, "include", place), f"this matrix already has {one.words}; remove it"))
        keys.add(one.key)
        left.append(one)
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


def _wrong_givers(
    raw: Mapping[str, Any], at: Path, givers: Sequence[_Giver], combinations: Sequence[_Combination]
) -> Iterator[Problem]:
    """Patterns that match no value, and placeholders that cannot be given a value here."""
    for axis, values in _axes(raw, at).items():
        there = {written(value.value): value for value in (*values, *(one.axes[axis] for one in combinations))}
        for giver in givers:
            if giver.axis == axis and not any(giver.fits(value) for value in there.values()):
                near = nearest(giver.pattern, there)
                hint = f'; did you mean "{near}"?' if near else ""
                yield Problem(giver.at, f"matches no value of the axis `{axis}`{hint}")
    for giver in givers:
        for name, value in giver.given.value.items():
            if name in raw["axes"]:
                yield Problem(value.at, f"`{name}` is an axis, which has its values in `axes`; rename it")
            elif not VARIABLE.fullmatch(name):
                text = "the name of a placeholder has lower-case letters, digits and _, and starts with a letter"
                yield Problem(value.at, text)


def _unused(raw: Mapping[str, Any], at: Path, template: Node, givers: Sequence[_Giver]) -> Iterator[Problem]:
    """Values that no placeholder asks for are slips of the pen."""
    given = [giver.given for giver in givers]
    included = node(raw.get("include", []), (*at, "include")).value
    axes = [value for values in _axes(raw, at).values() for value in values]
    try:
        used = names_in(template).union(*(names_in(one) for one in (*axes, *given, *included)))
    except Unfilled as unfilled:
        yield unfilled.problem
        return
    for giver in (*given, *included):
        for name, value in giver.value.items():
            if name not in used and name not in raw["axes"]:
                otherwise = f"write `{{{name}}}` where it belongs, or remove it"
                hint = hint_among(name, used - set(raw["axes"]), "`{}`", otherwise)
                yield Problem(value.at, f"no placeholder uses `{name}`; {hint}")


def _values(combination: _Combination, givers: Sequence[_Giver]) -> dict[str, Node]:
    """All placeholders of a combination: its axes, then what its `include` gives, then the givers in their order."""
    values = {**combination.axes, **combination.given}
    for giver in givers:
        if giver.fits(combination.axes[giver.axis]):
            values = giver.given.value | values
    return values


def _pointing_at_giver(unfilled: Unfilled, givers: Sequence[_Giver], combination: _Combination) -> Problem:
    """Where other combinations are given a value, the problem is that this one is not."""
    for giver in givers:
        if unfilled.lacking in giver.given.value:
            value = shown(combination.axes[giver.axis].value)
            text = f"nothing gives a value to `{{{unfilled.lacking}}}` for {giver.axis} = {value}; add one here"
            return Problem(giver.at[:-1], text)
    return unfilled.problem
