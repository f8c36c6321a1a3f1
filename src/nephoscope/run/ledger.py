"""What a study may hold at once and spend in total: quotas of vCPUs, clusters, US dollars. The decision is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from typing_extensions import override

from nephoscope.model.words import counted
from nephoscope.study.model import Configuration


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
