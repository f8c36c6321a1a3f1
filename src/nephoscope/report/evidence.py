"""Anchors: where the trials behind a number are listed."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nephoscope.report.limits import MAX_SETS

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class EvidenceSet:
    """The trials behind one or more numbers."""

    anchor: str
    label: str
    about: str
    trials: tuple[str, ...]


@dataclass
class EvidenceBook:
    """Gives each distinct set of trials one anchor, numbered in order of first use."""

    sets: dict[tuple[str, ...], EvidenceSet] = field(default_factory=dict)

    def cite(self, trials: Sequence[str], about: str) -> EvidenceSet | None:
        """The set of these trials in any order; None when there are none, or the page is full."""
        key = tuple(sorted(set(trials)))
        if not key or (key not in self.sets and len(self.sets) == MAX_SETS):
            return None
        if key not in self.sets:
            number = len(self.sets) + 1
            self.sets[key] = EvidenceSet(f"evidence-{number}", f"E{number}", about, key)
        return self.sets[key]


def slug(text: str) -> str:
    """A name as part of an anchor: safe characters only; a hash keeps names distinct when characters are replaced."""
    safe = _UNSAFE.sub("-", text)
    if safe == text:
        return safe
    return f"{safe.strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def trial_anchor(trial: str) -> str:
    """Anchor of a trial's row."""
    return f"trial-{slug(trial)}"
