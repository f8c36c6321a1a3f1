"""What the parsers share: clean lines, numbers of bounded length, amounts, marks of failed runs, one way to refuse."""

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ConfigDict, ValidationError

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import KIB

Value = TypeVar("Value", bound=Frozen)

INTEGER = r"[0-9]{1,15}"
DECIMAL = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
"""ASCII digits, and few enough that `int` and `float` take them all."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BYTE_ORDERS = {
    b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip
"""Longer marks first: that of UTF-32 begins with that of UTF-16."""
_FAILED = re.compile(
    r"""^[\ \t]*+(?:
    (?:fio:\ |\S+:\ )?terminating\ on\ signal\b
    | fio:\ (?:pid=[0-9]+,\ (?:err=[1-9]|got\ signal)|io_u\ error|.*\b(?:not\ loadable|failed|hung|exited)\b)
    | verify:\ bad\b
    | iperf3:\ (?:error|interrupt)
    | .*\bWARNING:\ (?:did\ not\ receive\ ack|ack)\ of\ last\ datagram
    | (?:\[[^\]\n]{1,12}\]\ )?(?:connect|read|write[0-9]?|sendto|recv|recvfrom|bind|listen|accept)\ failed(?::|$)
    | sockperf:\ ERROR
    | stress-ng:\ (?:[0-9:.]+\ )?(?:fail|error|abort):
    | (?:FATAL|ALERT):\ | \[FATAL\]
    | netperf:\ .*\berror\b | establish\ control:\ are\ you\ sure\ there\ is\ a\ netserver | recv_response
    | panic:\ | fatal\ error:\ | Traceback\ \(most\ recent\ call\ last\):
    | (?:.*:\ line\ [0-9]+:\ +[0-9]+\ )?
      (?:Killed|Terminated|Aborted|Hangup|Segmentation\ fault|Bus\ error|Illegal\ instruction
      |Floating\ point\ exception)
      (?:\ +\(core\ dumped\)|\ {3,}.*)?[\ \t]*$
    | timeout:\ (?:sending\ signal|the\ monitored\ command\ dumped)
    | Command\ (?:exited\ with\ non-zero\ status|terminated\ by\ signal)
    | (?:Connection\ to\ \S+\ closed\ by\ remote\ host|client_loop:\ send\ disconnect)
    ).*""",
    re.MULTILINE | re.VERBOSE,
)
"""Lines by which a tool, its shell or the way to its machine says that a run failed, whatever follows or precedes."""
_FOREIGN = re.compile(
    r"""\A\s*(?!Architecture)[^\s:\uff1a][^:\uff1a\n]{0,40}[:\uff1a][\ \t]*
      (?:x86_64|aarch64|armv7l|i686|ppc64le|s390x|riscv64)[\ \t]*$
    | ^(?: [0-9]+\ (?!bytes\ from)[^\n]*icmp_seq=[0-9]+\ [^\n]*
    | stress-ng:\ [^\n]*\ [0-9]+,[0-9]{2}\ [^\n]*
    | \ +[a-z-]+-time:\ [0-9]+,[0-9]+
    )$""",
    re.MULTILINE | re.VERBOSE,
)
"""What lscpu, ping and stress-ng print where a language is set: names of fields, words, decimal commas."""


class LenientModel(Frozen):
    """A part of another program's document: unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, populate_by_name=True)


class StrictModel(Frozen):
    """The same where numbers are numbers and texts are texts: nothing is converted."""

    model_config = ConfigDict(extra="ignore", strict=True)


def decoded(content: bytes) -> str:
    """A file as text: UTF-8, or UTF-16 and UTF-32 as Windows' shells write them. Other bytes are replaced."""
    encoding = next((name for mark, name in _BYTE_ORDERS.items() if content.startswith(mark)), None)
    if encoding is None and content[:2].count(0) == 1 and len(content) % 2 == 0:  # ASCII in UTF-16 without its mark
        encoding = "utf-16-be" if content[0] == 0 else "utf-16-le"
    return content.decode(encoding or "utf-8", errors="replace")


def clean(text: str) -> str:
    """Without byte order mark, ANSI colours and carriage returns."""
    return _ANSI.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n")


def require_readable(cleaned: str, what: str) -> None:
    """Refuses the output of a run that failed, or in another language.

    Raises:
        OutputUnreadable: a line shows it; the message has the line, or says how to run the tool.
    """
    if failed := _FAILED.search(cleaned):
        raise OutputUnreadable(f"{what}: the run failed: it says {failed[0].strip()[:120]!r}")
    if foreign := _FOREIGN.search(cleaned):
        line = shown(foreign[0].strip())
        raise OutputUnreadable(f"{what}: {line} is of another language; run the tool with LC_ALL=C")


def whole_lines(text: str, what: str, *, ends: re.Pattern[str] | None = None) -> list[str]:
    """Clean lines, all of them whole.

    Args:
        text: what a tool printed.
        what: for refusals.
        ends: a last line without its end is whole when it matches: a number that was cut is still a number.

    Raises:
        OutputUnreadable: nothing, a failed run, another language, or the last line is cut off.
    """
    cleaned = clean(text)
    if not cleaned.strip():
        raise OutputUnreadable(f"{what} is empty")
    require_readable(cleaned, what)
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


_SIZE = re.compile(
    rf"(?P<number>[0-9]{{1,15}}(?:[.,][0-9]{{1,9}})?) ?(?P<unit>(?:[KMGTP](?:i?B)?|B)?)"
    rf"(?: \((?P<instances>{INTEGER}) instances?\))?"
)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def size_of(text: str, what: str) -> tuple[int, int]:
    """(bytes of all instances together, number of instances; 1 where none is printed).

    Some languages print a comma for the point; units are powers of 1024, whatever their name.

    Raises:
        OutputUnreadable: no amount.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match or (match["instances"] and int(match["instances"]) == 0):
        raise OutputUnreadable(f"{what}: {shown(text)} is not a size")
    power = _POWER[match["unit"][:1].replace("B", "")]
    return round(float(match["number"].replace(",", ".")) * KIB**power), int(match["instances"] or 1)
