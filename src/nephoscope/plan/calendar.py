"""How long a plan takes with several clusters at once, and how many there are by default. Pure."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from typing import Any

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


def on_hosts(plan: Plan, clusters: int) -> Calendar:
    """For so many clusters of listed hosts, one for each trial, or for as many as have no host in common."""
    blocks = _blocks(plan, dict.fromkeys((row.intent.id for row in plan.trials), None))
    used = min(clusters, max(_most_apart(jobs) for jobs in blocks))
    return Calendar(used, fsum(_block_s(jobs, used) for jobs in blocks))


@dataclass(frozen=True)
class _Job:
    """The use of one cluster."""

    duration_s: float
    hosts: frozenset[str]
    """That it needs for itself; none on clouds."""


def _blocks(plan: Plan, shared: Mapping[str, str | None]) -> list[list[_Job]]:
    """What each cluster is used for, by what the next waits for."""
    if plan.stop != "decided":
        return [_jobs(plan.trials, shared)]
    return [_jobs(list(rows), shared) for _, rows in groupby(plan.trials, key=lambda row: row.intent.block)]


def _jobs(rows: list[PlannedTrial], shared: Mapping[str, str | None]) -> list[_Job]:
    durations_s: dict[str, float] = {}
    hosts: dict[str, frozenset[str]] = {}
    for row in rows:
        name = shared[row.intent.id] or row.intent.id
        durations_s[name] = durations_s.get(name, 0.0) + row.expected_duration_s
        hosts[name] = _listed_hosts(row.intent.configuration)
    return [_Job(duration_s, hosts[name]) for name, duration_s in durations_s.items()]


def _listed_hosts(configuration: Mapping[str, Any]) -> frozenset[str]:
    """Hosts that a stored configuration names, of all roles."""
    roles = (configuration.get(role) or {} for role in ("database_machine", "load_machine"))
    return frozenset(host for role in roles for host in role.get("hosts") or ())


def _most_apart(jobs: list[_Job]) -> int:
    """How many of them can run at the same time: as many as are found by taking each that still has its hosts free."""
    taken: set[str] = set()
    apart = 0
    for hosts in dict.fromkeys(job.hosts for job in jobs):
        if not hosts & taken:
            apart, taken = apart + 1, taken | hosts
    return apart


def _block_s(jobs: list[_Job], clusters: int) -> float:
    """Each cluster takes the next trials in the plan's order; a look waits until all trials of a block have ended."""
    ends_s = [0.0] * clusters
    hosts_end_s: dict[str, float] = {}
    for job in jobs:
        begin_s = max(ends_s[0], *(hosts_end_s.get(host, 0.0) for host in job.hosts), 0.0)
        heapq.heapreplace(ends_s, begin_s + job.duration_s)
        hosts_end_s |= dict.fromkeys(job.hosts, begin_s + job.duration_s)
    return max(ends_s)
