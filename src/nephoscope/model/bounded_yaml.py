"""YAML of strangers: the library builds values by recursion in C, and a text that nests deeply kills the process."""

from typing import Any

import yaml

MAX_NESTING = 50


def load_yaml(text: str | bytes, loader: Any) -> Any:
    """What the text holds, as `yaml.load` makes it.

    Args:
        text: one document.
        loader: a safe one.

    Raises:
        yaml.YAMLError: it is not YAML, or is nested too deeply; reading events needs no recursion.
        ValueError: a value of it is impossible.
    """
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            raise yaml.YAMLError(f"nested more than {MAX_NESTING} deep")
    return yaml.load(text, Loader=loader)  # noqa: S506  # see Args
