"""YAML of strangers: the library builds values by recursion in C, and a text that nests deeply kills the process.

It also keeps the last of two equal keys, which the language forbids: here they are refused. So are merges
(`<<`), which no file that nephoscope reads has: by merges of merges, 400 bytes become ten million keys.
"""

from typing import Any

import yaml

MAX_NESTING = 50
_MERGE = "tag:yaml.org,2002:merge"


def load_yaml(text: str | bytes, loader: Any) -> Any:
    """What the text holds, as `yaml.load` makes it.

    Args:
        text: one document.
        loader: a safe one.

    Raises:
        yaml.YAMLError: it is not YAML, has a key twice with different values, has a merge, or is nested too deeply;
            reading events needs no recursion.
        ValueError: a value of it is impossible.
    """
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            raise yaml.YAMLError(f"nested more than {MAX_NESTING} deep")
    reader = loader(text)
    try:
        node = reader.get_single_node()
        if node is None:
            return None
        _require_single_keys(node)
        return reader.construct_document(node)
    finally:
        reader.dispose()


def _require_single_keys(root: yaml.Node) -> None:
    waiting, seen = [root], {id(root)}  # by identity: aliases let a node stand in several places
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode):
            continue
        below = node.value
        if isinstance(node, yaml.MappingNode):
            values: dict[str, yaml.Node] = {}
            for key, value in node.value:
                if key.tag == _MERGE:
                    raise yaml.YAMLError("it merges mappings (<<): write out what they hold")
                other = values.setdefault(str(key.value), value)
                if other is not value and (other.tag, other.value) != (value.tag, value.value):
                    raise yaml.YAMLError(f"{key.value!r} stands twice in one mapping, with different values")
            below = [part for pair in node.value for part in pair]
        waiting += [part for part in below if id(part) not in seen]
        seen |= set(map(id, below))
