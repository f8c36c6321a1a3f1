"""JSON and YAML documents of tools in a text: how many, what stands around them, and what in them is no number.

A reader of JSON keeps the last of two equal keys and stops behind the first document; a number would be lost either
way. Here a key with two values is refused, all documents are read, and text around them must not say that the run
failed. `nan` and `inf`, which C prints where JSON has no value, are None, and their names are listed.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.words import counted
from nephoscope.parsers.text import clean, require_readable

_MAX_DIGITS = 20
_MAX_FAILED_STARTS = 32
"""Number of lines tried in vain as the start of a document."""
_START = re.compile(r"^[ \t]*([{\[])", re.MULTILINE)
_NEXT = re.compile(r"[\s,]*([{\[])")
"""Behind a document: a file may end without a line end, and another be appended."""
_NOISE = re.compile(r"^(?!(?:true|false|null)\b)[A-Za-z/<=].*$\n?", re.MULTILINE)
"""A line of multi-line JSON never starts like this: it comes from another stream."""
_YAML_BEGIN, _YAML_END = (re.compile(rf"^{re.escape(mark)}[ \t]*$", re.MULTILINE) for mark in ("---", "..."))
_NOT_A_NUMBER = re.compile(
    r'"(?P<key>[^"\n]{1,80})"(?P<is>\s*:\s*)(?P<value>[-+]?(?:nan|inf(?:inity)?))(?=\s*[,}\n])', re.IGNORECASE
)
_ERROR = re.compile(
    r"(?<!\bno )(?<!\b0 )\b(?:errors?|failed|failure|fatal|exception|killed|terminat(?:ed|ing)|abort(?:ed|ing)"
    r"|interrupted|crashed|timed out|connection (?:lost|reset|refused|closed)|disconnected|out of memory|ENOSPC"
    r"|no such (?:file|device)|no space left on device|permission denied)\b"
    r"(?!\s*[:=]\s*(?:total\s*=\s*)?0\b)|\berr= ?[1-9]",
    re.IGNORECASE,
)
"""In a line around a document, where nothing is expected."""


Pairs = list[tuple[str, Any]]
Join = Callable[[Pairs], dict[str, Any]]
"""Makes an object of its keys and values in their order, some of which may be doubled."""


@dataclass(frozen=True)
class Documents:
    """What a text holds."""

    values: tuple[Any, ...]
    """At least one; in their order."""
    around: tuple[str, ...]
    """Lines before, between, behind and (from another stream) inside them."""
    left_out: tuple[str, ...]
    """'key: nan' for each key whose value is None here."""


def json_in(text: str, what: str) -> Any:
    """The only JSON document in `text`.

    Raises:
        OutputUnreadable: none, several, or as `json_documents`.
    """
    values = json_documents(text, what).values
    if len(values) > 1:
        raise OutputUnreadable(f"{what}: {counted(len(values), 'document')} in one text; expected one: split it")
    return values[0]


def json_documents(text: str, what: str, *, join: Join | None = None) -> Documents:
    """Every JSON object in `text`; those in an outermost list count one by one.

    Args:
        text: what a tool printed.
        what: for refusals.
        join: of a tool that doubles keys; None: a key with two values is refused.

    Raises:
        OutputUnreadable: none, a damaged one, a key with two values, or text around them that says that the run failed.
    """
    cleaned = clean(text)
    if not cleaned.strip():
        raise OutputUnreadable(f"{what} is empty")
    left_out = tuple(f"{found['key']}: {found['value']}" for found in _NOT_A_NUMBER.finditer(cleaned))
    rest = _NOT_A_NUMBER.sub(r'"\g<key>"\g<is>null', cleaned)
    decoder = _DECODER if join is None else _decoder(join)
    values: list[Any] = []
    around: list[str] = []
    at, failures = 0, 0
    while start := (values and _NEXT.match(rest, at)) or _START.search(rest, at):
        begin = start.start(1)
        value, end, noise = _decoded(decoder, rest, begin, what, may_fail=failures < _MAX_FAILED_STARTS)
        if value is None:  # a line of a log that begins with a bracket
            failures += 1
            end = len(rest) if (line_end := rest.find("\n", end)) < 0 else line_end
            around.append(rest[at:end])
        else:
            around += [rest[at:begin], *noise]
            values += value if isinstance(value, list) else [value]
            if noise:
                rest, end = _NOISE.sub("", rest[begin:]), end - begin
        at = end
    around.append(rest[at:])
    if not values:
        raise OutputUnreadable(f"{what}: no JSON in it")
    lines = tuple(line for part in around for line in part.splitlines() if line.strip())
    require_no_error(lines, what)
    return Documents(tuple(values), lines, left_out)


def yaml_in(text: str, what: str) -> tuple[str, tuple[str, ...]]:
    """The only YAML document in `text`, not decoded, and the lines around it.

    Raises:
        OutputUnreadable: none, several, no end mark (a cut number would still be one), or text around it that says
            that the run failed.
    """
    cleaned = clean(text)
    if not cleaned.strip():
        raise OutputUnreadable(f"{what} is empty")
    require_readable(cleaned, what)
    begins, ends = ([found.span() for found in mark.finditer(cleaned)] for mark in (_YAML_BEGIN, _YAML_END))
    if (count := max(len(begins), len(ends))) > 1:
        raise OutputUnreadable(f"{what}: {count} documents in one text; expected one: split it")
    if not ends:
        raise OutputUnreadable(f"{what} is cut off: its end mark is missing")
    begin = begins[0] if begins else (0, 0)
    lines = f"{cleaned[: begin[0]]}\n{cleaned[ends[0][1] :]}".splitlines()
    around = tuple(line for line in lines if line.strip())
    require_no_error(around, what)
    return cleaned[begin[1] : ends[0][1]], around


def require_no_error(around: Iterable[str], what: str) -> None:
    """Refuses an output with a line around it that says that the run failed.

    Raises:
        OutputUnreadable: one does; the message has the line.
    """
    require_readable("\n".join(around), what)
    for line in around:
        if _ERROR.search(line):
            raise OutputUnreadable(f"{what}: the text around it says {line.strip()[:120]!r}")


def _decoded(
    decoder: json.JSONDecoder, text: str, begin: int, what: str, *, may_fail: bool
) -> tuple[Any, int, list[str]]:
    """What begins at `begin` (None: no document), where it ends, and lines of another stream inside it.

    The end counts from `begin` in the text without those lines.
    """
    try:
        value, end = decoder.raw_decode(text, begin)
    except (ValueError, RecursionError) as error:
        first = error
    else:
        holds_objects = isinstance(value, dict) or (value and all(isinstance(item, dict) for item in value))
        return value if holds_objects else None, end, []
    quiet = _NOISE.sub("", text[begin:])
    try:
        value, end = decoder.raw_decode(quiet)
    except (ValueError, RecursionError):
        if may_fail and not re.match(r"\{|\[\s*[{\[]", text[begin : begin + 1000]):
            return None, begin, []
        raise OutputUnreadable(f"{what}: damaged JSON: {first}") from first
    return value, begin + end, _NOISE.findall(text[begin:])


def unique_keys(pairs: Pairs) -> dict[str, Any]:
    """An object, as the hook of a JSON reader.

    Raises:
        ValueError: a key has two values.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:  # fio 2 writes "0.00": 0 where it has no percentile
            raise ValueError(f"{key[:60]!r} stands twice in one object, with different values")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid JSON number")


def _whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _decoder(join: Join) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole_number, object_pairs_hook=join)


_DECODER = _decoder(unique_keys)
