"""Plain values -> TOML as a person reads it: one key a line, a heading for each entry of a list of tables."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.study.locate import as_key


def toml_text(data: Mapping[str, Any]) -> str:
    """A TOML document; tables at the top get headings, those inside them are inline."""
    keys, tables = [], []
    for key, value in data.items():
        if isinstance(value, Mapping):
            tables += [f"\n[{as_key(key)}]", *_pairs(value)]
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            tables += [line for one in value for line in (f"\n[[{as_key(key)}]]", *_pairs(one))]
        else:
            keys.append(f"{as_key(key)} = {toml_value(value)}")
    return "\n".join([*keys, *tables, ""])


def toml_value(value: Any) -> str:
    """A value on one line; JSON's quoted text is also TOML's, but for one character."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{as_key(key)} = {toml_value(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Text in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{as_key(key)} = {toml_value(value)}" for key, value in table.items())
