"""A study file as a person writes it -> the same study in plain configurations, before anything else reads it.

`[choices]` gives placeholders values, `[defaults]` is merged below each configuration, each `[[matrix]]` becomes
configurations or benchmarks, and `for` of a benchmark becomes the names it chooses. The place of each value in the file
is kept, so that problems name its line.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict, Field

from nephoscope.model.bounded_toml import load_toml
from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.study.explain import Problem, first_problems
from nephoscope.study.matrix import Kind, Made, Matrix, kind_of, made_by
from nephoscope.study.model import BenchmarkEntry, Configuration, Study
from nephoscope.study.placeholders import (
    MOST_SIZE,
    VARIABLE,
    Node,
    TooLarge,
    Unfilled,
    escaped,
    filled,
    merged,
    node,
    places,
    plain,
    room_left,
)
from nephoscope.study.selection import MOST_LOOKS, Facts, NotASelection, chosen, facts_of, words_of
from nephoscope.study.suggest import hint_among, shown
from nephoscope.study.toml_text import Path, line_of, locate

_IS = "is"
_USED = re.compile(r"\{([a-z][a-z0-9_]*)")
_IN_LINE = re.compile(r'(\bis\s*=\s*)("[^"\\]*"|\'[^\']*\')')
_FORM = "expected: NAME=OPTION, as database=cockroachdb"


class Choice(Frozen):
    """One choice. Its other keys are the options: tables of placeholders and their values."""

    model_config = ConfigDict(extra="allow")

    is_: str = Field(alias="is", description="the option that is chosen; `plan` and `run` change it by --choose")


def chosen_values(choices: Mapping[str, Any]) -> tuple[dict[str, Node], list[Problem]]:
    """Placeholder -> its value by the options that are chosen, and what is wrong; each choice fits `Choice`."""
    problems = first_problems(_wrong(choices))
    if problems:
        return {}, problems
    values: dict[str, Node] = {}
    for name, choice in choices.items():
        given = node(choice[choice[_IS]], ("choices", name, choice[_IS])).value
        problems += [
            Problem(value.at, f"another choice gives a value to `{one}`; rename it")
            for one, value in given.items()
            if one in values
        ]
        values |= given
    return values, problems


def _wrong(choices: Mapping[str, Any]) -> Iterator[Problem]:
    for name, choice in choices.items():
        options = _options(choice)
        for option, given in options.items():
            path = ("choices", name, option)
            if not isinstance(given, Mapping):
                yield Problem(
                    path, f"{shown(given)} is not allowed; expected: a table of placeholders and their values"
                )
                continue
            for one in given:
                if not VARIABLE.fullmatch(one):
                    text = "the name of a placeholder has lower-case letters, digits and _, and starts with a letter"
                    yield Problem((*path, one), text)
        if choice[_IS] not in options:
            yield Problem(("choices", name, _IS), _no_option(choice[_IS], options))


def _unused(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Placeholders to which an option gives a value that nothing takes: a slip, which otherwise shows once chosen."""
    choices = data.get("choices", {})
    used = set(_USED.findall(json.dumps({key: value for key, value in data.items() if key != "choices"})))
    for name, choice in choices.items():
        for option, given in _options(choice).items():
            for one in sorted(given.keys() - used):
                text = f"nothing in the study uses the placeholder `{one}`; {hint_among(one, sorted(used), '`{}`')}"
                yield Problem(("choices", name, option, one), text)


def _options(choice: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in choice.items() if key != _IS}


def _no_option(option: str, options: Mapping[str, Any]) -> str:
    return f"there is no option {shown(option)}; {hint_among(option, options)}"


def with_chosen(text: str, chosen: Sequence[str]) -> str:
    """A study's text in which other options are chosen; nothing else of it changes.

    Args:
        text: of the file.
        chosen: 'database=cockroachdb', one for each choice.

    Raises:
        InputError: the study has no such choice or option, or does not say what is chosen on a line of its own.
    """
    for one in chosen:
        name, equals, option = one.partition("=")
        if not equals:
            raise InputError(f"--choose {one}: not a choice", hint=_FORM)
        text = _with_one(text, name.strip(), option.strip())
    return text


def _with_one(text: str, name: str, option: str) -> str:
    try:
        choices = load_toml(text).get("choices", {})
    except ValueError:
        return text  # whoever reads the study says what is wrong with it, and where
    choice = choices.get(name) if isinstance(choices, Mapping) else None
    if not isinstance(choice, Mapping):
        there = f"it has: {', '.join(choices)}" if choices else "it has no [choices]"
        raise InputError(f"the study has no choice {shown(name)}; {there}", hint=_FORM)
    options = _options(choice)
    if option not in options:
        raise InputError(f"--choose {name}={option}: {_no_option(option, options)}", hint=_FORM)
    lines = text.split("\n")
    place = line_of(("choices", name, _IS), locate(text.removeprefix("\ufeff"))) - 1
    lines[place], changed = _IN_LINE.subn(rf'\g<1>"{option}"', lines[place], count=1)
    if not changed:
        raise InputError(
            f"the study must say on a separate line which option of {shown(name)} is chosen",
            hint=f'write `is = "{option}"` below [choices.{name}]',
        )
    return "\n".join(lines)


