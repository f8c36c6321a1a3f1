"""Several controllers, one PostgreSQL, one study: a real server, a cloud that is a folder for each."""

import asyncio
import signal
import time
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from nephoscope.model.errors import LeaseLost, TargetUnreachable
from nephoscope.run import shared_ledger
from nephoscope.run.clock import SystemClock
from nephoscope.run.ledger import Books, Grant, Limits, Refusal
from nephoscope.run.queue import Step
from nephoscope.run.shared_ledger import SharedLedger
from nephoscope.run.shared_queue import SharedQueue
from tests.support.fleet_controller import cloud
from tests.support.real_parts import needs
from tests.support.server import Server, server
from tests.unit.run.test_killed_controllers import Fleet
from tests.unit.run.test_ledger import OTHER, QUOTA, refused, wanted


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("server")) as one, pytest.MonkeyPatch.context() as patch:
        for name, value in one.endpoint.environment.items():
            patch.setenv(name, value)
        yield one


@pytest.fixture
def url(postgres: Server) -> str:
    """Of a new database: the same trials may have ended in that of another test."""
    name = f"conductor_{uuid.uuid4().hex}"
    postgres.sql(f"create database {name}")
    return postgres.dsn(name)


def ledger(url: str, owner: str, *, study: str, spent: float = 0.0, dead_after_s: float = 60) -> SharedLedger:
    return SharedLedger(url, study, owner, Limits(max_usd=10.0), spent, dead_after_s=dead_after_s)


async def books_of(one: SharedLedger) -> Books:
    return await one._transaction(shared_ledger._books)


async def nothing(living: Collection[int]) -> None:
    """There is no queue."""


@needs("postgres")
def test_two_controllers_share_budget_and_quotas(url: str) -> None:
    async def story() -> None:
        async with ledger(url, "a", study="s1", spent=2.0) as one, ledger(url, "b", study="s1", spent=1.0) as other:
            assert await one.hold(wanted("t1", 3.0, most_usd=4.0)) == Grant(4.0)
            found = refused(await other.hold(wanted("t2", 3.5)))
            assert found.reason.startswith("$3.00 spent + $4.00 held + $3.50 quoted = $10.50")
            await one.give_back("t1", 3.0)
            assert await other.hold(wanted("t2", 3.5, most_usd=7.0)) == Grant(4.0)
            assert await other.hold(wanted("t2", 3.5, most_usd=7.0)) == Grant(4.0)
            await other.give_back("t2", 0.0)
            assert await other.hold(wanted("t2", 3.5)) == Grant(3.5)
            await other.lower(QUOTA)
            assert isinstance(await one.hold(wanted("t3", 0.1)), Refusal)
            assert await one.hold(wanted("t4", 0.1, quota=OTHER)) == Grant(0.1)
            assert (await books_of(one)).spent_usd == pytest.approx(6.0)

    asyncio.run(story())


@needs("postgres")
def test_what_the_tables_held_of_an_earlier_run_is_what_the_folder_says(url: str) -> None:
    async def story() -> None:
        one = await ledger(url, "a", study="s2", spent=5.0).__aenter__()
        assert await one.hold(wanted("t1", 1.0)) == Grant(1.0)
        async with ledger(url, "a", study="s2", spent=5.5) as again:
            books = await books_of(again)
            assert (books.spent_usd, list(books.held)) == (5.5, [])

    asyncio.run(story())


@needs("postgres")
def test_who_gives_no_sign_of_life_is_taken_over_once_and_learns_it(url: str) -> None:
    def impatient(owner: str, spent: float = 0.0) -> SharedLedger:
        return ledger(url, owner, study="s3", spent=spent, dead_after_s=2.0)

    async def story() -> None:
        async with impatient("x", 1.0) as dead:
            assert await dead.hold(wanted("t1", 2.0)) == Grant(2.0)
            await asyncio.sleep(2.5)
            async with impatient("y") as one, impatient("z") as other:
                await one.beat(nothing)
                await other.beat(nothing)
                books = await books_of(other)
                assert (books.spent_usd, list(books.held)) == (3.0, [])
                with pytest.raises(LeaseLost):
                    await dead.beat(nothing)

    asyncio.run(story())


@needs("postgres")
def test_what_a_dead_controller_spent_stays_spent_also_when_who_took_over_begins_again(url: str) -> None:
    def impatient(owner: str, spent: float = 0.0) -> SharedLedger:
        return ledger(url, owner, study="s4", spent=spent, dead_after_s=0.2)

    async def spent_by(owner: str, own: float) -> float:
        async with impatient(owner, own) as one:
            await one.beat(nothing)
            return (await books_of(one)).spent_usd

    async def story() -> None:
        async with impatient("a", 8.0) as dead:
            assert await dead.hold(wanted("t1", 1.0)) == Grant(1.0)
            await asyncio.sleep(0.3)
            assert await spent_by("b", 0.5) == pytest.approx(9.5)
            await dead.give_back("t1", 1.0)  # counted with what it held
            assert await spent_by("b", 0.5) == pytest.approx(9.5)
        assert await spent_by("c", 0.0) == pytest.approx(9.5)
        assert await spent_by("a", 8.25) == pytest.approx(8.75), "its folder knows better"

    asyncio.run(story())


