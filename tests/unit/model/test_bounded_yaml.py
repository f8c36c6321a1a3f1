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


def test_merges_of_merges_are_an_error_and_not_ten_million_keys() -> None:
    merges = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 10))
    with pytest.raises(yaml.YAMLError, match="merges mappings"):
        load_yaml("a0: &a0 {k: v}\n" + merges, LOADER)
