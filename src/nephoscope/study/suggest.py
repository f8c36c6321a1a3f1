"""Suggestions for an unknown key and for a value that contains its unit."""

import difflib
import json
import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from nephoscope.model.units import GIB, KIB, MIB, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from nephoscope.study.wanted import number, unit_in_words, unit_of

_SECONDS = {
    "ns": Fraction(1, 1_000_000_000),
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "sec": Fraction(1),
    "secs": Fraction(1),
    "seconds": Fraction(1),
    "m": Fraction(SECONDS_PER_MINUTE),
    "min": Fraction(SECONDS_PER_MINUTE),
    "minutes": Fraction(SECONDS_PER_MINUTE),
    "h": Fraction(SECONDS_PER_HOUR),
    "hours": Fraction(SECONDS_PER_HOUR),
}
_BYTES = {
    "b": Fraction(1),
    "bytes": Fraction(1),
    "k": Fraction(KIB),
    "kib": Fraction(KIB),
    "kb": Fraction(1000),
    "mib": Fraction(MIB),
    "mb": Fraction(1_000_000),
    "g": Fraction(GIB),
    "gib": Fraction(GIB),
    "gb": Fraction(1_000_000_000),
    "tib": Fraction(1024 * GIB),
    "tb": Fraction(1_000_000_000_000),
}
_SHARES = {"%": Fraction(1), "percent": Fraction(1)}
_SCALES = (_SECONDS, _BYTES, _SHARES)
_SLIP = 0.9
"""Likeness of two words that differ by one letter."""
_QUANTITY = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*|%)\s*")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word most like `word`; None if none is close."""
    found = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return found[0] if found else None


def meant(key: str, allowed: Sequence[str]) -> list[str]:
    """The allowed keys that an unknown one may mean: the same with another unit or none, else the closest."""
    base, unit = _split(key)
    same = [word for word in allowed if unit_of(word) and _split(word)[0] == base]
    same_kind = [word for word in same if _scale_of(unit, unit_of(word))]
    near = nearest(key, allowed)
    found = same_kind or same
    # `us` of `max_us` is a unit, but one letter was more likely left out of `usd` than hours given in microseconds.
    slip = near is not None and near not in found and difflib.SequenceMatcher(None, key, near).ratio() >= _SLIP
    return [near] if near and (slip or not found) else found


def unknown_key(key: str, value: Any, allowed: Sequence[str]) -> str:
    """What to say about an unknown key: the key that was probably meant, with its unit, or all allowed keys."""
    suggestions = meant(key, allowed)
    if not suggestions:
        return f"unknown key; allowed here: {', '.join(allowed)}" if allowed else "unknown key; no key is allowed here"
    question = f"unknown key; did you mean {' or '.join(json.dumps(word) for word in suggestions)}?"
    base, unit = _split(key)
    if len(suggestions) > 1 or _split(suggestions[0]) == (base, unit) or _split(suggestions[0])[0] != base:
        return question
    converted = _convert(value, unit, suggestions[0])
    example = f": {suggestions[0]} = {converted}" if converted and _is_plausible(converted) else ""
    return f"{question} It is in {unit_in_words(suggestions[0])}{example}"


def as_number(text: str, key: str) -> str | None:
    """`duration_s = 180` for the text "3 min"; None if the text is not a quantity of the key's unit."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    value, unit = match.groups()
    if unit and not unit_of(key):
        return None
    converted = _convert(float(value), unit.lower(), key)
    return f"{key} = {converted}" if converted else None


def shown(value: Any) -> str:
    """A value as written in its file, cut to a length that fits a message."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _split(key: str) -> tuple[str, str]:
    """`file_size_gib` -> (`file_size`, `gib`); without a unit, (key, "")."""
    unit = unit_of(key)
    if unit:
        return key[: -len(unit) - 1], unit
    base, _, tail = key.rpartition("_")
    return (base, tail) if base and any(tail in scale for scale in _SCALES) else (key, "")


def _convert(value: Any, unit: str, key: str) -> str | None:
    """The value in the key's unit; a value without a unit is assumed to be in it already."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    wanted = unit_of(key)
    scale = _scale_of(unit, wanted)
    if unit and not scale:
        return None
    factor = scale[unit] / scale[wanted] if unit else Fraction(1)
    try:
        return number(float(Fraction(value) * factor))
    except (OverflowError, ValueError):  # inf, nan, and numbers that no float can hold
        return None


def _is_plausible(converted: str) -> bool:
    """Whether somebody may have meant such a number: nobody allows a billionth of an hour."""
    return not float(converted) or _LEAST <= abs(float(converted)) < _MOST


_LEAST, _MOST = 1e-4, 1e15


def _scale_of(unit: str, other: str) -> dict[str, Fraction]:
    """The scale that two units share; empty if one cannot be converted into the other."""
    return next((scale for scale in _SCALES if unit in scale and other in scale), {})
