"""What a key may hold, in words, derived from a JSON Schema: one source for error messages and for the reference."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.study.locate import Path

Schema = Mapping[str, Any]

_UNIT_WORDS = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "hours": "hours",
    "bytes": "bytes",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "tib": "TiB",
    "percent": "percent",
    "usd": "US dollars",
    "usd_per_hour": "US dollars per hour",
    "mib_per_s": "MiB per second",
    "per_s": "operations per second",
}


def unit_of(key: str) -> str:
    """The unit at the end of a key (`s` of `duration_s`); empty if there is none."""
    parts = key.split("_")
    tails = ("_".join(parts[start:]) for start in range(1, len(parts)))
    return next((tail for tail in tails if tail in _UNIT_WORDS), "")


def unit_in_words(key: str) -> str:
    """`seconds` of `duration_s`; empty if the key has no unit."""
    return _UNIT_WORDS.get(unit_of(key), "")


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


def number(value: float) -> str:
    """A number as TOML and people write it: no `.0` after whole numbers."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
