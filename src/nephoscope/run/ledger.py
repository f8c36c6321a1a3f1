"""What a study may hold at once and spend in total: quotas of vCPUs, clusters, US dollars. The decision is pure.

And what it has cost, according to its folder: losing a database or a controller loses none of it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Protocol

from typing_extensions import override

from nephoscope.model.control import Lease
from nephoscope.model.words import counted
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import CLOUDS


@dataclass(frozen=True)
class Quota:
    """The unit of a cloud's quota: vCPUs of a family of machine types in a region."""

    provider: str
    region: str
    family: str


@dataclass(frozen=True)
class Holding:
    """What one cluster uses."""

    holder: str
    """Who holds it: a trial's id, or a configuration's name when its cluster serves many trials."""
    quota: Quota
    vcpus: int
    usd: float | None
    """What is reserved for it; `None`: its price is not known, which no budget permits."""


@dataclass(frozen=True)
class Wanted:
    """A requested cluster."""

    holder: str
    quota: Quota
    vcpus: int
    usd: float | None
    """Its quote: it does not start with less. `None`: its price is not known."""
    most_usd: float | None = None
    """The most it may cost if it lasts longer than expected; `None`: its quote."""
    goes_on: bool = False
    """It already exists, and is held whatever the limits say: its money was reserved before."""


@dataclass(frozen=True)
class Grant:
    """The cluster may be created."""

    usd: float | None
    """Reserved for it, and the most that it may cost; `None`: there is no limit in dollars."""


@dataclass(frozen=True)
class Limits:
    """The limits for all controllers of a study together."""

    max_usd: float | None = None
    max_clusters: int | None = None


@dataclass(frozen=True)
class Books:
    """The state of a ledger at one moment."""

    held: Sequence[Holding] = ()
    spent_usd: float = 0.0
    vcpus: Mapping[Quota, int] = field(default_factory=dict)
    """Quotas observed at the provider; one that is missing here was never reached."""

    @property
    def held_usd(self) -> float:
        """Reserved and not yet released."""
        return sum(holding.usd or 0.0 for holding in self.held)

    def in_use(self, quota: Quota) -> int:
        """vCPUs held of a quota."""
        return sum(holding.vcpus for holding in self.held if holding.quota == quota)


@dataclass(frozen=True)
class Refusal:
    """Why something cannot be held now."""

    reason: str
    passes: bool
    """True: it may become possible once something is released."""


def decide(books: Books, wanted: Wanted, limits: Limits) -> Grant | Refusal:
    """Whether `wanted` may be held in addition to what is already held.

    A holder may keep what it holds. With a limit in dollars it gets the most that it may cost, or what is left if that
    is less, but no less than its quote. So the sum of spent and reserved money never exceeds the limit.
    """
    for holding in books.held:
        if holding.holder == wanted.holder:
            return Grant(None if limits.max_usd is None else holding.usd)
    if wanted.goes_on:
        return Grant(None if limits.max_usd is None else wanted.usd)
    refused = _over_budget(books, wanted, limits.max_usd) or _over_quota(books, wanted, limits.max_clusters)
    if refused is not None:
        return refused
    if limits.max_usd is None or wanted.usd is None:
        return Grant(None)
    left_usd = limits.max_usd - books.spent_usd - books.held_usd
    return Grant(max(wanted.usd, min(wanted.most_usd or 0.0, left_usd)))


def held_as(wanted: Wanted, grant: Grant) -> Holding:
    """The records of a ledger."""
    return Holding(wanted.holder, wanted.quota, wanted.vcpus, wanted.usd if grant.usd is None else grant.usd)


def _over_budget(books: Books, wanted: Wanted, max_usd: float | None) -> Refusal | None:
    if max_usd is None:
        return None
    if wanted.usd is None:
        return Refusal(f"the budget is ${max_usd:,.2f}, but the price is not known", passes=False)
    after = books.spent_usd + books.held_usd + wanted.usd
    if after <= max_usd:
        return None
    parts = f"${books.spent_usd:,.2f} spent + ${books.held_usd:,.2f} held + ${wanted.usd:,.2f} quoted"
    return Refusal(f"{parts} = ${after:,.2f}, more than ${max_usd:,.2f}", passes=books.held_usd > 0)


def _over_quota(books: Books, wanted: Wanted, max_clusters: int | None) -> Refusal | None:
    if max_clusters is not None and len(books.held) >= max_clusters:
        are = "is" if max_clusters == 1 else "are"
        return Refusal(f"{counted(max_clusters, 'cluster')} {are} in use, which is the limit", passes=True)
    allowed = books.vcpus.get(wanted.quota)
    in_use = books.in_use(wanted.quota)
    if allowed is not None and in_use > 0 and in_use + wanted.vcpus > allowed:  # always worth a try: quotas rise
        family = f"{wanted.quota.family} in {wanted.quota.region}"
        used = f"{in_use:,} of {counted(allowed, 'vCPU')} of {family} {'is' if in_use == 1 else 'are'} in use"
        return Refusal(f"{used}, {wanted.vcpus:,} more requested", passes=True)
    return None


class Ledger(Protocol):
    """A ledger that several may write; each call is one transaction."""

    async def hold(self, wanted: Wanted) -> Grant | Refusal:
        """Holds it, or returns the reason why not."""

    async def give_back(self, holder: str, spent_usd: float) -> None:
        """Releases it and records its real cost as spent. No error if it was not held."""

    async def lower(self, quota: Quota) -> None:
        """The provider allows no more of this quota than is held now."""


class OwnLedger(Ledger):
    """The ledger of one controller: the results folder holds what it needs to know about earlier ones."""

    def __init__(self, limits: Limits, spent_usd: float) -> None:
        self._limits = limits
        self._held: dict[str, Holding] = {}
        self._spent_usd = spent_usd
        self._vcpus: dict[Quota, int] = {}

    @override
    async def hold(self, wanted: Wanted) -> Grant | Refusal:
        found = decide(self._books(), wanted, self._limits)
        if isinstance(found, Grant):
            self._held.setdefault(wanted.holder, held_as(wanted, found))
        return found

    @override
    async def give_back(self, holder: str, spent_usd: float) -> None:
        self._held.pop(holder, None)
        self._spent_usd += spent_usd

    @override
    async def lower(self, quota: Quota) -> None:
        self._vcpus[quota] = self._books().in_use(quota)

    def _books(self) -> Books:
        return Books(tuple(self._held.values()), self._spent_usd, dict(self._vcpus))


def quota_of(configuration: Configuration) -> tuple[Quota, int]:
    """The quota that a cluster of a configuration uses, and how much: vCPUs if it states them, else machines."""
    database, load = configuration.database_machine, configuration.load_machine
    vcpus = sum(
        machine.count * (machine.cpus if isinstance(machine.cpus, int) else 1)
        for machine in (database, load)
        if machine
    )
    return Quota(configuration.provider, configuration.region or "", family_of(database.type)), vcpus


def family_of(machine_type: str | None) -> str:
    """'m6i' of 'm6i.2xlarge', 'n2-standard' of 'n2-standard-8', the type itself if it has no size to cut off."""
    if machine_type is None:
        return ""
    if "." in machine_type:
        return machine_type.partition(".")[0]
    family, dash, size = machine_type.rpartition("-")
    return family if dash and size.isdigit() else machine_type


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
