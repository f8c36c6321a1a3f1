"""The queue of several controllers in PostgreSQL, by procrastinate; the only module that knows procrastinate.

Each trial is one job, which holds the trial's id and nothing else: measurements are in the results folders, from which
`advance` reads what is left to do. Nothing in the database is trusted. A job that is no trial of this controller's plan
is dropped: it may be of an earlier plan, or of another controller, which waits for it and enqueues it again.

Of procrastinate only its job manager is used, not its worker, which ends with the first query that fails, and which
keeps no name by which a controller finds the jobs of its dead predecessor. Who is alive is known to the ledger alone.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status
from typing_extensions import override

from nephoscope.model.errors import InputError
from nephoscope.run.clock import Clock
from nephoscope.run.queue import Advance, Queue, finish
from nephoscope.run.shared_ledger import SharedLedger, unreachable

Result = TypeVar("Result")

POLL_S = 1.0
_SERVER_WAIT_S = 10.0
"""For a connection, before the query is tried again."""
_CONNECTIONS = 2


class SharedQueue(Queue):
    """Use it as an asynchronous context manager."""

    def __init__(
        self,
        url: str,
        study: str,
        at_once: int,
        ledger: SharedLedger,
        clock: Clock,
        *,
        times_ended: Callable[[str], int | None],
        tell: Callable[[str], None],
    ) -> None:
        """A queue of one study.

        Args:
            url: `postgresql://...` of a database that exists.
            study: names the queue; controllers with the same name share its trials.
            at_once: trials that this controller works on at the same time.
            ledger: of the same controllers, entered already.
            clock: for waits.
            times_ended: how often a trial has ended in this folder, by its id, as it is a new job each time it
                restarts; None: the plan does not hold it.
            tell: called once if the queue holds what is no trial of this plan.
        """
        logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # heartbeats tell of a server that is away
        connector = PsycopgConnector(
            conninfo=url, json_loads=_table, min_size=1, max_size=_CONNECTIONS, timeout=_SERVER_WAIT_S
        )
        self._app = App(connector=connector)
        self._jobs = self._app.job_manager
        self._name = f"nephoscope/{study}"
        self._at_once = at_once
        self._ledger = ledger
        self._clock = clock
        self._times_ended = times_ended
        self._tell = tell
        self._has_strangers = False
        self._worker = 0
        self._workers: list[asyncio.Task[NoReturn]] = []
        self._advance: Advance | None = None
        self._taking = asyncio.Lock()
        self._taken: set[int | None] = set()
        """Jobs that run here."""
        self._unsure = True
        """Whether this controller may have taken jobs that do not run here: its predecessor, or in a lost answer."""

    async def __aenter__(self) -> Self:
        try:
            await self._app.open_async()
            self._worker = await self._ledger.worker(self._register)
        except BaseException as error:
            await self._app.close_async()
            if isinstance(error, psycopg.OperationalError):
                raise unreachable(error) from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancels what runs here, waits until each trial has released its machines, and leaves them to others."""
        await self._stop()
        with suppress(psycopg.OperationalError, InputError):  # else they are taken back when this controller is dead
            for job in await self._list(status="doing", worker_id=self._worker):
                await self._return(job)
        await self._app.close_async()

    @override
    async def drain(self, trials: Sequence[str], advance: Advance) -> None:
        if not trials:
            return
        self._advance = advance
        self._workers = self._workers or [asyncio.ensure_future(self._work()) for _ in range(self._at_once)]
        ends = asyncio.ensure_future(self._all_end(trials))
        try:
            ended, _ = await asyncio.wait({ends, *self._workers}, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        except BaseException:
            await self._stop()
            raise
        finally:
            ends.cancel()
            await asyncio.gather(ends, return_exceptions=True)

    async def living(self) -> NoReturn:
        """Sends heartbeats, and returns the jobs of dead controllers to the queue.

        Raises:
            LeaseLost: others found that this controller is dead.
            TargetUnreachable: the server did not answer for so long that they will.
        """
        while True:
            await self._ledger.beat(self._take_back)
            await self._clock.sleep(self._ledger.beat_every_s)

    async def _take_back(self, living: Collection[int]) -> None:
        for job in await self._list(status="doing"):
            if job.worker_id not in living:
                await self._return(job)

    async def _return(self, job: Job) -> None:
        """To the queue, unless it has ended in the meantime, or another job of its trial waits there."""
        try:
            await _answer(self._jobs.retry_job(job))
        except InputError as error:
            if isinstance(error.__cause__, UniqueViolation):
                await _answer(self._jobs.finish_job(job, Status.FAILED, delete_job=False))

    async def _stop(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers = []

    async def _work(self) -> NoReturn:
        while True:
            job = await self._patiently(self._take)
            if job is None:
                await self._clock.sleep(POLL_S)
            else:
                await self._run(job)
                self._taken.discard(job.id)

    async def _take(self) -> Job | None:
        """The next job, first of those that are taken already but do not run."""
        async with self._taking:
            lost = await self._list(status="doing", worker_id=self._worker) if self._unsure else []
            job = next((job for job in lost if job.id not in self._taken), None)
            if job is None:
                self._unsure = True
                job = await _answer(self._jobs.fetch_job([self._name], self._worker))
                self._unsure = False
            if job is not None:
                self._taken.add(job.id)
            return job

    async def _run(self, job: Job) -> None:
        trial = self._trial_of(job)
        if trial is None:
            if not self._has_strangers:
                self._tell(f"job {job.id} of the queue is no trial of this plan: left to others, as all of its kind")
            self._has_strangers = True
        elif not await self._patiently(partial(self._measured, job)):
            if self._advance is None:
                raise AssertionError("no job is taken before `drain`")
            await finish(trial, self._advance, self._clock)
        status = Status.ABORTED if trial is None else Status.SUCCEEDED
        with suppress(InputError):  # a try before, whose answer was lost, was successful
            await self._patiently(lambda: _answer(self._jobs.finish_job(job, status, delete_job=False)))

    def _trial_of(self, job: Job) -> str | None:
        """The trial of a job that looks as if a controller had enqueued it for one of this plan."""
        trial = job.task_kwargs.get("trial")
        if not isinstance(trial, str) or self._times_ended(trial) is None or job.lock != self._lock(trial):
            return None
        return trial if (job.queueing_lock or "").startswith(f"{job.lock}/") else None

    def _lock(self, trial: str) -> str:
        """No two jobs with the same lock run at the same time."""
        return f"{self._name}/{trial}"

    async def _measured(self, job: Job) -> bool:
        """Whether an equal job ended while this one was being enqueued."""
        return bool(await self._list(queueing_lock=job.queueing_lock, status="succeeded"))

    async def _all_end(self, trials: Sequence[str]) -> None:
        keys = {trial: f"{self._lock(trial)}/{self._times_ended(trial)}" for trial in trials}
        jobs = await self._patiently(partial(self._enqueue, keys))
        for trial in trials:
            while (status := await self._patiently(partial(self._status, jobs[trial]))) is not Status.SUCCEEDED:
                await self._clock.sleep(POLL_S)
                if status not in {Status.TODO, Status.DOING}:
                    jobs |= await self._patiently(partial(self._enqueue, {trial: keys[trial]}))

    async def _status(self, job_id: int) -> Status:
        return await _answer(self._jobs.get_job_status_async(job_id))

    async def _enqueue(self, keys: Mapping[str, str]) -> dict[str, int]:
        """Jobs of trials, by their keys: those that wait, run or have ended well; and new ones of the others."""
        present = await self._present()
        for trial, key in keys.items():
            while key not in present:
                job = self._app.configure_task("trial", queue=self._name, lock=self._lock(trial), queueing_lock=key)
                try:
                    present[key] = await _answer(job.defer_async(trial=trial))
                except AlreadyEnqueued:  # by another controller, in this moment
                    await self._clock.sleep(POLL_S)
                    present = await self._present()
        return {trial: present[key] for trial, key in keys.items()}

    async def _present(self) -> dict[str | None, int]:
        present = [job for job in await self._list() if job.status in {"todo", "doing", "succeeded"}]
        return {job.queueing_lock: job.id or 0 for job in sorted(present, key=lambda job: job.status == "succeeded")}

    async def _list(self, **which: Any) -> list[Job]:
        return list(await _answer(self._jobs.list_jobs_async(queue=self._name, **which)))

    async def _register(self) -> int:
        if not await _answer(self._app.check_connection_async()):
            await _answer(self._app.schema_manager.apply_schema_async())
        return await _answer(self._jobs.register_worker())

    async def _patiently(self, query: Callable[[], Awaitable[Result]]) -> Result:
        """Repeats a query while the server does not answer; heartbeats end the study of a server that stays away."""
        while True:
            with suppress(psycopg.OperationalError):
                return await query()
            await self._clock.sleep(POLL_S)


async def _answer(query: Awaitable[Result]) -> Result:
    """The answer of a server.

    Raises:
        psycopg.OperationalError: it does not answer.
        InputError: it refuses.
    """
    try:
        return await query
    except ConnectorException as error:
        if isinstance(error.__cause__, psycopg.OperationalError):
            raise error.__cause__ from error
        raise InputError(
            f"the queue of the controllers cannot be used: {error.__cause__ or error}",
            hint="use another database with --state: no results are lost",
        ) from error


def _table(text: str | bytes) -> dict[str, Any]:
    """Arguments of a job; none if they are not what procrastinate stores."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if isinstance(value, dict):
            return value
    return {}
