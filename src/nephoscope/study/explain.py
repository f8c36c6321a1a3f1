"""Turns pydantic's errors into sentences about a file: place, given value, what is allowed, what to try.

What a key may hold is derived from a JSON Schema: one source for error messages and for the reference.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic_core import ErrorDetails

from nephoscope.model.frozen import CONFLICT
from nephoscope.study.suggest import as_number, meant, meant_by, number, shown, unit_in_words, unknown_key
from nephoscope.study.toml_text import Path, show

Schema = Mapping[str, Any]


def variants(root: Schema, schema: Schema) -> Iterator[Schema]:
    """The alternatives of a schema, references followed. Null is left out: TOML cannot say it."""
    while "$ref" in schema:
        schema = root["$defs"][str(schema["$ref"]).removeprefix("#/$defs/")]
    choices = [choice for word in ("anyOf", "oneOf", "allOf") for choice in schema.get(word, [])]
    for choice in choices:
        yield from variants(root, choice)
    if not choices and schema.get("type") != "null":
        yield schema


def find(root: Schema, path: Path) -> Schema | None:
    """The schema of the value at a path; None if nothing is allowed there."""
    found: list[Schema] = [root]
    for part in path:
        found = [step for schema in found for choice in variants(root, schema) for step in _step(choice, part)]
    return found[0] if found else None


def _step(schema: Schema, part: str | int) -> Iterator[Schema]:
    if isinstance(part, int):
        place = schema.get("prefixItems", [])[part : part + 1] or [schema.get("items")]
        below: Any = place[0]
    else:
        below = schema.get("properties", {}).get(part, schema.get("additionalProperties"))
    if isinstance(below, Mapping):
        yield below


def keys(root: Schema, path: Path) -> list[str]:
    """The keys allowed in the table at a path, in the model's order."""
    schema = find(root, path)
    choices = variants(root, schema) if schema is not None else iter(())
    return list(dict.fromkeys(key for choice in choices for key in choice.get("properties", {})))


def in_words(root: Schema, schema: Schema, key: str = "") -> str:
    """`a number of seconds greater than 0`. The key gives the unit."""
    words = list(dict.fromkeys(_one(root, choice, key) for choice in variants(root, schema)))
    return _either(words) or "any value"


def types_of(root: Schema, schema: Schema) -> set[str]:
    """JSON types a value may have: `integer`, `number`, `string`, `boolean`, `array`, `object`."""
    return {str(choice["type"]) for choice in variants(root, schema) if "type" in choice}


def _one(root: Schema, schema: Schema, key: str) -> str:
    if "const" in schema or "enum" in schema:
        return _either([json.dumps(value) for value in schema.get("enum", [schema.get("const")])])
    match schema.get("type"):
        case "integer" | "number" as kind:
            unit = unit_in_words(key)
            words = "a whole number" if kind == "integer" else "a number"
            return words + (f" of {unit}" if unit else "") + _range(schema)
        case "string":
            return "text in quotes" + _shape(schema)
        case "array" | "object" as kind:
            return _list(root, schema, key) if kind == "array" else _table(root, schema)
        case kind:
            return "true or false" if kind == "boolean" else "any value"


def _list(root: Schema, schema: Schema, key: str) -> str:
    least, items = schema.get("minItems", 0), schema.get("items")
    of = in_words(root, items, key) if isinstance(items, Mapping) else ""
    return "a list" + (f" of at least {least}" if least else "") + (f", each {of}" if of else "")


def _table(root: Schema, schema: Schema) -> str:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping) and values and not schema.get("properties"):
        return f"a table whose values are each {in_words(root, values)}"
    return "a table"


def _range(schema: Schema) -> str:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {number(low)} to {number(high)}"
    limits = [
        f"{words} {number(limit)}"
        for words, limit in (("of at least", low), ("greater than", above), ("of at most", high), ("less than", below))
        if limit is not None
    ]
    return f" {' and '.join(limits)}" if limits else ""


def _shape(schema: Schema) -> str:
    if "x-pattern-in-words" in schema:
        return f": {schema['x-pattern-in-words']}"
    if "pattern" in schema:
        return f" that matches {schema['pattern']}"
    return " that is not empty" if schema.get("minLength") == 1 else ""


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


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


MOST_PROBLEMS = 100
"""Nobody reads more at once, and each takes a millisecond to explain."""


def first_problems(problems: Iterable[Problem]) -> list[Problem]:
    """As many as somebody reads; no others are looked for."""
    found = list(islice(problems, MOST_PROBLEMS + 1))
    if len(found) > MOST_PROBLEMS:
        found[MOST_PROBLEMS:] = [Problem((), "there are more problems; correct these first")]
    return found


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
    return ((*path[:-1], key) for key in meant(str(path[-1]), keys(schema, path[:-1])))


def _sentence(path: Path, errors: Sequence[ErrorDetails], data: Any, schema: Schema) -> str:
    key = str(path[-1]) if path else ""
    kind = errors[0]["type"]
    if kind == "extra_forbidden":
        return unknown_key(key, errors[0]["input"], keys(schema, path[:-1]))
    if kind in _OWN_WORDS:
        return str(errors[0].get("ctx", {}).get("error", errors[0]["msg"]))
    if kind.startswith(("dsn_", "ingress_")) or kind == CONFLICT:
        return errors[0]["msg"]
    rules = find(schema, path)
    words = in_words(schema, rules, _key_with_unit(path)) if rules is not None else errors[0]["msg"]
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
    found = variants(schema, rules) if rules is not None else ()
    return [str(value) for choice in found for value in choice.get("enum", ())]


def _advice(path: Path, data: Any, schema: Schema) -> str:
    """How to write what was probably meant if text and numbers were mixed up."""
    rules, value = find(schema, path), _value_at(data, path)
    types = types_of(schema, rules) if rules is not None else set()
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
