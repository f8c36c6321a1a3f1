"""TOML as text: the line of each key, and how values are written.

Python reads values but records no positions. tree-sitter does the lexing, because home-made scanners fail on
multi-line strings, escapes, comments and brackets inside strings. It only sees texts that Python accepts.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from nephoscope.model.bounded_toml import load_toml

Path = tuple[str | int, ...]
"""Keys and list indexes from the root: `("benchmarks", 1, "uses")`."""

_LANGUAGE = Language(tree_sitter_toml.language())
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTAINERS = {"inline_table", "array"}


def locate(text: str) -> dict[Path, int]:
    """Line (from 1) of every key, table and list element of a TOML text that Python accepts; the root is at line 1."""
    tree = Parser(_LANGUAGE).parse(text.encode())
    lines: dict[Path, int] = {(): 1}
    lengths: Counter[Path] = Counter()
    for node in tree.root_node.named_children:
        if node.type == "pair":
            _pair((), node, lines)
        elif node.type in {"table", "table_array_element"}:
            _table(node, lines, lengths)
    return lines


def line_of(path: Path, lines: Mapping[Path, int]) -> int:
    """Line of a path, or of the nearest enclosing item in the text."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def show(path: Path) -> str:
    """A path as people write it: `benchmarks[1].parameters.rows`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{as_key(part)}" for part in path)
    return text.removeprefix(".")


def as_key(name: str) -> str:
    """A key as TOML writes it: bare if it may be, else quoted."""
    return name if _BARE.fullmatch(name) else quoted(name)


def _table(node: Node, lines: dict[Path, int], lengths: Counter[Path]) -> None:
    """A `[table]` or an element of `[[tables]]`; a list on the way to it means its last element so far."""
    key, *pairs = [child for child in node.named_children if child.type != "comment"]
    names = list(_names(key))
    path: Path = ()
    for depth, name in enumerate(names):
        path = (*path, name)
        if node.type == "table_array_element" and depth == len(names) - 1:
            lengths[path] += 1
        _note(path, node, lines)
        if lengths[path]:
            path = (*path, lengths[path] - 1)
            _note(path, node, lines)
    lines[path] = node.start_point.row + 1
    for pair in pairs:
        _pair(path, pair, lines)


def _pair(path: Path, node: Node, lines: dict[Path, int]) -> None:
    """`key = value`, with everything inside the value. A loop, as a text can nest deeper than Python's stack."""
    waiting = [(path, node)]
    while waiting:
        path, node = waiting.pop()
        children = [child for child in node.named_children if child.type != "comment"]
        if node.type == "pair" and len(children) == 2:
            key, value = children
            for name in _names(key):
                path = (*path, name)
                _note(path, key, lines)
            if value.type in _CONTAINERS:
                waiting.append((path, value))
        elif node.type == "inline_table":
            waiting.extend((path, child) for child in reversed(children))
        elif node.type == "array":
            for index, child in enumerate(children):
                _note((*path, index), child, lines)
                if child.type in _CONTAINERS:
                    waiting.append(((*path, index), child))


def _note(path: Path, node: Node, lines: dict[Path, int]) -> None:
    lines.setdefault(path, node.start_point.row + 1)


def _names(key: Node) -> Iterator[str]:
    """The parts of a bare, quoted or dotted key, with escapes decoded."""
    text = (key.text or b"").decode()
    value = load_toml(f"{text} = 0")
    while isinstance(value, dict):
        ((name, value),) = value.items()
        yield name


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
