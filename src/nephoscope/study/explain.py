"""Turns pydantic's errors into sentences about a file: place, given value, what is allowed, what to try."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails

from nephoscope.model.frozen import CONFLICT
from nephoscope.study import wanted
from nephoscope.study.locate import Path, show
from nephoscope.study.nicknames import meant_by
from nephoscope.study.suggest import as_number, meant, shown, unknown_key
from nephoscope.study.wanted import Schema

_SECRET_KEYS = {"dsn"}
_SECRET_SIGNS = ("://", "password")
"""Values of these keys, or that contain these characters, are never shown: they may hold a password."""

_TOLD_ELSEWHERE = {"names_not_unique"}
"""`rules` finds these again, with both lines."""

_OWN_WORDS = {"value_error", "assertion_error"}


@dataclass(frozen=True)
class Problem:
    """One problem of a study and its place: the key, or the table in which one is missing."""

    path: Path
    text: str
    of_key: bool = False
    """It is about the key itself, whatever its value."""


def explain(errors: Sequence[ErrorDetails], data: Any, schema: Schema) -> list[Problem]:
    """One problem for each place; `data` is what was validated, `schema` the JSON Schema it was validated by."""
    places: dict[Path, list[ErrorDetails]] = {}
    for error in errors:
        if error["type"] not in _TOLD_ELSEWHERE:
            places.setdefault(_place(error, data), []).append(error)
    unknown = {path for path, found in places.items() if found[0]["type"] == "extra_forbidden"}
    expected = {place for path in unknown for place in _meant(path, schema)}
    return [
        Problem(path, _sentence(path, found, data, schema), of_key=path in unknown)
        for path, found in places.items()
        if not (found[0]["type"] == "missing" and path in expected)
        and not (found[0]["type"] == "too_short" and _wrong_inside(path, places))
    ]


def _wrong_inside(path: Path, places: Iterable[Path]) -> bool:
    """True if elements of a list are wrong: pydantic then leaves them out and also calls the list too short."""
    return any(len(place) > len(path) and place[: len(path)] == path for place in places)


def _place(error: ErrorDetails, data: Any) -> Path:
    """The error's path, without the tags that pydantic adds for alternatives of a union."""
    path: Path = ()
    for part in error["loc"]:
        held = isinstance(data, list) if isinstance(part, int) else isinstance(data, Mapping) and part in data
        if held:
            data = data[part]
            path = (*path, part)
    return (*path, error["loc"][-1]) if error["type"] == "missing" else path


def _meant(path: Path, schema: Schema) -> Iterator[Path]:
    """Paths of the keys that an unknown key may mean."""
    return ((*path[:-1], key) for key in meant(str(path[-1]), wanted.keys(schema, path[:-1])))


def _sentence(path: Path, errors: Sequence[ErrorDetails], data: Any, schema: Schema) -> str:
    key = str(path[-1]) if path else ""
    kind = errors[0]["type"]
    if kind == "extra_forbidden":
        return unknown_key(key, errors[0]["input"], wanted.keys(schema, path[:-1]))
    if kind in _OWN_WORDS:
        return str(errors[0].get("ctx", {}).get("error", errors[0]["msg"]))
    if kind.startswith(("dsn_", "ingress_")) or kind == CONFLICT:
        return errors[0]["msg"]
    rules = wanted.find(schema, path)
    words = wanted.in_words(schema, rules, _key_with_unit(path)) if rules is not None else errors[0]["msg"]
    meaning = f" ({rules['description']})" if rules is not None and "description" in rules else ""
    if kind == "missing":
        return f"missing; expected: {words}{meaning}"
    given = shown(_value_at(data, path))
    if key in _SECRET_KEYS or any(sign in given.lower() for sign in _SECRET_SIGNS):
        given = "this value"
    question = meant_by(key, str(errors[0]["input"]), _choices(rules, schema)) if kind == "literal_error" else ""
    if question:
        return f"{given} is not allowed; {question} Allowed: {words}"
    return f"{given} is not allowed; expected: {words}{meaning}{_advice(path, data, schema)}"


def _choices(rules: Schema | None, schema: Schema) -> list[str]:
    """Texts that a key may hold, where only some may."""
    found = wanted.variants(schema, rules) if rules is not None else ()
    return [str(value) for choice in found for value in choice.get("enum", ())]


def _advice(path: Path, data: Any, schema: Schema) -> str:
    """How to write what was probably meant if text and numbers were mixed up."""
    rules, value = wanted.find(schema, path), _value_at(data, path)
    types = wanted.types_of(schema, rules) if rules is not None else set()
    if isinstance(value, str) and types & {"integer", "number"}:
        key = _key_with_unit(path)
        example = as_number(value, key)
        return f"; write it without quotes and unit: {example}" if example else ""
    if types == {"string"} and not isinstance(value, str | list | dict):
        return f"; write it in quotes: {show(path[-1:])} = {shown(shown(value))}"
    return ""


def _key_with_unit(path: Path) -> str:
    """The key that holds a value, or holds the list that holds it."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _value_at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def below(prefix: Path, problems: Iterable[Problem]) -> Iterator[Problem]:
    """The same problems, with paths from further up."""
    return (Problem((*prefix, *problem.path), problem.text, problem.of_key) for problem in problems)
