"""Studies that are broken in one place: each class of mistake, on every line of the studies that ship where it fits."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

STUDIES = Path(__file__).parents[2] / "studies"
_LINE = re.compile(r"(?P<key>[a-z_]+) = (?P<value>[^#]*[^# ])(?P<rest>\s*(#.*)?)")


@dataclass(frozen=True)
class Broken:
    """A study with one mistake."""

    mistake: str
    name: str
    """Of the study that it was made of, and the line: 'laptop.toml:12'."""
    text: str


def _misspelt(key: str, value: str) -> str:
    return f"{key}x = {value}"


def _twice(key: str, value: str) -> str:
    return f"{key} = {value}\n{key} = {value}"


def _date(key: str, _value: str) -> str:
    return f"{key} = 1979-05-27"


def _no_such_date(key: str, _value: str) -> str:
    return f"{key} = 2020-13-45"


def _list_of_lists(key: str, _value: str) -> str:
    return f"{key} = [[[]]]"


def _no_sign(key: str, value: str) -> str:
    return f"{key} {value}"


def _no_value(key: str, _value: str) -> str:
    return f"{key} ="


def _nan(key: str, value: str) -> str | None:
    return f"{key} = nan" if _number(value) else None


def _below_zero(key: str, value: str) -> str | None:
    return f"{key} = -{value}" if _number(value) and value != "0" else None


def _unit(key: str, value: str) -> str | None:
    return f"{key} = {value} GiB" if _number(value) else None


def _digits(key: str, value: str) -> str | None:
    return f"{key} = {'9' * 5000}" if _number(value) else None


def _number_in_quotes(key: str, value: str) -> str | None:
    return f'{key} = "{value}"' if _number(value) else None


def _no_end_quote(key: str, value: str) -> str | None:
    return f"{key} = {value[:-1]}" if re.fullmatch(r'"[^"]+"', value) else None


def _no_quotes(key: str, value: str) -> str | None:
    return f"{key} = {value[1:-1]}" if re.fullmatch(r'"[a-z][^"]*"', value) else None


def _path_as_name(key: str, value: str) -> str | None:
    return f'{key} = "../{key}"' if key in ("name", "region", "zone", "uses", "provider") and "{" not in value else None


def _nul(key: str, value: str) -> str | None:
    named = key in ("name", "region", "zone", "uses", "provider", "type")
    return f'{key} = "a\\u0000b"' if named and "{" not in value else None


def _too_deep(key: str, _value: str) -> str:
    return f"{key} = {'[' * 100}{']' * 100}"


def _number(value: str) -> bool:
    return re.fullmatch(r"[0-9.]+", value) is not None


MISTAKES: Mapping[str, Callable[[str, str], str | None]] = {
    "misspelt key": _misspelt,
    "key twice": _twice,
    "a date": _date,
    "a date that does not exist": _no_such_date,
    "a list of lists": _list_of_lists,
    "no sign of equality": _no_sign,
    "no value": _no_value,
    "not a number": _nan,
    "below zero": _below_zero,
    "a unit behind a number": _unit,
    "5,000 digits": _digits,
    "a number in quotes": _number_in_quotes,
    "no closing quote": _no_end_quote,
    "no quotes": _no_quotes,
    "a path for a name": _path_as_name,
    "a NUL in a name": _nul,
    "too deep": _too_deep,
}
"""Mistake -> the line with it, None where it does not fit."""


def _goes_on(value: str) -> bool:
    """Whether a value has more lines."""
    return value.startswith('"""') or (value.startswith(("[", "{")) and not value.endswith(("]", "}")))


def _unchosen(lines: list[str]) -> Iterator[int]:
    """Indices of lines in options that the study does not choose: what these hold shows when they are chosen."""
    chosen, table = "", ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            table = line
        elif table.startswith("[choices.") and line.startswith("is = "):
            option = line.split('"')[1]
            chosen = f"{table.removesuffix(']')}.{option}]"
        elif table.count(".") == 2 and table.startswith("[choices.") and table != chosen:
            yield number


def broken_studies() -> Iterator[Broken]:
    """All of them; each study is whole but for one line."""
    for file in sorted(STUDIES.glob("*.toml")):
        lines = file.read_text(encoding="utf-8").splitlines()
        elsewhere = {*_unchosen(lines)}
        for number, line in enumerate(lines):
            found = _LINE.fullmatch(line)
            if found is None or _goes_on(found["value"]) or number in elsewhere:
                continue
            for mistake, break_line in MISTAKES.items():
                wrong = break_line(found["key"], found["value"])
                if wrong is not None:
                    text = "\n".join([*lines[:number], wrong, *lines[number + 1 :]]) + "\n"
                    yield Broken(mistake, f"{file.name}:{number + 1}", text)


def planned_ones() -> list[Broken]:
    """Those that the slow test gives to `nephoscope plan`: each eighth."""
    return list(broken_studies())[::8]
