"""What the parsers of logs share: clean lines, numbers of bounded length, and one way to refuse."""

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ValidationError

from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen

Value = TypeVar("Value", bound=Frozen)

INTEGER = r"[0-9]{1,15}"
DECIMAL = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
"""ASCII digits, and few enough that `int` and `float` take them all."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def whole_lines(text: str, what: str) -> list[str]:
    """Lines without byte order mark, ANSI colours and carriage returns.

    Raises:
        OutputUnreadable: nothing, or the last line does not end: a number that was cut is still a number.
    """
    clean = _ANSI.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n")
    if not clean.strip():
        raise OutputUnreadable(f"{what} is empty")
    if not clean.endswith("\n"):
        raise OutputUnreadable(f"{what} is cut off: its last line does not end")
    return clean.split("\n")[:-1]


def only(found: Iterable[re.Match[str] | None], what: str) -> re.Match[str]:
    """The one line that matched.

    Raises:
        OutputUnreadable: none, or more than one.
    """
    matches = [match for match in found if match]
    if len(matches) != 1:
        raise OutputUnreadable(f"{'no' if not matches else len(matches)} lines of {what}; one was expected")
    return matches[0]


def made(kind: type[Value], what: str, **values: Any) -> Value:
    """A value of `kind`.

    Raises:
        OutputUnreadable: a number is outside what the tool can mean.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise OutputUnreadable(f"{what}: {where or 'values'}: {problem['msg']}") from error


def agree(printed: float, computed: float, *, relative: float, absolute: float, what: str) -> None:
    """Holds a printed number against the one that its neighbours give.

    Raises:
        OutputUnreadable: they differ by more than rounding; one of them was damaged.
    """
    if abs(printed - computed) > absolute + relative * abs(computed):
        raise OutputUnreadable(f"{what} contradicts itself: {printed:g} is printed, {computed:g} follows")
