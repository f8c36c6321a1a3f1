"""YAML that nests deeply is rejected; the library itself dies of it with SIGSEGV."""

import pytest
import yaml

from nephoscope.model.bounded_yaml import load_yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@pytest.mark.parametrize("part", ["[", "{a: ", "- ", "-  ", "-\t", "? "])
def test_deep_nesting_is_an_error_and_no_crash(part: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load_yaml(part * 60_000 + "x", LOADER)


def test_what_is_flat_is_read() -> None:
    assert load_yaml("a: [1, 2]\nb: {c: d}\n", LOADER) == {"a": [1, 2], "b": {"c": "d"}}
