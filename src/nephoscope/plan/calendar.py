"""How long a plan takes with several clusters at once, and how many there are by default. Pure."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import fsum

from nephoscope.model.records import Plan, PlannedTrial
from nephoscope.study.model import Study
from nephoscope.study.provisioning import CLOUDS

MAX_BY_DEFAULT = 96
"""Clusters at once on clouds, as many as one controller was tried with."""
_SHOWN = (1, 24, MAX_BY_DEFAULT)


@dataclass(frozen=True)
class Calendar:
    """From the first trial to the last."""

    clusters: int
    """At once."""
    time_s: float


def clusters_by_default(study: Study) -> int:
    """How many clusters `run` uses at once: on clouds as many as budget and quotas allow, up to a limit; else one."""
    if not {one.provider for one in study.configurations} <= CLOUDS:
        return 1
    kept = len(study.configurations) if study.placement == "per-configuration" else 0
    return max(MAX_BY_DEFAULT, kept)


def calendars(plan: Plan, shared: Mapping[str, str | None]) -> list[Calendar]:
    """For 1, 24 and 96 clusters; or, instead of more clusters than the plan can use, for that many.

    Args:
        plan: of trials on clouds.
        shared: trial id -> name of the cluster that it shares; None: it has one of its own.
    """
    found = [at_once(plan, shared, count) for count in _SHOWN]
    return list(dict.fromkeys(found))


def at_once(plan: Plan, shared: Mapping[str, str | None], clusters: int) -> Calendar:
    """For so many clusters, or for as many as the plan can use; `shared` as for `calendars`."""
    blocks = _blocks(plan, shared)
    used = min(clusters, max(map(len, blocks)))
    return Calendar(used, fsum(_block_s(jobs, used) for jobs in blocks))


def _blocks(plan: Plan, shared: Mapping[str, str | None]) -> list[list[float]]:
    """Seconds that each cluster is used, by what the next waits for."""
    if plan.stop != "decided":
        return [_jobs(plan.trials, shared)]
    return [_jobs(list(rows), shared) for _, rows in groupby(plan.trials, key=lambda row: row.intent.block)]


def _jobs(rows: list[PlannedTrial], shared: Mapping[str, str | None]) -> list[float]:
    found: dict[str, float] = {}
    for row in rows:
        name = shared[row.intent.id] or row.intent.id
        found[name] = found.get(name, 0.0) + row.expected_duration_s
    return list(found.values())


def _block_s(jobs: list[float], clusters: int) -> float:
    """Each cluster takes the next trials in the plan's order; a look waits until all trials of a block have ended."""
    ends_s = [0.0] * clusters
    for job_s in jobs:
        heapq.heapreplace(ends_s, ends_s[0] + job_s)
    return max(ends_s)
