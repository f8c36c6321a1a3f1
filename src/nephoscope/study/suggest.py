"""What was probably meant: the nearest key or value, other people's names for it, a value in its key's unit."""

import difflib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from nephoscope.model.units import GIB, KIB, MIB, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

_UNIT_WORDS = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "hours": "hours",
    "bytes": "bytes",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "tib": "TiB",
    "percent": "percent",
    "usd": "US dollars",
    "usd_per_hour": "US dollars per hour",
    "mib_per_s": "MiB per second",
    "per_s": "operations per second",
}
"""Units at the end of keys."""
_LONGEST_UNIT = max(unit.count("_") for unit in _UNIT_WORDS) + 1
"""In words."""
_SECONDS: Mapping[str, int | str] = {
    "ns": "1e-9",
    "us": "1e-6",
    "ms": "1e-3",
    "s sec secs seconds": 1,
    "m min minutes": SECONDS_PER_MINUTE,
    "h hours": SECONDS_PER_HOUR,
}
_BYTES: Mapping[str, int | str] = {
    "b bytes": 1,
    "k kib": KIB,
    "mib": MIB,
    "g gib": GIB,
    "tib": 1024 * GIB,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_SHARES: Mapping[str, int | str] = {"% percent": 1}
_SCALES = [
    {unit: Fraction(factor) for units, factor in scale.items() for unit in units.split()}
    for scale in (_SECONDS, _BYTES, _SHARES)
]
"""Units that people write -> how many seconds, bytes or percent one of them is; only units of one scale convert."""
_NICKNAMES: Mapping[str, Mapping[str, str]] = {
    "uses": {
        "tpcb": "pgbench",
        "tpcc": "benchbase hammerdb gotpc",
        "oltp-read-write": "sysbench oltp",
        "oltp-read-only": "oltp",
        "oltp-insert": "oltp",
        "sysbench-fileio": "sysbench",
        "kv": "redisbenchmark valkeybenchmark memtier",
        "throughput": "iperf iperf2 iperf3 netperf",
        "ping": "latency",
        "request-response": "netperf sockperf latency",
        "openssl-speed": "openssl",
        "fio": "disk",
    },
    "provider": {
        "gcp": "gce google googlecloud",
        "aws": "amazon ec2",
        "azure": "microsoft",
        "local": "localhost",
        "ssh": "hosts",
    },
    "system": {
        "postgres": "postgresql pg",
        "mysql": "percona",
        "mariadb": "maria",
        "valkey": "redis",
        "cockroachdb": "cockroach crdb",
    },
}
"""Key of a study -> value -> other people's names for it, without dashes."""
_LONGEST_WORD, _MOST_WORDS = 200, 2000
"""That are compared: likeness of two words takes time with the square of their length."""
_MOST_LISTED = 100
_SLIP = 0.9
"""Likeness of two words that differ by one letter."""
_QUANTITY = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*|%)\s*")
_LEAST, _MOST = 1e-4, 1e15
"""Numbers that somebody may have meant: nobody allows a billionth of an hour."""


def unit_of(key: str) -> str:
    """The unit at the end of a key (`s` of `duration_s`); empty if there is none."""
    parts = key.rsplit("_", _LONGEST_UNIT)
    tails = ("_".join(parts[start:]) for start in range(1, len(parts)))
    return next((tail for tail in tails if tail in _UNIT_WORDS), "")


def unit_in_words(key: str) -> str:
    """`seconds` of `duration_s`; empty if the key has no unit."""
    return _UNIT_WORDS.get(unit_of(key), "")


def number(value: float) -> str:
    """A number as TOML and people write it: no `.0` after whole numbers."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def shown(value: Any) -> str:
    """A value as written in its file, cut to a length that fits a message."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word most like `word`; None if none is close, or it would take long to tell."""
    if len(word) > _LONGEST_WORD:
        return None
    near = islice((one for one in words if len(one) <= _LONGEST_WORD), _MOST_WORDS)
    return next(iter(difflib.get_close_matches(word, list(near), n=1, cutoff=0.6)), None)