class Way:
    """To a server, over a port of its own that can be closed and opened again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._to = conninfo_to_dict(url)
        self._writers: list[asyncio.StreamWriter] = []
        self._port = 0

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return make_conninfo(self._url, host="127.0.0.1", port=self._port)

    async def close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(str(self._to["host"]), int(self._to["port"] or 0))
        self._writers += [writer, back]
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    writer.close()


@needs("postgres")
def test_a_server_that_restarts_ends_no_controller_and_one_that_stays_away_does(url: str) -> None:
    async def story() -> None:
        way = Way(url)
        async with ledger(await way.open(), "a", study="s5", spent=1.0, dead_after_s=1.5) as one:
            await way.close()
            beating = asyncio.create_task(one.beat(nothing))
            await asyncio.sleep(0.3)
            assert not beating.done()
            await way.open()
            await beating
            await way.close()
            with pytest.raises(TargetUnreachable, match="--state"):
                await one.beat(nothing)
            await way.open()
        await way.close()

    asyncio.run(story())


def test_no_server_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with ledger("postgresql://nobody@127.0.0.1:1/nothing", "a", study="s"):
            pass

    with pytest.raises(TargetUnreachable, match="--state"):
        asyncio.run(story())


@dataclass
class Controller:
    """What one of several does with the trials that it takes."""

    url: str
    name: str
    plan: Sequence[str]
    at_once: int = 1
    dead_after_s: float = 60
    taken: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    going: asyncio.Event = field(default_factory=asyncio.Event)
    lets_go: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.lets_go.set()

    @asynccontextmanager
    async def queue(self) -> AsyncIterator[SharedQueue]:
        def times_ended(trial: str) -> int | None:
            return 0 if trial in self.plan else None

        async with (
            ledger(self.url, self.name, study="q", dead_after_s=self.dead_after_s) as books,
            SharedQueue(
                self.url, "q", self.at_once, books, SystemClock(), times_ended=times_ended, tell=self.messages.append
            ) as queue,
        ):
            yield queue

    async def advance(self, trial: str) -> Step:
        self.taken.append(trial)
        self.going.set()
        await self.lets_go.wait()
        return Step(ended=True)

    async def run(self) -> list[str]:
        """The trials that it took on."""
        async with self.queue() as queue, asyncio.timeout(60):
            beating = asyncio.create_task(queue.living())
            await queue.drain(self.plan, self.advance)
            beating.cancel()
        return self.taken

    @asynccontextmanager
    async def hangs(self) -> AsyncIterator[None]:
        """It has taken a trial and does nothing more, like a killed one: no heartbeat, no end."""
        self.lets_go.clear()
        async with self.queue() as queue:
            hanging = asyncio.create_task(queue.drain(self.plan, self.advance))
            await self.going.wait()
            yield
            hanging.cancel()


@needs("postgres")
def test_a_trial_that_ended_is_never_taken_again_and_one_of_another_plan_is_left_to_who_knows_it(url: str) -> None:
    async def story() -> None:
        old = Controller(url, "a", ["old", "kept"])
        old.lets_go.clear()
        stopped = asyncio.create_task(old.run())
        await old.going.wait()
        stopped.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
        new = Controller(url, "b", ["kept", "new"])
        assert await new.run() == ["kept", "new"]
        assert ["is no trial of this plan" in message for message in new.messages] == [True]
        assert await Controller(url, "a", ["old", "kept"]).run() == ["old"]

    asyncio.run(story())


@needs("postgres")
def test_the_successor_of_a_killed_controller_goes_on_with_its_trial_and_others_wait_for_it(url: str) -> None:
    async def story() -> None:
        async with Controller(url, "a", ["t1"]).hangs():
            other = Controller(url, "b", ["t1", "t2"])
            waiting = asyncio.create_task(other.run())
            await other.going.wait()
            assert await Controller(url, "a", ["t1", "t2"]).run() == ["t1"]
            assert await waiting == ["t2"]

    asyncio.run(story())


@needs("postgres")
def test_a_trial_of_a_dead_controller_is_taken_over_by_one_of_the_others(url: str) -> None:
    async def story() -> None:
        async with Controller(url, "a", ["t1"], dead_after_s=1.5).hangs():
            others = [Controller(url, name, ["t1"], dead_after_s=1.5) for name in "bc"]
            await asyncio.gather(*(controller.run() for controller in others))
            assert [trial for controller in others for trial in controller.taken] == ["t1"]

    asyncio.run(story())


HOSTILE = (
    '{"trial": "t1"}',  # without a lock
    '{"trial": ["t1"]}',
    '{"trial": "../../etc/passwd"}',
    '["t1"]',
    "[" * 3000 + "]" * 3000,
    "null",
    "1e999",
)


@needs("postgres")
def test_what_others_wrote_into_the_queue_is_dropped_with_a_message(url: str) -> None:
    async def story() -> None:
        controller = Controller(url, "a", ["t1"])
        async with controller.queue():
            pass
        for number, arguments in enumerate(HOSTILE):
            insert = (
                "insert into procrastinate_jobs (queue_name, task_name, priority, args)"
                " values ('nephoscope/q', 'os.system', %s, %s::jsonb)"
            )
            async with await psycopg.AsyncConnection.connect(url) as connection:
                await connection.execute(insert, (100 - number, arguments))
        assert await controller.run() == ["t1"]
        assert len(controller.messages) == 1

    asyncio.run(story())


@needs("postgres")
def test_a_job_that_was_enqueued_twice_is_measured_once(url: str) -> None:
    async def story() -> None:
        one, late = Controller(url, "a", ["t1"]), Controller(url, "b", ["t1"])
        async with late.queue() as queue:
            assert await one.run() == ["t1"]
            present, queue._present = queue._present, lambda: asyncio.sleep(0, {})  # type: ignore[method-assign]
            enqueued = asyncio.create_task(queue.drain(late.plan, late.advance))
            await asyncio.sleep(0.5)
            queue._present = present  # type: ignore[method-assign]
            await enqueued
        assert late.taken == []

    asyncio.run(story())


@needs("postgres")
def test_a_server_that_restarts_leaves_running_trials_alone_and_the_queue_goes_on(url: str) -> None:
    async def story() -> None:
        way = Way(url)
        controller = Controller(await way.open(), "a", ["t1", "t2"])
        controller.lets_go.clear()
        running = asyncio.create_task(controller.run())
        await controller.going.wait()
        await way.close()
        controller.lets_go.set()
        await asyncio.sleep(1.5)
        assert not running.done()
        await way.open()
        assert await running == ["t1", "t2"]
        await way.close()

    asyncio.run(story())


def finished(fleet: Fleet) -> set[str]:
    return {planned.intent.id for planned, trial in fleet.folder.planned() if trial.finished()}


@needs("postgres")
@pytest.mark.slow
def test_each_trial_is_done_by_one_of_two_controllers(url: str, tmp_path: Path) -> None:
    one = Fleet(tmp_path, replicates=4, duration_s=1.5, state_url=url, folder_name="one")
    other = Fleet(tmp_path, replicates=4, duration_s=1.5, state_url=url, folder_name="other")
    processes = [one.start(), other.start()]
    for process in processes:
        _, talk = process.communicate(timeout=300)
        assert process.returncode == 0, talk
    done = [finished(fleet) for fleet in (one, other)]
    assert not done[0] & done[1]
    assert len(done[0] | done[1]) == 8
    assert all(done)
    assert set(one.loads_by_trial().values()) == {1}
    late = Fleet(tmp_path, replicates=4, duration_s=1.5, state_url=url, folder_name="late").start()
    _, talk = late.communicate(timeout=60)
    assert late.returncode == 2, talk
    assert "8 trials of this study ended elsewhere" in talk


@needs("postgres")
@pytest.mark.slow
def test_a_rejected_trial_is_repeated_by_the_controller_that_holds_it_and_by_no_other(url: str, tmp_path: Path) -> None:
    names = ("first", "second")
    fleets = [
        Fleet(tmp_path, replicates=5, duration_s=1.5, state_url=url, folder_name=name, disturbed=0.4) for name in names
    ]
    for process in [fleet.start() for fleet in fleets]:
        _, talk = process.communicate(timeout=300)
        assert process.returncode == 0 or "ended elsewhere" in talk, talk
    done = [finished(fleet) for fleet in fleets]
    assert not done[0] & done[1]
    assert len(done[0] | done[1]) == 10
    attempts = {
        planned.intent.id: len(trial.finished_attempts())
        for fleet in fleets
        for planned, trial in fleet.folder.planned()
        if trial.finished()
    }
    assert max(attempts.values()) > 1
    assert fleets[0].loads_by_trial() == attempts


@needs("postgres")
@pytest.mark.slow
def test_the_trials_of_a_dead_controller_are_taken_over(url: str, tmp_path: Path) -> None:
    one = Fleet(tmp_path, replicates=5, duration_s=2.0, state_url=url, folder_name="one")
    other = Fleet(tmp_path, replicates=5, duration_s=2.0, state_url=url, folder_name="other")
    one.killed_when(lambda: one.loads_going_on() == 2)
    other.run()
    assert len(finished(other)) == 10 - len(finished(one))


@needs("postgres")
@pytest.mark.slow
def test_a_stopped_controller_releases_its_machines_and_leaves_its_trials_to_the_others(
    url: str, tmp_path: Path
) -> None:
    one, other = (Fleet(tmp_path, 3, 3.0, state_url=url, folder_name=name) for name in ("one", "other"))
    process = one.start()
    while one.loads_going_on() < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=60)
    assert process.returncode == 130, talk
    there = cloud(tmp_path / "cloud")
    assert there.created() == there.terminated() == 2
    other.run()
    assert len(finished(other)) == 6
    assert there.created() == there.terminated()
