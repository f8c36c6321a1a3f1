"""One round of damaged inputs: each read within bounds of time and memory, in a process that may die of it."""

import os
import random
import resource
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.soak.forks import forks
from nephoscope.model.errors import NephoscopeError

LONGEST_S = 10
MOST_BYTES = 1 << 30
BAD = ("uncaught", "slow", "large", "crashed")
"""What must not happen: an exception not ours, more than 10 s of CPU time, more than 1 GiB, death by a signal."""
SIZES = {
    "parsers": 20_000,
    "outputs of loads": 1500,
    "price lists": 6000,
    "imports": 3000,
    "stored files": 250,
    "files with digests": 150,
    "studies": 800,
}
"""What is damaged -> inputs of a round; each takes about two seconds, most of which is reading."""
_HANGS_S = 1800.0
"""Of a whole round, on a busy machine: longer is a wait that uses no CPU time."""


def one_round(
    make_reader: Callable[[Path], Callable[[random.Random], object]],
    seed: str,
    path: Path,
    inputs: int,
    *,
    longest_s: int = LONGEST_S,
) -> tuple[Counter[str], list[str]]:
    """Reads damaged inputs of one kind.

    Args:
        make_reader: of `READERS`.
        seed: of the damages.
        path: an empty folder.
        inputs: how many.
        longest_s: CPU time that an input may take.

    Raises:
        RuntimeError: the reader cannot be made, so nothing was read.

    Returns:
        Counts: inputs, those refused with a reason, and what must not happen; and a line about each of the latter.
    """
    counts, lines = Counter[str]({"inputs": inputs, **dict.fromkeys(BAD, 0)}), list[str]()
    first = 0
    while first < inputs:  # again behind an input that ended its process
        receiver, sender = forks().Pipe(duplex=False)
        place = path / str(first)
        place.mkdir()
        process = forks().Process(
            target=_read, args=(make_reader, seed, range(first, inputs), place, sender, longest_s)
        )
        process.start()
        sender.close()
        at, hangs = _followed(receiver, counts, lines)
        if hangs:
            process.kill()
        process.join()
        shutil.rmtree(place)
        if at is None:
            break
        if at < first:
            raise RuntimeError(f"no input was read: the reader {make_reader.__name__} cannot be made")
        died = "slow" if hangs or process.exitcode == -signal.SIGXCPU else "crashed"
        counts[died] += 1
        lines.append(f"input {at}: {died}, exit code {process.exitcode}")
        first = at + 1
    return counts, lines


def _followed(receiver: Connection, counts: Counter[str], lines: list[str]) -> tuple[int | None, bool]:
    """Adds what the process says.

    Returns:
        The input at which it died, -1 before the first, None if it came to the end; and whether it hangs.
    """
    at, until = -1, time.monotonic() + _HANGS_S
    try:
        while receiver.poll(max(0.0, until - time.monotonic())):
            said: Any = receiver.recv()
            if said is None:
                return None, False
            at, outcome, line = said
            if outcome:
                counts[outcome] += 1
            lines += [f"input {at}: {outcome}: {line}"] if line else []
    except EOFError:
        return at, False
    return at, True


def _read(
    make_reader: Callable[[Path], Callable[[random.Random], object]],
    seed: str,
    numbers: range,
    path: Path,
    sender: Connection,
    longest_s: int,
) -> None:
    """Reads inputs; says before each which one it is, so that a death has a number."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    reader = make_reader(path)
    held = _held_bytes()
    resource.setrlimit(resource.RLIMIT_DATA, (held + MOST_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        sender.send((number, "", ""))
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + longest_s + 1, resource.RLIM_INFINITY))
        try:
            reader(random.Random(f"{seed} {number}"))
        except NephoscopeError:
            sender.send((number, "refused", ""))
        except MemoryError as error:
            sender.send((number, "large", repr(error)[:300]))
        except Exception as error:  # which is what is counted
            sender.send((number, "uncaught", repr(error)[:300]))
    sender.send(None)


def _held_bytes() -> int:
    """Private memory of this process that the limit of data counts."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))
