"""What a study has cost, according to its folder: losing a database or a controller loses none of it."""

from collections.abc import Collection, Iterator
from itertools import zip_longest

from nephoscope.model.control import Lease
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial
from nephoscope.study.provisioning import CLOUDS

MIN_BILLED_MS = 60_000
"""Clouds bill by the second, but no machine for less than a minute."""


def spent_usd(folder: ResultsFolder, now_unix_ms: int, *, held: Collection[str] = (), gone: bool = False) -> float:
    """US dollars of every attempt of the plan until `now_unix_ms`; a cluster without a price adds nothing.

    Trials that a run leaves alone count, too: a budget is the folder's.

    An attempt whose controller died held its cluster until the next attempt started and costs at least its quote; or it
    still holds the cluster and costs at least what was reserved for it.

    Args:
        folder: of the study.
        now_unix_ms: held clusters count until then.
        held: keys of clusters that a ledger counts.
        gone: True if all other clusters of attempts without an end are known to be deleted.
    """
    return sum(cost for _, trial in folder.whole_plan() for cost in _costs(trial, now_unix_ms, held, gone=gone))


def trial_usd(trial: Trial, now_unix_ms: int) -> float:
    """US dollars of every attempt of one trial; see `spent_usd`."""
    return sum(_costs(trial, now_unix_ms, (), gone=False))


def ended_usd(trial: Trial) -> float | None:
    """US dollars of a trial, each attempt of which has ended; None: one is still open and may cost more later."""
    for attempt in trial.attempts():
        status = attempt.status()
        if attempt.lease() is not None and (status is None or status.at_unix_ms is None):
            return None
    return trial_usd(trial, 0)


def _costs(trial: Trial, now_unix_ms: int, held: Collection[str], *, gone: bool) -> Iterator[float]:
    attempts = [(attempt, lease) for attempt in trial.attempts() if (lease := attempt.lease()) is not None]
    begun_next = [lease.begun_unix_ms for _, lease in attempts[1:]]
    for (attempt, lease), next_unix_ms in zip_longest(attempts, begun_next):
        if next_unix_ms is not None:
            yield cost_usd(attempt, lease, next_unix_ms, lease.quoted_usd or 0.0)
        elif attempt.status() is not None or lease.cluster not in held:
            yield cost_usd(attempt, lease, now_unix_ms, 0.0 if gone else reserve_usd(lease))


def reserve_usd(lease: Lease) -> float:
    """The most a cluster may cost, as far as is known; 0 without a price."""
    return (lease.quoted_usd if lease.reserved_usd is None else lease.reserved_usd) or 0.0


def cost_usd(attempt: Attempt, lease: Lease, now_unix_ms: int, least_usd: float = 0.0) -> float:
    """Cost of one attempt, at least `least_usd` if it has no end. 0 without a price."""
    status = attempt.status()
    if status is not None and status.at_unix_ms is not None:
        return cost_until(lease, status.at_unix_ms)
    return max(cost_until(lease, now_unix_ms), least_usd)


def cost_until(lease: Lease, unix_ms: int) -> float:
    """Cost of a cluster deleted at that time, or of an attempt's share of one that serves many."""
    billed = lease.provider in CLOUDS and lease.placement == "fresh"
    least_unix_ms = lease.begun_unix_ms + MIN_BILLED_MS if billed else 0
    return lease.cost_usd(max(unix_ms, least_unix_ms)) or 0.0
