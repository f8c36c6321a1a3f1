"""A few lines of a study can stand for any number of characters, entries and comparisons: that is told, and soon."""

import pytest

from nephoscope.app.stages.planning import load
from nephoscope.model.errors import StudyError

HEAD = 'name = "s"\nreplicates = 1\n'
BENCHMARK = '[[benchmarks]]\nuses = "fake"\n'
MATRIX = '[[matrix]]\nname = "x-{a}"\nprovider = "fake"\naxes = { a = ["x"] }\n'
NAMES = [(f"p{n}", f"{{p{n + 1}}}") for n in range(12)]
TENFOLD = "".join(f'{name} = "{below * 10}"\n' for name, below in NAMES)
LISTS = "".join(f"{name} = {[below] * 10}\n" for name, below in NAMES)
CHAIN = "".join(f'p{n} = "{{p{n + 1}}}"\n' for n in range(3_000))
LONG = "x" * 100_000
LONG_KEYS = "".join(f'{f"k{n}" * 500} = "x"\n' for n in range(50))
TOO_MUCH = "stands for more than 4,000,000 characters and values"
FIRST = MATRIX + 'labels = { l = "{p0}" }\n[matrix.by.a.x]\n'
FURTHER = ", ".join(f"{{a = {n}}}" for n in range(20_000))
LEFT_OUT = ", ".join(f"{{a = {n}}}" for n in range(5_000))
BOMBS = {
    "texts in texts": (FIRST + TENFOLD + 'p12 = "x"\n', TOO_MUCH),
    "lists in lists": (FIRST + LISTS + 'p12 = "x"\n', TOO_MUCH),
    "nothing in texts": (FIRST + TENFOLD + 'p12 = ""\n', "s.toml:"),
    "a chain": (FIRST + CHAIN + 'p3000 = "x"\n', "more than 20 deep"),
    "a long text often": (
        f'[[matrix]]\nname = "x"\naxes = {{ a = ["{LONG}"] }}\nlabels = {{ l = "{"{a}" * 10_000}" }}\n',
        TOO_MUCH,
    ),
    "many entries": (
        f'[[matrix]]\nname = "x{{a}}"\naxes = {{ a = {list(range(5_000))} }}\n[matrix.database.settings]\n{LONG_KEYS}',
        TOO_MUCH,
    ),
    "many configurations": (
        "".join(f'[[configurations]]\nname = "c{n}"\n' for n in range(5_000))
        + f"[defaults.database.settings]\n{LONG_KEYS}",
        TOO_MUCH,
    ),
    "further combinations": (
        f'[[matrix]]\nname = "{{a}}"\naxes = {{ a = ["x"] }}\ninclude = [{FURTHER}]\n',
        "20,001 combinations",
    ),
    "patterns": (
        f'[[matrix]]\nname = "{{a}}"\naxes = {{ a = {list(range(5_000))} }}\nexclude = [{LEFT_OUT}]\n',
        "patterns take too long to match",
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_stands_for_too_much_is_told_before_it_is_made(kind: str) -> None:
    text, told = BOMBS[kind]
    with pytest.raises(StudyError) as error:
        load(HEAD + text + BENCHMARK, "s.toml")
    assert told in str(error.value)
