"""Placeholders: `{type}` in a text or key of a matrix or of [defaults] stands for a value that differs by entry.

A text that is one placeholder and nothing else takes the value with its type, so that `size = "{size}"` may become a
number or a table. `{size?}` may lack a value: then its key is left out, or its element of a list, and a list that
would have no element left. `{type:slug}` is written as names are.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from string import Formatter
from typing import Any

from nephoscope.study.explain import Problem
from nephoscope.study.suggest import hint_among, shown
from nephoscope.study.toml_text import Path


@dataclass(frozen=True)
class Node:
    """A value and its place in the file."""

    value: Any
    """A table (dict of nodes), a list of nodes, or a scalar."""
    at: Path
    key_at: Path | None = None
    """Place of the key that holds it, if the value was filled in from elsewhere."""

    @cached_property
    def size(self) -> int:
        """Characters and values in it; what stands in it twice counts twice."""
        value, total = self.value, 1
        if isinstance(value, dict):
            total += sum(len(key) + inner.size for key, inner in value.items())
        elif isinstance(value, list):
            total += sum(inner.size for inner in value)
        return total + len(value) if isinstance(value, str) else total


def node(value: Any, at: Path) -> Node:
    """A value as read from TOML at a path of the file."""
    if isinstance(value, Mapping):
        return Node({key: node(inner, (*at, key)) for key, inner in value.items()}, at)
    if isinstance(value, list):
        return Node([node(inner, (*at, index)) for index, inner in enumerate(value)], at)
    return Node(value, at)


def merged(below: Node, above: Node) -> Node:
    """Tables merged by key, at any depth; of two other values the one above."""
    if not isinstance(below.value, dict) or not isinstance(above.value, dict):
        return above
    both = {key: merged(below.value[key], inner) if key in below.value else inner for key, inner in above.value.items()}
    return Node({**both, **{key: inner for key, inner in below.value.items() if key not in both}}, above.at)


def plain(held: Node) -> Any:
    """The value alone."""
    if isinstance(held.value, dict):
        return {key: plain(inner) for key, inner in held.value.items()}
    if isinstance(held.value, list):
        return [plain(inner) for inner in held.value]
    return held.value


def places(held: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    """Everything inside a value that is now at `path`, with its path."""
    yield path, held
    if isinstance(held.value, dict):
        inside = list(held.value.items())
    else:
        inside = list(enumerate(held.value)) if isinstance(held.value, list) else []
    for key, inner in inside:
        yield from places(inner, (*path, key))


VARIABLE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
MOST_SIZE = 4_000_000
"""Characters and values of everything that shorthands stand for; a file itself has at most 4 MiB."""
_MOST_DEPTH = 20
"""Of placeholders whose values hold placeholders."""
_SLUG = "slug"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")
_EXPECTED = "expected: `{name}`, `{name?}` or `{name:slug}`, with lower-case letters, digits and _; write a brace as {{"


class Unfilled(Exception):
    """A placeholder that cannot be filled in."""

    def __init__(self, path: Path, text: str, lacking: str | None = None) -> None:
        super().__init__(text)
        self.problem = Problem(path, text)
        self.lacking = lacking
        """Name of the placeholder that has no value."""


class TooLarge(Unfilled):
    """What it would be filled in with has more than `MOST_SIZE`: a few lines can stand for any number of characters."""


@dataclass(frozen=True)
class _Part:
    """Literal text, then a placeholder; `name` is None at the end of a text."""

    literal: str
    name: str | None = None
    optional: bool = False
    slug: bool = False


def names_in(held: Node) -> set[str]:
    """Names of all placeholders inside a value.

    Raises:
        Unfilled: a text has braces that are no placeholder.
    """
    if isinstance(held.value, dict):
        keys = (Node(key, inner.at) for key, inner in held.value.items())
        return {name for one in (*keys, *held.value.values()) for name in names_in(one)}
    if isinstance(held.value, list):
        return {name for inner in held.value for name in names_in(inner)}
    return {part.name for part in _parts(held) if part.name} if isinstance(held.value, str) else set()


def filled(held: Node, values: Mapping[str, Node]) -> Node | None:
    """The value with its placeholders filled in; None: an optional one has no value, so leave the key out.

    Args:
        held: tables, lists and texts.
        values: by name of the placeholder; they may hold placeholders themselves.

    Raises:
        Unfilled: a placeholder has no value or contains itself, or a table stands inside a text.
        TooLarge: see there.
    """
    return _Filling(values, {}).of(held, ())


@dataclass(frozen=True)
class _Filling:
    values: Mapping[str, Node]
    done: dict[str, Node | None]
    """Values whose own placeholders are filled in."""

    def of(self, held: Node, waiting: tuple[str, ...]) -> Node | None:
        """`waiting`: names whose values are being filled in."""
        if isinstance(held.value, dict):
            table: dict[str, Node] = {}
            room = MOST_SIZE
            for key, inner in held.value.items():
                name, value = self._key(key, inner, waiting), self.of(inner, waiting)
                if value is not None:
                    table[name] = value
                    room = room_left(room, len(name) + value.size, held.at)
            return Node(table, held.at)
        if isinstance(held.value, list):
            elements: list[Node] = []
            room = MOST_SIZE
            for inner in held.value:
                if (value := self.of(inner, waiting)) is not None:
                    elements.append(value)
                    room = room_left(room, value.size, held.at)
            return Node(elements, held.at) if elements or not held.value else None
        return self._text(held, waiting) if isinstance(held.value, str) else held

    def _key(self, key: str, held: Node, waiting: tuple[str, ...]) -> str:
        if "{" not in key and "}" not in key:
            return key
        found = self._text(Node(key, held.at), waiting)
        if found is None or isinstance(found.value, dict | list):
            raise Unfilled(held.at, f"{shown(key)} is not a key's name: the value of its placeholder must be text")
        return written(found.value)

    def _text(self, held: Node, waiting: tuple[str, ...]) -> Node | None:
        parts = list(_parts(held))
        if len(parts) == 1 and parts[0].name and not parts[0].literal and not parts[0].slug:
            value = self._value(parts[0], held, waiting)
            return value and replace(value, key_at=held.at)
        pieces: list[str] = []
        first: Path | None = None
        room = MOST_SIZE
        for part in parts:
            value = self._value(part, held, waiting) if part.name else None
            if value is not None:
                first = first or value.at
            pieces.append(part.literal + (_as_text(part, value, held) if value else ""))
            room = room_left(room, len(pieces[-1]), held.at)
        return Node("".join(pieces), first or held.at, key_at=held.at)

    def _value(self, part: _Part, held: Node, waiting: tuple[str, ...]) -> Node | None:
        name = part.name or ""
        if name in self.done:
            return self.done[name]
        if name in waiting:
            chain = " -> ".join(f"{{{one}}}" for one in (*waiting[waiting.index(name) :], name))
            raise Unfilled(held.at, f"the values of placeholders contain each other: {chain}")
        if name in self.values:
            if len(waiting) == _MOST_DEPTH:
                raise TooLarge(held.at, f"placeholders in values of placeholders, more than {_MOST_DEPTH} deep")
            self.done[name] = self.of(self.values[name], (*waiting, name))
            return self.done[name]
        if part.optional:
            return None
        otherwise = "" if self.values else "only a [[matrix]] gives values to placeholders"
        hint = hint_among(name, self.values, "`{{{}}}`", otherwise)
        raise Unfilled(held.at, f"nothing gives a value to `{{{name}}}`; {hint}", lacking=name)


def room_left(room: int, size: int, at: Path) -> int:
    """Of `MOST_SIZE`, once so much more stands for what is written at this place of the file.

    Raises:
        TooLarge: it is more than there was room for.
    """
    if size > room:
        raise TooLarge(at, f"this stands for more than {MOST_SIZE:,} characters and values, which no study needs")
    return room - size


def _as_text(part: _Part, value: Node, held: Node) -> str:
    if isinstance(value.value, dict | list):
        text = f"the value of `{{{part.name}}}` is {shown(plain(value))}, which cannot be part of a text"
        raise Unfilled(held.at, text)
    text = written(value.value)
    return _NOT_IN_NAMES.sub("-", text.lower()) if part.slug else text


def escaped(held: Node) -> Node:
    """The value with its braces written so that they stay braces when it is filled in."""
    if isinstance(held.value, dict):
        return Node({_escaped(key): escaped(inner) for key, inner in held.value.items()}, held.at)
    if isinstance(held.value, list):
        return Node([escaped(inner) for inner in held.value], held.at)
    text = held.value
    return Node(_escaped(text), held.at) if isinstance(text, str) else held


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def written(value: Any) -> str:
    """A scalar as a name or a key of `by` shows it: 8, 1.5, true, gp3."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parts(held: Node) -> Iterator[_Part]:
    text: str = held.value
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise Unfilled(held.at, f"{shown(text)} has a brace that belongs to no placeholder; {_EXPECTED}") from error
    for literal, field, spec, conversion in pieces:
        if field is None:
            yield _Part(literal)
            continue
        name = field.removesuffix("?")
        if not VARIABLE.fullmatch(name) or conversion or spec not in ("", _SLUG):
            raise Unfilled(held.at, f"`{{{field}{f':{spec}' if spec else ''}}}` is not a placeholder; {_EXPECTED}")
        yield _Part(literal, name, optional=field.endswith("?"), slug=spec == _SLUG)
