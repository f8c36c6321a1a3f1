"""Lines of keys: right for everything TOML can write, and complete for everything tomllib reads."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.study.toml_text import Path, line_of, locate, show
from tests.unit.study.study_example import LAPTOP

TEXT = '''\
a.b = 1
"q\\u0041 [x" = """
[not.a.table]
c = 1
"""  # """
[t.u]  # ] = "
x = [
  1,
  { y = 2, "z.z".w = \'\'\'
multi
\'\'\', v = [
     7 ] },
]
[[arr]]
k = 2020-01-01
[[arr.sub]]
v = inf
[arr.sub.deep]
w = 1
[[arr]]
[[arr.sub]]
[t]
late = "#"
'''

EXPECTED: dict[Path, int] = {
    ("a",): 1,
    ("a", "b"): 1,
    ("qA [x",): 2,
    ("t", "u"): 6,
    ("t", "u", "x"): 7,
    ("t", "u", "x", 0): 8,
    ("t", "u", "x", 1): 9,
    ("t", "u", "x", 1, "z.z", "w"): 9,
    ("t", "u", "x", 1, "v"): 11,
    ("t", "u", "x", 1, "v", 0): 12,
    ("arr",): 14,
    ("arr", 0): 14,
    ("arr", 0, "k"): 15,
    ("arr", 0, "sub", 0): 16,
    ("arr", 0, "sub", 0, "v"): 17,
    ("arr", 0, "sub", 0, "deep"): 18,
    ("arr", 0, "sub", 0, "deep", "w"): 19,
    ("arr", 1): 20,
    ("arr", 1, "sub", 0): 21,
    ("t",): 22,
    ("t", "late"): 23,
}


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_construction_of_toml(newline: str) -> None:
    lines = locate(TEXT.replace("\n", newline))
    assert {path: lines.get(path) for path in EXPECTED} == EXPECTED


@pytest.mark.parametrize("text", [TEXT, LAPTOP.read_text(), ""], ids=["example", "laptop", "empty"])
def test_every_place_of_the_value_has_a_line(text: str) -> None:
    assert set(locate(text)) == set(paths(tomllib.loads(text)))


KEYS = st.text(alphabet="ab. \"[#='\n\\é", max_size=4)
VALUES = st.recursive(
    st.text(alphabet="ab\"'#[]{}\n\\é", max_size=6) | st.integers(-9, 9) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def quoted(text: str) -> str:
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = text.replace(sign, escaped)
    return f'"{text}"'


def inline(value: Any, newline: str) -> str:
    """A value as TOML, with line ends and comments wherever lists allow them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {inline(inner, newline)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"{newline}# ] , [{newline}{inline(inner, newline)} ," for inner in value) + newline + "]"
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower()


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_any_value_written_inline(value: dict[str, Any], newline: str) -> None:
    text = "".join(f"{quoted(key)} = {inline(inner, newline)}{newline}" for key, inner in value.items())
    assert tomllib.loads(text) == value
    lines = locate(text)
    assert set(lines) == set(paths(value))
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=5), st.integers(0, 3))
def test_tables_in_tables_stand_where_they_were_written(tables: list[list[int]], blank: int) -> None:
    text = ""
    expected: dict[Path, int] = {(): 1}
    for index, values in enumerate(tables):
        text += "\n" * blank + "[[t]]\n"
        expected.setdefault(("t",), text.count("\n"))
        expected["t", index] = text.count("\n")
        for number, value in enumerate(values):
            text += f"[t.k{number}]\n# {value}\nv = {value}\n"
            expected["t", index, f"k{number}"] = text.count("\n") - 2
            expected["t", index, f"k{number}", "v"] = text.count("\n")
    assert locate(text) == expected


def test_what_is_missing_is_looked_for_further_out() -> None:
    assert line_of(("arr", 0, "sub", 0, "none", "there"), locate(TEXT)) == 16
    assert line_of(("none",), locate(TEXT)) == 1


def test_paths_read_as_people_write_them() -> None:
    assert show(("benchmarks", 1, "parameters", "rows")) == "benchmarks[1].parameters.rows"
    assert show(("settings", "a.b")) == 'settings."a.b"'
    assert show(()) == ""