def hint_among(word: str, words: Collection[str], form: str = '"{}"', otherwise: str = "") -> str:
    """`did you mean "gp3"?`, with the word in a form such as '`{}`'; else `otherwise`, or all words that there are."""
    near = nearest(word, words)
    return f"did you mean {form.format(near)}?" if near else otherwise or f"there are: {_first(words) or 'none'}"


def _first(words: Collection[str]) -> str:
    """As many as somebody reads."""
    more = [f"and {len(words) - _MOST_LISTED:,} more"] if len(words) > _MOST_LISTED else []
    return ", ".join([*islice(words, _MOST_LISTED), *more])


def meant_by(key: str, word: str, allowed: Collection[str]) -> str:
    """`did you mean "tpcb"?` for a value of the study's `key`, such as 'uses'; empty if no allowed one comes close."""
    letters = _letters(word)
    spelt = [value for value in allowed if _letters(value) == letters]
    nicknamed = [value for value, names in _NICKNAMES.get(key, {}).items() if letters in names.split()]
    near = nearest(word.lower(), allowed) if len(allowed) > 2 else None  # of two, both are listed
    meanings = spelt or [value for value in nicknamed if value in allowed] or ([near] if near else [])
    return f"did you mean {' or '.join(map(shown, meanings))}?" if meanings else ""


def _letters(word: str) -> str:
    return "".join(filter(str.isalnum, word.lower()))


def meant(key: str, allowed: Sequence[str]) -> list[str]:
    """The allowed keys that an unknown one may mean: the same with another unit or none, else the closest."""
    base, unit = _split(key)
    same = [word for word in allowed if unit_of(word) and _split(word)[0] == base]
    same = [word for word in same if _scale_of(unit, unit_of(word))] or same
    near = nearest(key, allowed)
    # `us` of `max_us` is a unit, but one letter was more likely left out of `usd` than hours given in microseconds.
    slip = near is not None and near not in same and difflib.SequenceMatcher(None, key, near).ratio() >= _SLIP
    return [near] if near and (slip or not same) else same


def unknown_key(key: str, value: Any, allowed: Sequence[str]) -> str:
    """What to say about an unknown key: the key that was probably meant, with its unit, or all allowed keys."""
    suggestions = meant(key, allowed)
    if not suggestions:
        return f"unknown key; allowed here: {', '.join(allowed)}" if allowed else "unknown key; no key is allowed here"
    question = f"unknown key; did you mean {' or '.join(map(json.dumps, suggestions))}?"
    base, unit = _split(key)
    if len(suggestions) > 1 or _split(suggestions[0]) == (base, unit) or _split(suggestions[0])[0] != base:
        return question
    converted = _convert(value, unit, suggestions[0])
    plausible = converted and (not float(converted) or _LEAST <= abs(float(converted)) < _MOST)
    example = f": {suggestions[0]} = {converted}" if plausible else ""
    return f"{question} It is in {unit_in_words(suggestions[0])}{example}"


def as_number(text: str, key: str) -> str | None:
    """`duration_s = 180` for the text "3 min"; None if the text is not a quantity of the key's unit."""
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[2] and not unit_of(key)):
        return None
    converted = _convert(float(match[1]), match[2].lower(), key)
    return f"{key} = {converted}" if converted else None


def _split(key: str) -> tuple[str, str]:
    """`file_size_gib` -> (`file_size`, `gib`); without a unit, (key, "")."""
    if unit := unit_of(key):
        return key[: -len(unit) - 1], unit
    base, _, tail = key.rpartition("_")
    return (base, tail) if base and any(tail in scale for scale in _SCALES) else (key, "")


def _convert(value: Any, unit: str, key: str) -> str | None:
    """The value in the key's unit; a value without a unit is assumed to be in it already."""
    scale = _scale_of(unit, unit_of(key))
    if isinstance(value, bool) or not isinstance(value, int | float) or (unit and not scale):
        return None
    try:
        return number(float(Fraction(value) * (scale[unit] / scale[unit_of(key)] if unit else 1)))
    except (OverflowError, ValueError):  # inf, nan, and numbers that no float can hold
        return None


def _scale_of(unit: str, other: str) -> dict[str, Fraction]:
    """The scale that two units share; empty if one cannot be converted into the other."""
    return next((scale for scale in _SCALES if unit in scale and other in scale), {})
