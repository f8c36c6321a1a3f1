"""One load from several machines: each drives its shard of it from one moment on, and their outputs are merged exactly.

A spec speaks of the whole load. Each machine is given the same one with its shard, its part of connections, workers and
threads, and the moment. `nephoscope-load merge` adds the histograms, and says by its exit code how the worst one ended.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from pydantic import ValidationError

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.load import contract
from nephoscope.benchmarks.load.spec import (
    KvWorkload,
    LoadSpec,
    OltpInsertWorkload,
    PostgresTarget,
    Shard,
    TpccWorkload,
    YcsbWorkload,
)
from nephoscope.databases.base import Endpoint
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.model.errors import InputError
from nephoscope.model.words import counted

LEAD_S = 3.0
"""From now to the common start: for starting a program on a busy host over SSH."""
LEAD_PER_CONNECTION_S = 0.01
"""More of it: connections are opened before the start. `merge` rejects a shard that starts late."""
HISTORY_PER_WAREHOUSE = 30_000
LEAD_PER_COUNTED_ROW_S = 1e-6
"""And more: a counter of a server that speaks SQL counts the rows of a table before the start, by reading all of it."""
_MERGE_TIMEOUT_S = 600.0


async def drive(
    site: Site,
    name: str,
    endpoint: Endpoint,
    spec: LoadSpec,
    *,
    timeout_s: float,
    allowed: Sequence[int] = (),
    complete: Collection[int] = (contract.EXIT_FINISHED,),
    on_interval: Callable[[contract.Interval], None] = lambda _: None,
) -> Completed:
    """Carries out a spec on the load machines; raw output is `<name>.stdout`, however many there are.

    Only a run is shared. The output of each shard is kept as `<name>.shard-<index>.stdout`.

    Args:
        site: its load machines take part.
        name: of the raw output.
        endpoint: of the database.
        spec: the whole load.
        timeout_s: of one machine.
        allowed: exit codes besides 0 that are results.
        complete: exit codes with which an output is whole. A shard that ends otherwise ends the others.
        on_interval: takes each interval of the first shard as it ends.

    Returns:
        What was merged; where a shard's output is not whole, that shard's end.

    Raises:
        InputError: the load cannot be shared equally.
    """
    machines = site.cluster.load_machines
    shown = _Progress(site.progress, on_interval)
    if len(machines) == 1 or spec.action != "run":
        return await _one(site, machines[0], name, endpoint, spec, timeout_s, allowed, shown.of(0))
    lead_s = lead_of_s(spec)
    shared = shares(spec, len(machines), start_at_unix_ms=int((time.time() + lead_s) * 1000))
    names = [f"{name}.shard-{index}" for index in range(len(machines))]
    tasks = [
        asyncio.create_task(_one(site, machine, own, endpoint, part, timeout_s + lead_s, allowed, shown.of(index)))
        for index, (machine, own, part) in enumerate(zip(machines, names, shared, strict=True))
    ]
    try:
        for next_end in asyncio.as_completed(tasks):
            ended = await next_end
            if ended.exit_code not in complete:
                return ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    outputs = [str((site.raw_dir / f"{own}.stdout").resolve()) for own in names]
    argv = [site.load_program, "merge", *outputs]
    return await site.execute(_here(), name, Command(argv, timeout_s=_MERGE_TIMEOUT_S, allowed=allowed))


def lead_of_s(spec: LoadSpec) -> float:
    """From now to the common start; pure."""
    counted = 0
    if isinstance(spec.target, PostgresTarget):
        match spec.workload:
            case TpccWorkload(warehouses=warehouses):
                counted = HISTORY_PER_WAREHOUSE * warehouses
            case OltpInsertWorkload(tables=tables, rows=rows):
                counted = tables * rows
            case KvWorkload(rows=rows) | YcsbWorkload(rows=rows):
                counted = rows
    return LEAD_S + LEAD_PER_CONNECTION_S * spec.connections + LEAD_PER_COUNTED_ROW_S * counted


def shares(spec: LoadSpec, count: int, *, start_at_unix_ms: int) -> list[LoadSpec]:
    """What each of `count` machines is asked to do; pure.

    Raises:
        InputError: connections or workers cannot be shared equally.
    """
    connections, workers = share(spec.connections, count, "connection"), spec.workers
    part = {
        "connections": connections,
        "workers": None if workers is None else share(workers, count, "worker"),
        "threads": None if spec.threads is None else -(-spec.threads // count),
        "start_at_unix_ms": start_at_unix_ms,
    }
    return [spec.model_copy(update={**part, "shard": Shard(index=index, count=count)}) for index in range(count)]


def share(whole: int, count: int, what: str) -> int:
    """One machine's part of so many of `what`, a noun in the singular.

    Raises:
        InputError: it is not a whole number.
    """
    if whole % count:
        raise InputError(
            f"{counted(whole, what)} cannot be divided equally among {count} load machines",
            hint=f"choose a multiple of {count}: shards must be equal so that their outputs can be merged",
        )
    return whole // count


async def _one(
    site: Site,
    machine: MachineHandle,
    name: str,
    endpoint: Endpoint,
    spec: LoadSpec,
    timeout_s: float,
    allowed: Sequence[int],
    on_line: Callable[[str], None],
) -> Completed:
    return await site.execute(
        machine,
        name,
        Command(
            [site.load_program, "exec"],
            timeout_s=timeout_s,
            stdin=spec.model_dump_json(by_alias=True).encode(),
            environment=endpoint.environment,
            on_line=on_line,
            allowed=allowed,
        ),
    )


def _here() -> MachineHandle:
    """Where outputs are merged: they are here already."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    return MachineHandle("controller", LocalRemote(cpus), "127.0.0.1", cpus, "/")


class _Progress:
    """The rate of all machines together, from interval lines.

    A line that cannot be read here is reported by `parse`, not by progress.
    """

    def __init__(self, tell: Callable[[str], None], ended: Callable[[contract.Interval], None]) -> None:
        self._tell = tell
        self._ended = ended
        self._rates: dict[int, float] = {}

    def of(self, index: int) -> Callable[[str], None]:
        """Takes the lines of one shard."""

        def take(line: str) -> None:
            with suppress(ValidationError):
                read = contract.OUTPUT_LINE.validate_json(line)
                if isinstance(read, contract.Interval) and read.end_s > read.start_s:
                    self._rates[index] = read.ended_operations / (read.end_s - read.start_s)
                    self._tell(f"{sum(self._rates.values()):,.0f} operations/s")
                    if index == 0:
                        self._ended(read)

        return take
