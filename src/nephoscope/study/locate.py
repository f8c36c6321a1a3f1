"""The line of each key of a TOML text: path -> line.

tomllib reads values but records no positions. tree-sitter does
the lexing, because home-made scanners fail on multi-line strings, escapes, comments and brackets inside strings. It
only sees texts that tomllib accepts.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

Path = tuple[str | int, ...]
"""Keys and list indexes from the root: `("benchmarks", 1, "uses")`."""

_LANGUAGE = Language(tree_sitter_toml.language())
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTAINERS = {"inline_table", "array"}


def locate(text: str) -> dict[Path, int]:
    """Line (from 1) of every key, table and list element of a TOML text that tomllib accepts; the root is at line 1."""
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
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


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
    value = tomllib.loads(f"{text} = 0")
    while isinstance(value, dict):
        ((name, value),) = value.items()
        yield name
