"""What a study may hold at once and spend in all: quotas of vCPUs, clusters, US dollars. The decision is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from typing_extensions import override

from nephoscope.study.model import Configuration


@dataclass(frozen=True)
class Quota:
    """What a cloud counts together: vCPUs of a family of machine types in a region."""

    provider: str
    region: str
    family: str


@dataclass(frozen=True)
class Holding:
    """What one cluster takes."""

    holder: str
    """Who holds it: a trial's id, or a configuration's name when its cluster serves many trials."""
    quota: Quota
    vcpus: int
    usd: float | None
    """What is set aside for it; `None`: its price is not known, which no budget lets pass."""


@dataclass(frozen=True)
class Wanted:
    """A cluster that somebody asks for."""

    holder: str
    quota: Quota
    vcpus: int
    usd: float | None
    """Its quote: with less it is not begun. `None`: its price is not known."""
    most_usd: float | None = None
    """What it may take when it lasts longer than expected; `None`: its quote."""
    goes_on: bool = False
    """It is there already, and held whatever the limits say: money for it was set aside before."""


@dataclass(frozen=True)
class Grant:
    """A cluster may be had."""

    usd: float | None
    """Set aside for it, and all that it may take; `None`: there is no limit in dollars."""


@dataclass(frozen=True)
class Limits:
    """What all controllers of a study together must keep to."""

    max_usd: float | None = None
    max_clusters: int | None = None


@dataclass(frozen=True)
class Books:
    """The state of a ledger at one moment."""

    held: Sequence[Holding] = ()
    spent_usd: float = 0.0
    vcpus: Mapping[Quota, int] = field(default_factory=lambda: MappingProxyType({}))
    """What the provider was seen to allow; a quota that is not here was never reached."""

    @property
    def held_usd(self) -> float:
        """Set aside and not given back yet."""
        return sum(holding.usd or 0.0 for holding in self.held)

    def in_use(self, quota: Quota) -> int:
        """vCPUs held of a quota."""
        return sum(holding.vcpus for holding in self.held if holding.quota == quota)


@dataclass(frozen=True)
class Refusal:
    """Why something cannot be held now."""

    reason: str
    passes: bool
    """True: it may be possible once somebody gave something back."""


def decide(books: Books, wanted: Wanted, limits: Limits) -> Grant | Refusal:
    """Whether `wanted` may be held beside what is held already. Who holds it already may go on holding it.

    With a limit in dollars it is given what it may take at most, or what is left if that is less, but no less than its
    quote. So what was spent and what is set aside never exceed the limit together.
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
    """What a ledger writes down."""
    return Holding(wanted.holder, wanted.quota, wanted.vcpus, wanted.usd if grant.usd is None else grant.usd)


def _over_budget(books: Books, wanted: Wanted, max_usd: float | None) -> Refusal | None:
    if max_usd is None:
        return None
    if wanted.usd is None:
        return Refusal(f"${max_usd:.2f} are allowed, and its price is not known", passes=False)
    after = books.spent_usd + books.held_usd + wanted.usd
    if after <= max_usd:
        return None
    parts = f"${books.spent_usd:.2f} spent + ${books.held_usd:.2f} held + ${wanted.usd:.2f} quoted"
    return Refusal(f"{parts} = ${after:.2f}, more than ${max_usd:.2f}", passes=books.held_usd > 0)


def _over_quota(books: Books, wanted: Wanted, max_clusters: int | None) -> Refusal | None:
    if max_clusters is not None and len(books.held) >= max_clusters:
        return Refusal(f"{max_clusters} clusters are held", passes=True)
    allowed = books.vcpus.get(wanted.quota)
    in_use = books.in_use(wanted.quota)
    if allowed is not None and in_use > 0 and in_use + wanted.vcpus > allowed:  # one may always try: quotas rise
        family = f"{wanted.quota.family} in {wanted.quota.region}"
        return Refusal(f"{in_use} of {allowed} vCPUs of {family} are in use, {wanted.vcpus} more asked", passes=True)
    return None


class Ledger(Protocol):
    """A ledger that several may write; each call is one transaction."""

    async def hold(self, wanted: Wanted) -> Grant | Refusal:
        """Holds it, or says why not."""
        ...

    async def give_back(self, holder: str, spent_usd: float) -> None:
        """It is held no longer; what it really cost was spent. No error when it was not held."""
        ...

    async def lower(self, quota: Quota) -> None:
        """The provider refused more than is held of it now."""
        ...

    async def books(self) -> Books:
        """As they stand."""
        ...


class OwnLedger(Ledger):
    """The ledger of one controller: what it needs to know of earlier ones stands in the results folder."""

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

    @override
    async def books(self) -> Books:
        return self._books()

    def _books(self) -> Books:
        return Books(tuple(self._held.values()), self._spent_usd, dict(self._vcpus))


def quota_of(configuration: Configuration) -> tuple[Quota, int]:
    """What a cluster of a configuration counts against, and how much: vCPUs where it states them, else machines."""
    database, load = configuration.database_machine, configuration.load_machine
    vcpus = sum(
        machine.count * (machine.cpus if isinstance(machine.cpus, int) else 1)
        for machine in (database, load)
        if machine
    )
    return Quota(configuration.provider, configuration.region or "", family_of(database.type)), vcpus


def family_of(machine_type: str | None) -> str:
    """'m6i' of 'm6i.2xlarge', 'n2-standard' of 'n2-standard-8', the type itself where it has no size to cut off."""
    if machine_type is None:
        return ""
    if "." in machine_type:
        return machine_type.partition(".")[0]
    family, dash, size = machine_type.rpartition("-")
    return family if dash and size.isdigit() else machine_type
