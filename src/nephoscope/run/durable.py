"""The queue that survives its controller, by DBOS; the only module that knows DBOS.

Each trial is one workflow, each attempt one of its steps, each wait a durable sleep. DBOS holds ids and nothing else:
what was measured stands in the results folder, from which `advance` reads what is left to do. So its database may be
deleted at any time. On SQLite one controller works on a study; on PostgreSQL several do, and a trial is taken from the
queue by one of them alone.

A database may hold trials of another plan: of the one that this folder had before, or of another controller. Who takes
such a trial leaves it: the workflow ends and says so, and whoever waits for it enqueues it again.

The trials run in the event loop that called `drain`. Stopping leaves workflows pending, just as dying does: the next
controller with the same `executor` goes on with them.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from typing_extensions import override

from nephoscope.run.queue import Advance, Queue

APPLICATION = "nephoscope"
APPLICATION_VERSION = "1"
"""Fixed: a workflow begun by one version of nephoscope is gone on with by the next. Rises when steps change."""

POLL_S = 1.0

_LEFT = "left"
"""Result of a workflow whose trial the controller that took it did not know."""


def sqlite_url(file: Path) -> str:
    """Of a database in the results folder."""
    return f"sqlite:///{file.resolve()}"


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
            url: of the database: `sqlite:///...` or `postgresql://...`.
            study: names the queue; controllers with the same name share its trials.
            executor: of this controller; equal for its successor.
            at_once: trials that this controller works on at the same time.
            workflow_id: of a trial's id: another one each time that a trial is begun anew after it had ended.
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
        """Ends what runs; nothing of it is marked as ended."""
        if self._workflow is None:
            return
        from dbos import DBOS

        await self._stop()
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        self._workflow = None
        # DBOS had made its own pool that of the loop, and has closed it; others still have work for threads
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))

    @override
    async def drain(self, trials: Sequence[str], advance: Advance) -> None:
        if self._workflow is None:
            await self._launch(advance)
        if self._failed is None:
            raise AssertionError("it was not launched")
        handles = [(trial, await self._enqueue(trial)) for trial in trials]

        async def ends() -> None:
            for trial, handle in handles:
                again = 0
                while await handle.get_result(polling_interval_sec=POLL_S) == _LEFT:
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

    async def _enqueue(self, trial: str, again: int = 0) -> Any:
        """A handle of the trial's workflow, which may be there already; `again`: how often it was left before."""
        from dbos import DBOS, SetWorkflowID

        with SetWorkflowID(f"{self._workflow_id(trial)}/{again}" if again else self._workflow_id(trial)):
            return await DBOS.enqueue_workflow_async(self._queue, self._workflow, trial)

    async def take_over(self, executor: str) -> None:
        """What a controller that died had taken goes back into the queue; its successor, if any, is like any other."""
        from dbos import DBOS

        if self._workflow is not None:  # the one call that cannot take a workflow from two at once is not public
            await asyncio.to_thread(DBOS._recover_pending_workflows, [executor])  # noqa: SLF001

    async def _launch(self, advance: Advance) -> None:
        from dbos import DBOS

        self._advance = advance
        self._failed = asyncio.get_running_loop().create_future()
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._url,
                "application_version": APPLICATION_VERSION,
                "executor_id": self._executor,
                "log_level": "CRITICAL",
                "enable_otlp": False,
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
        """The workflow: a function, not a method, as DBOS wants methods to belong to classes of its own."""
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
        """One attempt. What ends the whole study must not be recorded as the end of this trial."""
        if self._advance is None or self._failed is None:
            raise AssertionError("it was not launched")
        if self._stopping:  # taken from the queue meanwhile: it stays pending
            raise asyncio.CancelledError
        try:
            step = await self._advance(trial_id)
        except Exception as error:
            if not self._failed.done():
                self._failed.set_exception(error)
            raise asyncio.CancelledError from error
        return step.ended, step.wait_s

    async def _stop(self) -> None:
        """Cancels the trials that run here, and waits until each has given back what it holds."""
        self._stopping = True
        tasks = set(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            with suppress(asyncio.CancelledError, Exception):
                task.result()
