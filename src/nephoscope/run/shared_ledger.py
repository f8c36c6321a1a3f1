"""The ledger of several controllers in PostgreSQL, with their heartbeats.

Every call is one transaction, and the calls of one study run one after the other (an advisory lock). The database may
be deleted without loss: each controller starts by writing what was spent according to its results folder. What a dead
controller spent stays in the books under its name, until a successor reports what its folder holds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from types import TracebackType
from typing import Any, LiteralString, Self, TypeVar

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
create table if not exists nephoscope_workers (
    study text, owner text, worker bigint not null, primary key (study, owner));
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

    async def __aenter__(self) -> Self:
        """Registers the controller, and releases what an earlier one of the same folder held.

        Raises:
            TargetUnreachable: the database does not answer.
        """

        async def register(run: "_Run") -> None:
            await run(_TABLES)
            await run("delete from nephoscope_holdings where study = %(study)s and owner = %(owner)s")
            await run(
                "insert into nephoscope_controllers values (%(study)s, %(owner)s, now(), %(usd)s)"
                " on conflict (study, owner) do update set seen = now(), spent_usd = %(usd)s, taken_over = false",
                usd=self._spent_usd,
            )

        await self._try(register)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Signs off: others may take over what is left."""

        async def leave(run: "_Run") -> None:
            await run("delete from nephoscope_holdings where study = %(study)s and owner = %(owner)s")
            await run(
                "update nephoscope_controllers set seen = '-infinity' where study = %(study)s and owner = %(owner)s"
            )

        await self._try(leave)

    @override
    async def hold(self, wanted: Wanted) -> Grant | Refusal:
        async def hold(run: "_Run") -> Grant | Refusal:
            found = decide(await _books(run), wanted, self._limits)
            if isinstance(found, Grant):
                holding = held_as(wanted, found)
                await run(
                    "insert into nephoscope_holdings values"
                    " (%(study)s, %(holder)s, %(owner)s, %(provider)s, %(region)s, %(family)s, %(vcpus)s,"
                    " %(usd)s) on conflict do nothing",
                    holder=holding.holder,
                    vcpus=holding.vcpus,
                    usd=holding.usd,
                    **vars(holding.quota),
                )
            return found

        return await self._transaction(hold)

    @override
    async def give_back(self, holder: str, spent_usd: float) -> None:
        async def give_back(run: "_Run") -> None:
            await run("delete from nephoscope_holdings where study = %(study)s and holder = %(holder)s", holder=holder)
            await run(  # what was taken over was already counted
                "update nephoscope_controllers set spent_usd = spent_usd + %(usd)s"
                " where study = %(study)s and owner = %(owner)s and not taken_over",
                usd=spent_usd,
            )

        await self._transaction(give_back)

    @override
    async def lower(self, quota: Quota) -> None:
        async def lower(run: "_Run") -> None:
            await run(
                "insert into nephoscope_quotas values (%(study)s, %(provider)s, %(region)s, %(family)s, %(vcpus)s)"
                " on conflict (study, provider, region, family) do update set vcpus = %(vcpus)s",
                vcpus=(await _books(run)).in_use(quota),
                **vars(quota),
            )

        await self._transaction(lower)

    async def worker(self, register: Callable[[], Awaitable[int]]) -> int:
        """Number of this controller as a worker of the queue: that of its predecessor, or a new one by `register`."""

        async def enroll(run: "_Run") -> int:
            known = await run("select worker from nephoscope_workers where study = %(study)s and owner = %(owner)s")
            if known:
                return int(known[0].worker)
            worker = await register()
            await run("insert into nephoscope_workers values (%(study)s, %(owner)s, %(worker)s)", worker=worker)
            return worker

        return await self._transaction(enroll)

    async def beat(self, take_back: Callable[[Collection[int]], Awaitable[None]]) -> None:
        """Sends a heartbeat, and finds controllers without one for too long, which are dead from here on.

        Args:
            take_back: called with the workers of all living controllers, by one controller at a time: what others took
                returns to the queue.

        Raises:
            LeaseLost: others found that this controller is dead.
        """

        async def beat(run: "_Run") -> bool:
            alive = await run(
                "update nephoscope_controllers set seen = now()"
                " where study = %(study)s and owner = %(owner)s and not taken_over returning owner"
            )
            dead = await run(
                "update nephoscope_controllers set taken_over = true where study = %(study)s and not taken_over"
                " and seen < now() - make_interval(secs => %(seconds)s) returning owner",
                seconds=self._dead_after_s,
            )
            for controller in dead:  # what it held counts as spent, since nobody knows better
                held = await run(
                    "delete from nephoscope_holdings where study = %(study)s and owner = %(dead)s returning usd",
                    dead=controller.owner,
                )
                await run(
                    "update nephoscope_controllers set spent_usd = spent_usd + %(usd)s"
                    " where study = %(study)s and owner = %(dead)s",
                    dead=controller.owner,
                    usd=sum(row.usd or 0.0 for row in held),
                )
            living = await run(
                "select worker from nephoscope_workers join nephoscope_controllers using (study, owner)"
                " where study = %(study)s and not taken_over"
            )
            await take_back([row.worker for row in living])
            return bool(alive)

        if not await self._transaction(beat):
            raise LeaseLost(
                f"this controller sent no heartbeat for {self._dead_after_s:.0f} s, so others took over its trials",
                hint="run the same command again: it continues with the remaining trials",
            )

    async def _transaction(self, action: Callable[["_Run"], Awaitable[Result]]) -> Result:
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

    async def _try(self, action: Callable[["_Run"], Awaitable[Result]]) -> Result:
        import psycopg
        from psycopg.rows import namedtuple_row

        try:
            async with await psycopg.AsyncConnection.connect(self._url, row_factory=namedtuple_row) as connection:

                async def run(sql: LiteralString, **values: object) -> list[Any]:
                    bound = {"study": self._study, "owner": self._owner, **values} if "%(" in sql else None
                    cursor = await connection.execute(sql, bound)
                    return await cursor.fetchall() if cursor.description else []

                await run("select pg_advisory_xact_lock(hashtext(concat('nephoscope/', %(study)s::text)))")
                return await action(run)
        except psycopg.OperationalError as error:
            raise unreachable(error) from error


def unreachable(error: Exception) -> TargetUnreachable:
    """The error that a person sees if the server does not answer."""
    return TargetUnreachable(
        f"the database of the controllers does not answer: {error}",
        hint="check the address given with --state, and that the server runs",
    )


_Run = Callable[..., Awaitable[list[Any]]]


async def _books(run: _Run) -> Books:
    held = [
        Holding(row.holder, Quota(row.provider, row.region, row.family), row.vcpus, row.usd)
        for row in await run("select * from nephoscope_holdings where study = %(study)s")
    ]
    quotas = await run("select * from nephoscope_quotas where study = %(study)s")
    spent = await run("select coalesce(sum(spent_usd), 0) as usd from nephoscope_controllers where study = %(study)s")
    return Books(
        held=held,
        spent_usd=float(spent[0].usd),
        vcpus={Quota(row.provider, row.region, row.family): row.vcpus for row in quotas},
    )
