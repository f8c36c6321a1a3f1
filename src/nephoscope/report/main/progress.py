"""How far a study is that has not ended: what was rejected, what failed, and how long it still takes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import counted, left_in_words

MAX_TRIALS = 10
"""Trials in a list, the latest ones."""
_ENDED = frozenset({"finished", "failed", "altered", "not needed"})


@dataclass(frozen=True)
class Running:
    """What is known of a study only while it runs."""

    written_unix_ms: int
    """When the page is written."""
    left_s: float
    """Time until the last trial ends, estimated."""
    may_stop: bool
    """The study may end before its last block: `left_s` is the most that is left."""


@dataclass(frozen=True)
class Group:
    """Trials that cannot be used, for one kind of reason."""

    title: str
    lines: tuple[str, ...]
    more: int
    """Trials that are not listed."""


@dataclass(frozen=True)
class Progress:
    """What is above the verdict of a study that has not ended."""

    ended: str
    rest: str
    groups: tuple[Group, ...]
    written: str
    """The time, if a running study wrote it; else empty."""


def progress(study: AnalysedStudy, running: Running | None) -> Progress | None:
    """None: every trial has ended, or somebody else measured them."""
    ended = [row.state in _ENDED for row in study[TrialRow]]
    if study.source is not None or all(ended):
        return None
    blocks: dict[int, list[bool]] = defaultdict(list)
    for row, has_ended in zip(study[TrialRow], ended, strict=True):
        blocks[row.block].append(has_ended)
    complete = sum(map(all, blocks.values()))
    left = f"; {left_in_words(running.left_s, may_stop=running.may_stop)}" if running and running.left_s else ""
    rejected = [row for row in study[TrialRow] if row.state == "finished" and not row.counts]
    failed = [row for row in study[TrialRow] if row.state in {"failed", "altered"}]
    return Progress(
        ended=f"{sum(ended):,} of {counted(len(ended), 'trial')} ended.",
        rest=f"{complete:,} of {counted(len(blocks), 'block')} complete{left}.",
        groups=tuple(_group(*group) for group in (("Rejected", rejected), ("Failed", failed)) if group[1]),
        written=people.moment(running.written_unix_ms) if running else "",
    )


def _group(title: str, trials: Sequence[TrialRow]) -> Group:
    latest = sorted(trials, key=lambda row: row.position)[-MAX_TRIALS:]
    return Group(title, tuple(map(_line, reversed(latest))), len(trials) - len(latest))


def _line(row: TrialRow) -> str:
    why = "; ".join(map(str, row.reasons)) or "no reason stored"
    return f"{row.configuration} · {row.benchmark} · replicate {row.replicate}: {why}"
