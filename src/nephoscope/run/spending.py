"""What a study has cost, from what its folder says: nothing of it is lost with a database or a controller."""

from collections.abc import Iterator

from nephoscope.records_fleet import Lease
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial


def spent_usd(folder: ResultsFolder, now_unix_ms: int) -> float:
    """US dollars of every attempt of the plan until `now_unix_ms`; a cluster without a price adds nothing.

    An attempt whose controller died held its cluster until the next attempt began, or still holds it; it is never
    counted below its quote.
    """
    return sum(cost for _, trial in folder.planned() for cost in _costs(trial, now_unix_ms))


def _costs(trial: Trial, now_unix_ms: int) -> Iterator[float]:
    attempts = [(attempt, lease) for attempt in trial.attempts() if (lease := attempt.lease()) is not None]
    begun_next = [lease.begun_unix_ms for _, lease in attempts[1:]] + [now_unix_ms]
    for (attempt, lease), next_unix_ms in zip(attempts, begun_next, strict=False):
        yield cost_usd(attempt, lease, next_unix_ms)


def cost_usd(attempt: Attempt, lease: Lease, now_unix_ms: int) -> float:
    """Of one attempt; 0 without a price."""
    status = attempt.status()
    if status is not None and status.at_unix_ms is not None:
        return lease.cost_usd(status.at_unix_ms) or 0.0
    return max(lease.cost_usd(now_unix_ms) or 0.0, lease.quoted_usd or 0.0)
