"""The ledger of several controllers in PostgreSQL, with their heartbeats.

Every call is one transaction, and the calls of one study run one after the other (an advisory lock). The tables may be
deleted without loss: each controller starts by writing what was spent according to its results folder. What a dead
controller spent stays in the books under its name, until a successor reports what its folder holds.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from typing_extensions import override

from nephoscope.model.errors import LeaseLost, TargetUnreachable
from nephoscope.run.ledger import Books, Grant, Holding, Ledger, Limits, Quota, Refusal, Wanted, decide, held_as

Result = TypeVar("Result")

DEAD_AFTER_S = 60.0
"""Time without a heartbeat after which others take over a controller's trials."""
_BEATS = 6
"""Heartbeats in that time."""
LOOK_AGAIN_S = 1.0
"""Wait between two tries to reach a server that does not answer."""

_TABLES = """
create table if not exists nephoscope_controllers (
    study text, owner text, seen timestamptz not null, spent_usd double precision not null,
    taken_over boolean not null default false, primary key (study, owner));
create table if not exists nephoscope_holdings (
    study text, holder text, owner text not null, provider text not null, region text not null, family text not null,
    vcpus integer not null, usd double precision, primary key (study, holder));
create table if not exists nephoscope_quotas (
    study text, provider text, region text, family text, vcpus integer not null,
    primary key (study, provider, region, family));
"""


