"""A queue that survives its controller, built on DBOS; the only module that knows DBOS.

Each trial is one workflow, each attempt one of its steps, each wait a durable sleep. DBOS holds ids and nothing else:
measurements are in the results folder, from which `advance` reads what is left to do. So its database may be deleted at
any time, and nothing in it is trusted (`queue_values.py`). On SQLite one controller works on a study; on PostgreSQL
several do, and only one of them takes a given trial from the queue.

A database may hold trials of another plan: an earlier one of this folder, or that of another controller. A controller
that takes such a trial drops it: the workflow ends and says so, and whoever waits for it enqueues it again.

The trials run in the event loop that called `drain`. Stopping leaves workflows pending, just as dying does: the next
controller with the same `executor` continues them.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from typing_extensions import override

from nephoscope.model.errors import DamagedFile
from nephoscope.run.queue import Advance, Queue

APPLICATION = "nephoscope"
APPLICATION_VERSION = "2"
"""Fixed, so that the next version of nephoscope continues a workflow of this one. Increases when steps change, or how
they are stored; workflows of other versions are neither continued nor read."""

POLL_S = 1.0

_LEFT = "left"
"""Result of a workflow whose trial is unknown to the controller that took it."""


def sqlite_url(file: Path) -> str:
    """URL of a database in the results folder, whatever characters are in its path."""
    return f"sqlite:///{quote(str(file.resolve()))}"


class DurableQueue(Queue):
    """Use it as an asynchronous context manager, one at a time in a process."""

    def __init__(
        self,
        url: str,
        study: str,
        executor: str,
        at_once: int,
        *,
        workflow_id: Callable[[str], str],
        knows: Callable[[str], bool],
    ) -> None:
        """A queue of one study.

        Args:
            url: URL of the database: `sqlite:///...` or `postgresql://...`.
            study: names the queue; controllers with the same name share its trials.
            executor: name of this controller; its successor has the same.
            at_once: trials that this controller works on at the same time.
            workflow_id: from a trial's id; a new one each time a trial restarts after it had ended.
            knows: whether the plan holds a trial, by its id.
        """
        self._url = url
        self._queue = f"{APPLICATION}/{study}"
        self._executor = executor
        self._at_once = at_once
        self._workflow_id = workflow_id
        self._knows = knows
        self._running: set[asyncio.Task[Any]] = set()
        self._workflow: Any = None
        self._advance: Advance | None = None
        self._failed: asyncio.Future[None] | None = None
        self._stopping = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops whatever runs, without marking it as ended."""
        if self._workflow is None:
            return
        from dbos import DBOS

        await self._stop()
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        self._workflow = None
        # DBOS replaced the loop's thread pool with its own and has closed that; others still need threads
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))

    @override
    async def drain(self, trials: Sequence[str], advance: Advance) -> None:
        if self._workflow is None:
            await self._launch()
        self._advance = advance
        if self._failed is None:
            raise AssertionError("the queue was not launched")
        handles = [(trial, await self._enqueue(trial)) for trial in trials]

        async def ends() -> None:
            for trial, handle in handles:
                again = 0
                while await self._result(handle) == _LEFT:
                    again += 1
                    handle = await self._enqueue(trial, again)  # noqa: PLW2901

        all_ended = asyncio.ensure_future(ends())
        try:
            await asyncio.wait({all_ended, self._failed}, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            await all_ended
        finally:
            if not all_ended.done() or self._failed.done():
                all_ended.cancel()
                await self._stop()

    async def _result(self, handle: Any) -> str | None:
        """How a workflow ended.

        Raises:
            DamagedFile: the database holds something else than nephoscope writes.
        """
        from nephoscope.run.queue_values import ForeignQueue, StoredError

        try:
            result = await handle.get_result(polling_interval_sec=POLL_S)
        except (ForeignQueue, StoredError) as error:
            raise self._foreign(str(error)) from error
        if result not in {None, _LEFT}:
            raise self._foreign(repr(result)[:100])
        return None if result is None else _LEFT

    def _require_no_programs(self) -> None:
        """Looks at a database in the results folder before DBOS reads and writes it.

        Raises:
            DamagedFile: it has views or triggers, which are programs that may not end.
        """
        from sqlalchemy import make_url

        url = make_url(self._url)
        if url.get_backend_name() != "sqlite" or not Path(url.database or "").exists():
            return
        with suppress(sqlite3.Error), closing(sqlite3.connect(str(url.database))) as connection:  # DBOS names an error
            found = connection.execute("select type, name from sqlite_schema where type in ('view', 'trigger')")
            if program := found.fetchone():
                raise self._foreign(" ".join(program)[:100])

    def _foreign(self, found: str) -> DamagedFile:
        where = self._url.partition("://")[2].rpartition("/")[2]
        return DamagedFile(
            f"the queue {where} holds something that nephoscope did not write: {found}",
            hint="none of it was run; delete this file, or use another database with --state: no results are lost",
        )

    async def _enqueue(self, trial: str, again: int = 0) -> Any:
        """A handle of the trial's workflow, which may be there already; `again`: how often it was left before."""
        from dbos import DBOS, SetWorkflowID

        name = f"{APPLICATION_VERSION}/{self._workflow_id(trial)}"
        with SetWorkflowID(f"{name}/{again}" if again else name):
            return await DBOS.enqueue_workflow_async(self._queue, self._workflow, trial)

    async def take_over(self, executor: str) -> None:
        """Trials taken by a dead controller return to the queue; its successor has no special role."""
        from dbos import DBOS

        if self._workflow is not None:  # the only call that never hands a workflow to two controllers is not public
            await asyncio.to_thread(DBOS._recover_pending_workflows, [executor])  # noqa: SLF001

    async def _launch(self) -> None:
        from dbos import DBOS

        from nephoscope.run.queue_values import PlainValues, never_unpickle

        never_unpickle()
        await asyncio.to_thread(self._require_no_programs)
        self._failed = asyncio.get_running_loop().create_future()
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._url,
                "application_version": APPLICATION_VERSION,
                "executor_id": self._executor,
                "log_level": "CRITICAL",
                "enable_otlp": False,
                "serializer": PlainValues(),
                "notification_listener_polling_interval_sec": POLL_S,
            }
        )
        self._workflow = DBOS.workflow(name="trial", max_recovery_attempts=None)(self._trial())
        DBOS.listen_queues([self._queue])
        DBOS.launch()
        await DBOS.register_queue_async(
            self._queue,
            worker_concurrency=self._at_once,
            polling_interval_sec=POLL_S,
            on_conflict="always_update",
        )

    def _trial(self) -> Callable[[str], Any]:
        """The workflow: a function and not a method, because DBOS requires methods to belong to its own classes."""
        from dbos import DBOS

        async def trial(trial_id: str) -> str | None:
            if not self._knows(trial_id):
                return _LEFT
            task = asyncio.current_task()
            if task is None:
                raise AssertionError("a workflow runs in a task")
            self._running.add(task)
            try:
                while True:
                    ended, wait_s = await DBOS.run_step_async({"name": "attempt"}, self._step, trial_id)
                    if ended:
                        return None
                    await DBOS.sleep_async(wait_s)
            finally:
                self._running.discard(task)

        return trial

    async def _step(self, trial_id: str) -> tuple[bool, float]:
        """One attempt. An error that ends the whole study must not be recorded as the end of this trial."""
        if self._advance is None or self._failed is None:
            raise AssertionError("the queue was not launched")
        if self._stopping:  # taken from the queue in the meantime: it stays pending
            raise asyncio.CancelledError
        try:
            step = await self._advance(trial_id)
        except Exception as error:
            if not self._failed.done():
                self._failed.set_exception(error)
            raise asyncio.CancelledError from error
        return step.ended, step.wait_s

    async def _stop(self) -> None:
        """Cancels the trials that run here, and waits until each has released its machines."""
        self._stopping = True
        tasks = set(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            with suppress(asyncio.CancelledError, Exception):
                task.result()
