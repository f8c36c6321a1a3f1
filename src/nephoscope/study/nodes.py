"""Values of a study file that know their place in it, so that what is made of them can be traced to a line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nephoscope.study.locate import Path


@dataclass(frozen=True)
class Node:
    """A value and its place in the file."""

    value: Any
    """A table (dict of nodes), a list of nodes, or a scalar."""
    at: Path
    key_at: Path | None = None
    """Place of the key that holds it, if the value was filled in from elsewhere."""


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
