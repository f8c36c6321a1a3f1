"""EEMBC's CoreMark 1.0, what `coremark.exe` prints (core_main.c): one measurement, by one or more contexts.

It counts only with "Correct operation validated", and only when it ran for ten seconds: both are EEMBC's own rules,
and the program says when they are broken. The rate must follow from iterations and time.
"""

import re

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, one_or_none, require_close, whole_lines

_WHAT = "CoreMark output"
_VALID = "Correct operation validated"
_KEYS = {
    "size_bytes": rf"CoreMark Size +: ({INTEGER})",
    "ticks": rf"Total ticks +: ({INTEGER})",
    "duration_s": rf"Total time \(secs\): ({DECIMAL})",
    "iterations_per_s": rf"Iterations/Sec +: ({DECIMAL})",
    "iterations": rf"Iterations +: ({INTEGER})",
    "compiler": r"Compiler version : (.{1,200})",
    "flags": r"Compiler flags +: (.{0,2000}?) *",
    "seed_crc": r"seedcrc +: (0x[0-9a-f]{4})",
}
_CONTEXTS = re.compile(rf"Parallel (?P<how>\S+) : (?P<count>{INTEGER})")
_CRC = re.compile(rf"\[({INTEGER})\]crc(list|matrix|state|final) +: 0x[0-9a-f]{{4}}")
_SCORE = re.compile(rf"CoreMark 1\.0 : ({DECIMAL}) / .+")
_COMPLAINTS = ("ERROR", "Errors detected", "Cannot validate operation")
_MIN_S = 10.0
_PERFORMANCE_SEED = "0xe9f5"
"""Seeds 0, 0, 0x66 with 2000 bytes: EEMBC's performance run, the only one that may be reported."""


class CoreMark(Frozen):
    """One run that validated itself."""

    iterations_per_s: float = Field(gt=0, description="of all contexts together; this is the score")
    iterations: int = Field(gt=0)
    duration_s: float = Field(ge=_MIN_S, description="EEMBC's rules require ten seconds")
    ticks: int = Field(gt=0)
    contexts: int = Field(ge=1)
    parallel: str | None = Field(description="PThreads, Fork, Sockets; None: one context")
    size_bytes: int = Field(gt=0, description="of data, of one algorithm")
    compiler: str
    flags: str
    seed_crc: str


def parse_coremark(text: str) -> CoreMark:
    """Reads one run.

    Raises:
        OutputUnreadable: nothing, cut off, several runs, not validated, no performance run, too short, or a rate that
            does not follow.
    """
    lines = [line.rstrip() for line in whole_lines(text, _WHAT, ends=_SCORE)]
    for line in lines:
        if line.startswith(_COMPLAINTS) or "]ERROR!" in line:
            raise OutputUnreadable(f"{_WHAT}: it says {line[:80]!r}")
    found = {
        key: exactly_one((re.fullmatch(pattern, line) for line in lines), f"{_WHAT} for {key}")[1]
        for key, pattern in _KEYS.items()
    }
    if not any(line.startswith(_VALID) for line in lines):
        raise OutputUnreadable(f"{_WHAT}: no line says {_VALID!r}")
    if found["seed_crc"] != _PERFORMANCE_SEED:
        raise OutputUnreadable(
            f"{_WHAT}: seedcrc {found['seed_crc']} does not belong to the performance run (run1.log); the rate of "
            "another, such as the validation run (run2.log), is no score"
        )
    parallel = one_or_none((_CONTEXTS.fullmatch(line) for line in lines), f"{_WHAT} for contexts")
    contexts = int(parallel["count"]) if parallel else 1
    _require_checksums(lines, contexts)
    seconds, rate = float(found["duration_s"]), float(found["iterations_per_s"])
    if seconds <= 0:
        raise OutputUnreadable(f"{_WHAT}: no time passed")
    # Without floating point the program prints whole seconds and whole iterations per second.
    whole = 0.0 if "." in found["duration_s"] else 1.0
    require_close(
        rate, int(found["iterations"]) / seconds, relative=0.001 + whole / seconds, absolute=whole, what=_WHAT
    )
    score = one_or_none((_SCORE.fullmatch(line) for line in lines), f"{_WHAT} for the score")
    if score:
        require_close(float(score[1]), rate, relative=1e-6, absolute=0.01, what=f"{_WHAT}: the score")
    return build(
        CoreMark,
        _WHAT,
        **found,
        contexts=contexts,
        parallel=parallel["how"] if parallel else None,
    )


def _require_checksums(lines: list[str], contexts: int) -> None:
    """Every context must have printed its final checksum, and none twice."""
    finals = [int(match[1]) for line in lines if (match := _CRC.fullmatch(line)) and match[2] == "final"]
    if sorted(finals) != list(range(contexts)):
        raise OutputUnreadable(f"{_WHAT}: {counted(len(finals), 'final checksum')} of {counted(contexts, 'context')}")