_DEFAULTS = (
    "keys of [[configurations]] for all of them, merged by key below what each one says; placeholders as in [[matrix]]"
)
_CHOICES = (
    "name of a choice -> which option `is` chosen, and the options: tables of placeholders and their values, for "
    "[defaults], [[matrix]] and [[benchmarks]]"
)
_MATRIX = "many configurations (or benchmarks) at once; `plan --expanded` prints what it makes"


class Shorthands(Frozen):
    """What stands for several configurations or benchmarks; `expanded` replaces it."""

    model_config = ConfigDict(extra="ignore")

    choices: dict[str, Choice] = Field(default={}, description=_CHOICES)
    defaults: dict[str, Any] = Field(default={}, description=_DEFAULTS)
    matrix: list[Matrix] = Field(default=[], description=_MATRIX)


class BenchmarkInFile(BenchmarkEntry):
    """One benchmark of a study."""

    for_: str | None = Field(
        default=None,
        alias="for",
        description="instead of `configurations`: a selection such as 'aws and not vcpus:8', see "
        "docs/how-to/study-of-many-machines.md",
    )


class StudyFile(Study):
    """A study file."""

    configurations: list[Configuration] = Field(
        default=[], min_length=1, description="what to compare; or use [[matrix]]"
    )
    benchmarks: list[BenchmarkInFile] = Field(  # type: ignore[assignment]
        default=[], min_length=1, description="how to measure it"
    )
    choices: dict[str, Choice] = Field(default={}, description=_CHOICES)
    defaults: dict[str, Any] = Field(default={}, description=_DEFAULTS)
    matrix: list[Matrix] = Field(default=[], description=_MATRIX)


SHORTHANDS = ("choices", "defaults", "matrix")
FOR = "for"


@dataclass(frozen=True)
class Expanded:
    """A study without shorthands."""

    data: dict[str, Any]
    origins: Mapping[Path, Path] = field(default_factory=dict)
    """Path in `data` -> path in the file, of everything that a shorthand made."""
    keys: Mapping[Path, Path] = field(default_factory=dict)
    """The same for keys whose value comes from elsewhere."""
    problems: tuple[Problem, ...] = ()
    """With paths in the file; if there are any, `data` is not complete."""

    def written_at(self, path: Path, *, of_key: bool = False) -> Path:
        """Where the file says what is at a path of `data`: the value, or with `of_key` the key that holds it."""
        if of_key and path[:-1]:
            return self.keys.get(path) or (*self.written_at(path[:-1]), path[-1])
        for end in range(len(path), 0, -1):
            if path[:end] in self.origins:
                return (*self.origins[path[:end]], *path[end:])
        return path

    def lines(self, lines: Mapping[Path, int]) -> dict[Path, int]:
        """The line of each path, also of those that only `data` has."""
        return {**lines, **{path: line_of(at, lines) for path, at in self.origins.items()}}


@dataclass(frozen=True)
class _Entry:
    held: Node
    made: Made | None = None
    """Set if a matrix made it."""