class SharedLedger(Ledger):
    """Use it as an asynchronous context manager."""

    def __init__(
        self, url: str, study: str, owner: str, limits: Limits, spent_usd: float, *, dead_after_s: float = DEAD_AFTER_S
    ) -> None:
        """A ledger of one study.

        Args:
            url: `postgresql://...` of a database that exists; libpq's environment variables apply.
            study: its name.
            owner: this controller; its successor has the same.
            limits: for all controllers together, which should agree on them.
            spent_usd: so far, according to this controller's results folder.
            dead_after_s: time without a heartbeat; equal for all controllers.
        """
        self._url = url
        self._study = study
        self._owner = owner
        self._limits = Limits(max_usd=limits.max_usd)
        self._spent_usd = spent_usd
        self._dead_after_s = dead_after_s
        self.beat_every_s = dead_after_s / _BEATS
        self._engine: Any = None

    async def __aenter__(self) -> Self:
        """Registers the controller, and releases what an earlier one of the same folder held.

        Raises:
            TargetUnreachable: the database does not answer.
        """
        import sqlalchemy

        url = sqlalchemy.make_url(self._url).set(drivername="postgresql+psycopg")
        self._engine = sqlalchemy.create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True)

        def register(run: "_Run") -> None:
            run("delete from nephoscope_holdings where study = :study and owner = :owner")
            run(
                "insert into nephoscope_controllers values (:study, :owner, now(), :usd)"
                " on conflict (study, owner) do update set seen = now(), spent_usd = :usd, taken_over = false",
                usd=self._spent_usd,
            )

        await self._try(register, first=_TABLES)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Signs off: others may take over what is left."""

        def leave(run: "_Run") -> None:
            run("delete from nephoscope_holdings where study = :study and owner = :owner")
            run("update nephoscope_controllers set seen = '-infinity' where study = :study and owner = :owner")

        try:
            await self._try(leave)
        finally:
            self._engine.dispose()

    @override
    async def hold(self, wanted: Wanted) -> Grant | Refusal:
        def hold(run: "_Run") -> Grant | Refusal:
            found = decide(_books(run), wanted, self._limits)
            if isinstance(found, Grant):
                holding = held_as(wanted, found)
                run(
                    "insert into nephoscope_holdings values"
                    " (:study, :holder, :owner, :provider, :region, :family, :vcpus, :usd) on conflict do nothing",
                    holder=holding.holder,
                    vcpus=holding.vcpus,
                    usd=holding.usd,
                    **vars(holding.quota),
                )
            return found

        return await self._transaction(hold)

    @override
    async def give_back(self, holder: str, spent_usd: float) -> None:
        def give_back(run: "_Run") -> None:
            run("delete from nephoscope_holdings where study = :study and holder = :holder", holder=holder)
            run(
                "update nephoscope_controllers set spent_usd = spent_usd + :usd"
                " where study = :study and owner = :owner and not taken_over",  # its holdings were already counted then
                usd=spent_usd,
            )

        await self._transaction(give_back)

    @override
    async def lower(self, quota: Quota) -> None:
        def lower(run: "_Run") -> None:
            run(
                "insert into nephoscope_quotas values (:study, :provider, :region, :family, :vcpus)"
                " on conflict (study, provider, region, family) do update set vcpus = :vcpus",
                vcpus=_books(run).in_use(quota),
                **vars(quota),
            )

        await self._transaction(lower)

    async def beat(self) -> list[str]:
        """Sends a heartbeat; returns controllers without one for too long, which this one takes over.

        Raises:
            LeaseLost: others took over this controller.
        """

        def beat(run: "_Run") -> tuple[bool, list[str]]:
            alive = run(
                "update nephoscope_controllers set seen = now()"
                " where study = :study and owner = :owner and not taken_over returning owner"
            )
            dead = run(
                "update nephoscope_controllers set taken_over = true where study = :study and not taken_over"
                " and seen < now() - make_interval(secs => :seconds) returning owner",
                seconds=self._dead_after_s,
            )
            for one in dead:  # what it held counts as spent, since nobody knows better
                held = run(
                    "delete from nephoscope_holdings where study = :study and owner = :dead returning usd",
                    dead=one.owner,
                )
                run(
                    "update nephoscope_controllers set spent_usd = spent_usd + :usd"
                    " where study = :study and owner = :dead",
                    dead=one.owner,
                    usd=sum(row.usd or 0.0 for row in held),
                )
            return bool(alive), [str(one.owner) for one in dead]

        alive, dead = await self._transaction(beat)
        if not alive:
            raise LeaseLost(
                f"this controller sent no heartbeat for {self._dead_after_s:.0f} s, so others took over its trials",
                hint="run the same command again: it continues with the remaining trials",
            )
        return dead

    async def _transaction(self, action: Callable[["_Run"], Result]) -> Result:
        """Retries while a server restarts, until others would consider this controller dead.

        After a cut connection a call may run twice: dollars are then counted twice rather than forgotten.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._dead_after_s
        while True:
            try:
                return await self._try(action)
            except TargetUnreachable:
                if loop.time() >= until_s:
                    raise
            await asyncio.sleep(min(self.beat_every_s, LOOK_AGAIN_S))

    async def _try(self, action: Callable[["_Run"], Result], *, first: str = "") -> Result:
        import sqlalchemy

        def run_all() -> Result:
            with self._engine.begin() as connection:

                def run(sql: str, **values: object) -> list[Any]:
                    bound = {"study": self._study, "owner": self._owner, **values}
                    result = connection.execute(sqlalchemy.text(sql), bound)
                    return list(result) if result.returns_rows else []

                run("select pg_advisory_xact_lock(hashtext('nephoscope/' || :study))")
                for statement in filter(str.strip, first.split(";")):
                    run(statement)
                return action(run)

        try:
            return await asyncio.to_thread(run_all)
        except sqlalchemy.exc.OperationalError as error:
            raise TargetUnreachable(
                f"the database of the controllers does not answer: {error.orig}",
                hint="check the address given with --state, and that the server runs",
            ) from error


_Run = Callable[..., list[Any]]


def _books(run: _Run) -> Books:
    held = [
        Holding(row.holder, Quota(row.provider, row.region, row.family), row.vcpus, row.usd)
        for row in run("select * from nephoscope_holdings where study = :study")
    ]
    quotas = run("select * from nephoscope_quotas where study = :study")
    spent = run("select coalesce(sum(spent_usd), 0) as usd from nephoscope_controllers where study = :study")
    return Books(
        held=held,
        spent_usd=float(spent[0].usd),
        vcpus={Quota(row.provider, row.region, row.family): row.vcpus for row in quotas},
    )
