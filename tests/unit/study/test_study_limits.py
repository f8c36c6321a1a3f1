"""Studies that are too large for any use are told in time, before a parser spends minutes or gigabytes on them."""

import time
from pathlib import Path

import pytest

from nephoscope.app.files import read_text
from nephoscope.model.bounded_toml import MAX_BYTES, MAX_ENTRIES, MAX_NESTING, beyond_limits
from nephoscope.model.errors import InputError, StudyError
from nephoscope.providers.ssh import _inventory
from nephoscope.store.files import read_toml
from nephoscope.study.claims import load_claims
from nephoscope.study.load import load_study
from nephoscope.study.suggest import hint_among, nearest
from tests.unit.study.study_example import KNOWN, MINIMAL

LONG_MS = 20_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [" + "1," * 6_000_000 + "]\n", "s.toml:1: larger than 4 MiB"),
        ("x = [\n" + "1," * MAX_ENTRIES + "]\n", "s.toml:2: more than 100,000 keys"),
        ("".join(f"k{number} = 1\n" for number in range(400_000)), "s.toml:1: larger than 4 MiB"),
        ("".join(f"k{number}=1\n" for number in range(MAX_ENTRIES + 1)), "s.toml:100001: more than 100,000 keys"),
        ("".join(f"[k{number}]\n" for number in range(MAX_ENTRIES + 1)), "s.toml:100001: more than 100,000 keys"),
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


AXES = "axes = { a = [" + ", ".join(map(str, range(1, 101))) + "], b = [" + ", ".join(map(str, range(1, 101))) + "] }\n"
TEN_THOUSAND = '[[matrix]]\nname = "c{a}-{b}"\n' + AXES
BENCHMARK = '[[benchmarks]]\nuses = "stress-ng"\n'
STUDY = 'name = "s"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{STUDY}replicates = 21\n{TEN_THOUSAND}{BENCHMARK}", "210,000 trials; a study has at most 200,000"),
        (f'{STUDY}{TEN_THOUSAND}{BENCHMARK}for = "{" or ".join(["local"] * 200)}"\n', "take too long to match"),
        (
            STUDY + TEN_THOUSAND + "".join(f'{BENCHMARK}name = "b{one}"\nfor = "local"\n' for one in range(80)),
            "stands for more than 4,000,000 characters",
        ),
        (
            STUDY + MINIMAL.partition("\n")[2] + "".join(f'[[contrasts]]\nname = "k{n}"\n' for n in range(201)),
            "contrasts: ",
        ),
    ],
)
def test_a_few_lines_that_stand_for_too_much_are_told_before_it_is_made(text: str, said: str) -> None:
    with pytest.raises(StudyError) as told:
        load_study(text, "s.toml", KNOWN)
    assert said in str(told.value)


@pytest.mark.parametrize("quotes", ['"' + '\\"' * 200_000, "'", '"""' + '\\"' * 200_000, "'''" + "'\n" * 100_000])
def test_a_text_without_an_end_is_read_once(quotes: str) -> None:
    """Each quote in it could begin a text of its own."""
    begun = time.process_time()
    assert beyond_limits(f"x = {quotes}") is None
    assert 1000 * (time.process_time() - begun) < LONG_MS


@pytest.mark.parametrize("deep", [".".join("a" * 100) + " = 1", "x = " + "[" * 100])
def test_other_files_in_toml_are_no_deeper(deep: str, tmp_path: Path) -> None:
    """The time that Python's reader takes for a key grows with the square of its parts."""
    file = tmp_path / "hosts.toml"
    file.write_text(deep)
    for read in (lambda: load_claims(deep, "c.toml"), lambda: _inventory(str(file)), lambda: read_toml(file, mend="")):
        with pytest.raises(InputError, match="nested more than 30 deep"):
            read()


def test_an_error_has_as_many_lines_as_somebody_reads() -> None:
    with pytest.raises(InputError) as told:
        load_claims("".join(f"x{number} = 1\n" for number in range(10_000)), "c.toml")
    lines = told.value.message.splitlines()
    assert len(lines) == 201
    assert lines[-1] == "and 9,801 more lines"


def test_no_more_is_explained_than_somebody_reads() -> None:
    """Each takes a look at all names that there are."""
    names = ", ".join(f'"other-{one}"' for one in range(300))
    with pytest.raises(StudyError) as told:
        load_study(f"{MINIMAL}configurations = [{names}]\n", "s.toml", KNOWN)
    lines = str(told.value).splitlines()
    assert len(lines) == 101
    assert any("there are more problems" in line for line in lines)


def test_words_are_compared_as_far_as_somebody_writes_them() -> None:
    assert nearest("a" * 150 + "b", ["a" * 150 + "c"]) is not None
    assert nearest("a" * 250 + "b", ["a" * 250 + "c"]) is None
    assert nearest("near", [*(f"x{one}" for one in range(5_000)), "nears"]) is None
    assert hint_among("x", [f"name-{one}" for one in range(5_000)]).endswith("name-99, and 4,900 more")


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
