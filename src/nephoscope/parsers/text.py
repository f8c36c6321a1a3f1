"""What the parsers share: clean lines, numbers of bounded length, JSON between other text, and one way to refuse."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

from pydantic import ConfigDict, ValidationError

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen

Value = TypeVar("Value", bound=Frozen)

INTEGER = r"[0-9]{1,15}"
DECIMAL = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
"""ASCII digits, and few enough that `int` and `float` take them all."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MAX_DIGITS = 20
_JSON_STARTS = 32
"""Maximum number of lines tried as the start of a document."""
_NOISE = re.compile(r"^(?!(?:true|false|null)\b)[A-Za-z/<=].*$\n?", re.MULTILINE)
"""A line of multi-line JSON never starts like this: it comes from another stream."""


class LenientModel(Frozen):
    """A part of another program's document: unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, populate_by_name=True)


def clean(text: str) -> str:
    """Without byte order mark, ANSI colours and carriage returns."""
    return _ANSI.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n")


def whole_lines(text: str, what: str, *, ends: re.Pattern[str] | None = None) -> list[str]:
    """Clean lines, all of them whole.

    Args:
        text: what a tool printed.
        what: for refusals.
        ends: a last line without its end is whole when it matches: a number that was cut is still a number.

    Raises:
        OutputUnreadable: nothing, or the last line is cut off.
    """
    cleaned = clean(text)
    if not cleaned.strip():
        raise OutputUnreadable(f"{what} is empty")
    *lines, last = cleaned.split("\n")
    if not last:
        return lines
    if ends is None or not ends.fullmatch(last):
        raise OutputUnreadable(f"{what} is cut off: its last line does not end: {shown(last)}")
    return [*lines, last]


def exactly_one(found: Iterable[re.Match[str] | None], what: str) -> re.Match[str]:
    """The one line that matched.

    Raises:
        OutputUnreadable: none, or more than one.
    """
    matches = [match for match in found if match]
    if len(matches) != 1:
        raise OutputUnreadable(f"{'no' if not matches else len(matches)} lines of {what}; expected one")
    return matches[0]


def one_or_none(found: Iterable[re.Match[str] | None], what: str) -> re.Match[str] | None:
    """The one line that matched, or None.

    Raises:
        OutputUnreadable: more than one.
    """
    matches = [match for match in found if match]
    if len(matches) > 1:
        raise OutputUnreadable(f"{len(matches)} lines of {what}; expected at most one")
    return matches[0] if matches else None


def build(kind: type[Value], what: str, /, **values: Any) -> Value:
    """A value of `kind`.

    Raises:
        OutputUnreadable: a number is outside what the tool can mean.
    """
    return _checked(kind, values, what)


def validate(kind: type[Value], document: Any, what: str) -> Value:
    """A decoded document as a value of `kind`.

    Raises:
        OutputUnreadable: a key is missing or holds something else; the message names it.
    """
    return _checked(kind, document, what, whole="document")


def _checked(kind: type[Value], values: Any, what: str, *, whole: str = "values") -> Value:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise OutputUnreadable(f"{what}: {where or whole}: {problem['msg']}") from error
    except RecursionError as error:
        raise OutputUnreadable(f"{what}: nested too deeply") from error


def require_close(printed: float, computed: float, *, relative: float, absolute: float, what: str) -> None:
    """Compares a printed number with the one computed from its neighbours.

    Raises:
        OutputUnreadable: they differ by more than rounding; one of them was damaged.
    """
    if not abs(printed - computed) <= absolute + relative * abs(computed):
        raise OutputUnreadable(
            f"{what} contradicts itself: it prints {printed:g}, but its other values give {computed:g}"
        )


def shown(line: str) -> str:
    """A line for a message."""
    return repr(line if len(line) <= 60 else f"{line[:57]}...")


def json_in(text: str, what: str) -> Any:
    """The first JSON document in `text`; text before, after and (on separate lines) inside it is skipped.

    Raises:
        OutputUnreadable: none, or it is damaged; the message says where.
    """
    return next(json_documents(text, what))


def json_documents(text: str, what: str) -> Iterator[Any]:
    """Every JSON document in `text`, one after the other.

    Raises:
        OutputUnreadable: none, or the first is damaged; a later damaged one is rejected when it is read.
    """
    cleaned = clean(text)
    if not cleaned.strip():
        raise OutputUnreadable(f"{what} is empty")
    found, at = 0, 0
    while start := re.compile(r"^[ \t]*[{\[]", re.MULTILINE).search(cleaned, at):
        value, at = _decoded(cleaned, start.end() - 1, what)
        found += 1
        yield value
    if not found:
        raise OutputUnreadable(f"{what}: no JSON in it")


def _decoded(text: str, start: int, what: str) -> tuple[Any, int]:
    """The document that begins at `start` or some lines later."""
    first: ValueError | RecursionError | None = None
    candidates = re.compile(r"^[ \t]*([{\[])", re.MULTILINE)
    begins = [start, *(match.start(1) for match in candidates.finditer(text, start + 1))][:_JSON_STARTS]
    for begin in begins:
        try:
            return _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            first = first or error
            if not text.startswith("{", begin):
                continue
            quiet = text[:begin] + _NOISE.sub("", text[begin:])
            try:
                return _DECODER.raw_decode(quiet, begin)[0], len(text)
            except (ValueError, RecursionError):
                break
    raise OutputUnreadable(f"{what}: damaged JSON: {first}") from first


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid JSON number")


def _whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole_number)
