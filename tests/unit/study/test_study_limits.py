"""Studies that are too large for any use are told in time, before a parser spends minutes or gigabytes on them."""

import time
from pathlib import Path

import pytest

from nephoscope.app.files import read_text
from nephoscope.model.errors import InputError, StudyError
from nephoscope.study.load import load_study
from nephoscope.study.toml_text import MAX_BYTES, MAX_ENTRIES, MAX_NESTING, beyond_limits
from tests.unit.study.study_example import KNOWN, MINIMAL

LONG_MS = 20_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [" + "1," * 6_000_000 + "]\n", "s.toml:1: larger than 4 MiB"),
        ("x = [\n" + "1," * MAX_ENTRIES + "]\n", "s.toml:2: more than 100,000 keys"),
        ("".join(f"k{number} = 1\n" for number in range(400_000)), "s.toml:1: larger than 4 MiB"),
        ("".join(f"k{number}=1\n" for number in range(MAX_ENTRIES + 1)), "s.toml:100001: more than 100,000 keys"),
        (".".join("a" * 20_000) + " = 1\n", "s.toml:1: nested more than 30 deep"),
        ("\n\n[" + ".".join("a" * 20_000) + "]\n", "s.toml:3: nested more than 30 deep"),
        ("# [\nx = " + "[" * 60_000, "s.toml:2: nested more than 30 deep"),
        ("x = " + "{a=" * 60_000, "s.toml:1: nested more than 30 deep"),
    ],
)
def test_what_is_too_large_is_told_with_its_line_in_time(text: str, said: str) -> None:
    begun = time.process_time()
    with pytest.raises(StudyError, match=said.replace(".", r"\.")):
        load_study(text + MINIMAL, "s.toml", KNOWN)
    assert 1000 * (time.process_time() - begun) < LONG_MS


def test_many_unknown_keys_are_told_in_time() -> None:
    begun = time.process_time()
    with pytest.raises(StudyError) as told:
        load_study("".join(f"k{number} = 1\n" for number in range(10_000)) + MINIMAL, "s.toml", KNOWN)
    assert 1000 * (time.process_time() - begun) < LONG_MS
    lines = str(told.value).splitlines()
    assert len(lines) == 101
    assert any("9,900 more problems" in line for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        '"' + "." * 100 + '" = 1',
        'x = """\n' + "[" * 100 + '\n"""',
        "x = '" + "{" * 100 + "'",
        "# " + "a." * 100,
        'x = "\\"' + "[" * 100 + '"',
        "x = [" + "1.5, " * 1000 + "]",
    ],
)
def test_what_is_text_or_a_comment_counts_nothing(text: str) -> None:
    assert beyond_limits(text) is None
    assert beyond_limits(text + "\n" + "[" * (MAX_NESTING + 1)) is not None


def test_a_file_that_is_not_utf_8_is_told_with_line_and_offset(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b'name = "a"\ntitle = "\xe9t\xe9"\n')
    with pytest.raises(InputError, match=r"s\.toml:2: not UTF-8 text: byte 20 is 0xe9"):
        read_text(file)
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError, match="larger than 4 MiB"):
        read_text(file)
