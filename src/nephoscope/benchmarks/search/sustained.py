"""What the confirmations of a search cost the database besides response times: read before and after each."""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field, ValidationError

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.databases.base import HasUpkeep, Upkeep
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import DatabaseFailed, OutputUnreadable, ToolFailed
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Measurement, SustainedEvidence

UPKEEP = "upkeep.jsonl"
"""Name of the raw file: a line before and a line after each confirmation."""

_METRICS = declared_metrics("search")
LOG_RATE = _METRICS["log_written_per_s"]
CACHE_HITS = _METRICS["cache_hit_share"]
SPACE_LOST = _METRICS["free_space_lost_per_s"]
METRICS = (LOG_RATE, CACHE_HITS, SPACE_LOST)


class Look(Frozen):
    """What a database reported at one moment."""

    point: str = Field(description="name of the point's raw output")
    when: Literal["before", "after"]
    at_s: float = Field(description="on a clock that only goes forward")
    upkeep: Upkeep


async def look(site: Site, point: str, when: Literal["before", "after"], at_s: float) -> None:
    """Adds a line to `UPKEEP`, unless the database does not report its upkeep."""
    if site.endpoint is None or site.database is None or not isinstance(site.database, HasUpkeep):
        return
    try:
        upkeep = await site.database.upkeep(site.cluster, site.endpoint)
    except (DatabaseFailed, ToolFailed):  # a look that is lost costs a verdict, and not the hours of a search
        upkeep = Upkeep()
    found = Look(point=point, when=when, at_s=at_s, upkeep=upkeep)
    with (site.raw_dir / UPKEEP).open("a", encoding="utf-8") as file:
        file.write(found.model_dump_json() + "\n")


def sustained(raw: RawOutput) -> SustainedEvidence | None:
    """Of all confirmations together; None: nobody looked.

    Raises:
        OutputUnreadable: a line is damaged, or a confirmation has no second look.
    """
    pairs = list(_pairs(raw))
    if not pairs:
        return None
    seconds = sum(after.at_s - before.at_s for before, after in pairs)
    grown, assured = (_grown(pairs, name) for name in ("free_bytes", "assured_bytes"))
    hits, misses = (_grown(pairs, name) for name in ("cache_hits", "cache_misses"))
    rewritten = any(before.upkeep.rewritten_bytes != after.upkeep.rewritten_bytes for before, after in pairs)
    log, debt = (None if rewritten else _grown(pairs, name) for name in ("log_bytes", "debt_bytes"))
    touched = None if hits is None or misses is None else hits + misses
    return SustainedEvidence(
        seconds=seconds,
        free_bytes=pairs[-1][1].upkeep.free_bytes,
        free_lost_per_s=None if grown is None else -grown / seconds,
        assured_bytes=pairs[-1][1].upkeep.assured_bytes,
        assured_lost_per_s=None if assured is None else -assured / seconds,
        disk_unseen=pairs[-1][1].upkeep.disk_unseen,
        log_per_s=None if log is None or log < 0 else log / seconds,
        cache_hit_share=hits / touched if touched and hits is not None else None,
        debt_per_s=None if debt is None else debt / seconds,
        trouble="; ".join(dict.fromkeys(look.upkeep.trouble for pair in pairs for look in pair if look.upkeep.trouble)),
    )


def measured(found: SustainedEvidence | None) -> Iterator[Measurement]:
    """The evidence as measurements; values that are not known are left out."""
    if found is not None:
        values = ((LOG_RATE, found.log_per_s), (CACHE_HITS, found.cache_hit_share), (SPACE_LOST, found.free_lost_per_s))
        for metric, value in values:
            if value is not None:
                yield metric.measured(value)


def _pairs(raw: RawOutput) -> Iterator[tuple[Look, Look]]:
    looks = list(_looks(raw))
    if len(looks) % 2:
        raise OutputUnreadable(f"{UPKEEP} ends before the second reading at {looks[-1].point}")
    for before, after in zip(looks[::2], looks[1::2], strict=True):
        if (before.point, before.when, after.when) != (after.point, "before", "after") or after.at_s <= before.at_s:
            raise OutputUnreadable(f"{UPKEEP}: the two readings at {before.point} do not belong together")
        yield before, after


def _looks(raw: RawOutput) -> Iterator[Look]:
    for line in raw.get(UPKEEP, b"").splitlines():
        try:
            yield Look.model_validate(load_json(line))
        except (ValidationError, ValueError) as error:
            raise OutputUnreadable(f"{UPKEEP} holds a damaged line: {line[:100]!r}") from error


def _grown(pairs: Iterable[tuple[Look, Look]], name: str) -> float | None:
    """Sum over the pairs; None where a look does not say."""
    total = 0.0
    for before, after in pairs:
        first, last = getattr(before.upkeep, name), getattr(after.upkeep, name)
        if first is None or last is None:
            return None
        total += last - first
    return total