def expanded(data: dict[str, Any], lines: Mapping[Path, int]) -> Expanded:
    """Replaces the shorthands of a file; pure. A file without any comes back as it is.

    Args:
        data: the file; its matrices fit `Matrix`, and `defaults` is a table.
        lines: line of each path, for problems that name two lines.
    """
    raw_benchmarks = data.get("benchmarks")
    uses_for = any(isinstance(one, Mapping) and FOR in one for one in _list(raw_benchmarks))
    if not uses_for and not any(key in data for key in SHORTHANDS):
        return Expanded(data)
    values, problems = chosen_values(data.get("choices", {}))
    if problems := problems or first_problems(_unused(data)):
        return Expanded(data, problems=tuple(problems))
    entries: dict[Kind, list[_Entry]] = {
        "configurations": list(_with_defaults(data, values, problems)),
        "benchmarks": list(_benchmarks(data, values, problems)),
    }
    defaults, room = node(data.get("defaults", {}), ("defaults",)), MOST_SIZE
    for place, raw in enumerate(_list(data.get("matrix"))):
        kind = kind_of(raw)
        below = defaults if kind == "configurations" else Node({}, ())
        made, wrong = made_by(raw, ("matrix", place), below, values)
        problems += wrong
        entries[kind] += [_Entry(one.entry, one) for one in made]
        try:
            room = room_left(room, sum(one.entry.size for one in made), ("matrix", place))
        except TooLarge as large:
            return Expanded(data, problems=(large.problem,))
    for kind, found in entries.items():
        problems += _equal_names(kind, found, lines)
    if not problems:
        entries["benchmarks"] = _with_names(entries, problems)
    rest = {key: value for key, value in data.items() if key not in SHORTHANDS}
    lists: dict[str, list[Any]] = {
        kind: [plain(one.held) for one in found]
        for kind, found in entries.items()
        if found and (kind not in data or isinstance(data[kind], list))
    }
    held = [
        (path, inner)
        for kind, found in entries.items()
        for place, one in enumerate(found)
        for path, inner in places(one.held, (kind, place))
    ]
    return Expanded(
        data={**rest, **lists},
        origins={path: inner.at for path, inner in held if path != inner.at},
        keys={path: inner.key_at for path, inner in held if inner.key_at is not None},
        problems=tuple(dict.fromkeys(problems)),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _benchmarks(data: Mapping[str, Any], values: Mapping[str, Node], problems: list[Problem]) -> Iterator[_Entry]:
    """The benchmarks written one by one. Only where there are choices do braces stand for a value."""
    room = MOST_SIZE
    for place, raw in enumerate(_list(data.get("benchmarks"))):
        held = node(raw, ("benchmarks", place))
        try:
            entry = (filled(held, values) if values else None) or held
            room = room_left(room, entry.size, held.at)
        except Unfilled as unfilled:
            problems.append(unfilled.problem)
            if isinstance(unfilled, TooLarge):
                return
            entry = held
        yield _Entry(entry)


def _with_defaults(data: Mapping[str, Any], values: Mapping[str, Node], problems: list[Problem]) -> Iterator[_Entry]:
    """The configurations written one by one. Placeholders in the defaults that they take over have no value here."""
    defaults, room = node(data.get("defaults", {}), ("defaults",)), MOST_SIZE
    for place, raw in enumerate(_list(data.get("configurations"))):
        own = node(raw, ("configurations", place))
        if not isinstance(raw, Mapping):
            yield _Entry(own)
            continue
        try:
            held = filled(merged(defaults, escaped(own)), values)
            room = room_left(room, held.size if held else 0, ("defaults",))
        except TooLarge as large:
            problems.append(large.problem)
            return
        except Unfilled as unfilled:
            name = shown(raw.get("name"))
            text = f"{unfilled.problem.text}; configuration {name} has no matrix: write the key there, or use a matrix"
            problems.append(Problem(unfilled.problem.path, text))
            held = own
        yield _Entry(held or own)


def _equal_names(kind: Kind, entries: list[_Entry], lines: Mapping[Path, int]) -> Iterator[Problem]:
    """Names that a matrix makes and that something else has, too. Two that are written out are found by `rules`."""
    first: dict[str, _Entry] = {}
    for one in entries:
        table = one.held.value if isinstance(one.held.value, dict) else {}
        name = table.get("name", table.get("uses") if kind == "benchmarks" else None)
        if name is None or not isinstance(name.value, str):
            continue
        other = first.setdefault(name.value, one)
        if other is one or one.made is None:
            continue
        at, said = (*one.held.at, "name"), shown(name.value)
        if other.made is not None and other.held.at == one.held.at:
            text = f"{said} is made twice, by {other.made.of} and by {one.made.of}; use every axis in the name"
        else:
            line = line_of((*other.held.at, "name"), lines)
            text = f"{said} is made for {one.made.of}, but line {line} has this name, too; names must be unique"
        yield Problem(at, text)


def _with_names(entries: Mapping[Kind, list[_Entry]], problems: list[Problem]) -> list[_Entry]:
    """The benchmarks with the names of the configurations that their `for` chooses."""
    plains = [plain(one.held) for one in entries["configurations"]]
    tables = [one if isinstance(one, Mapping) else {} for one in plains]
    facts = [facts_of(one) for one in tables]
    found = []
    looks, room = 0, MOST_SIZE
    for one in entries["benchmarks"]:
        table = one.held.value
        if not isinstance(table, dict) or FOR not in table:
            found.append(one)
            continue
        at = table[FOR].at
        looks += len(facts) * words_of(table[FOR].value)
        if looks > MOST_LOOKS:
            problems.append(Problem(at, "so many words of selections and configurations take too long to match"))
            return found
        try:
            names = [tables[place].get("name") for place in _chosen(table, facts)]
            room = room_left(room, sum(len(str(name)) for name in names), at)
        except NotASelection as error:
            problems.append(Problem(at, str(error)))
            names = []
        except TooLarge as large:
            problems.append(large.problem)
            return found
        rest = {key: value for key, value in table.items() if key != FOR}
        rest["configurations"] = node(names, at)
        found.append(_Entry(Node(rest, one.held.at), one.made))
    return found


def _chosen(benchmark: Mapping[str, Node], facts: Sequence[Facts]) -> list[int]:
    selection = plain(benchmark[FOR])
    if "configurations" in benchmark:
        raise NotASelection("a benchmark has `for` or `configurations`, not both; remove one")
    if not isinstance(selection, str):
        expected = 'expected: a selection in quotes, as "aws and not vcpus:8"'
        raise NotASelection(f"{shown(selection)} is not allowed; {expected}")
    try:
        return chosen(selection, facts)
    except NotASelection as error:
        raise NotASelection(f"{shown(selection)}: {error}") from error
