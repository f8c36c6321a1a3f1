"""Does an I/O log of 2019 show that another run used the machine at the same time? Pure: text -> evidence.

The scripts of 2019 run sysbench once for each number of threads, one after the other, and append its output to one file
on the machine, which is copied when the run ends. Two runs on one machine therefore write into the same file, so their
sections interleave. A section's result shows to which test it belongs: the time of all threads divided by the mean time
of a thread is its number of threads.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nephoscope.parsers.text import DECIMAL, INTEGER

_BEGINS = re.compile(rf"Number of threads: ({INTEGER})")
_SUM_MS = re.compile(rf" +sum: +({DECIMAL})")
_SUM_S = re.compile(rf" +total time taken by event execution: +({DECIMAL})s?")
_ENDS = re.compile(rf" +execution time \(avg/stddev\): +({DECIMAL})/{DECIMAL}")
_STARTED = re.compile(r"Threads started![^\S\n]*\n\s*\Z")
_WHOLE = 0.05
"""A quotient this close to a whole number is a number of threads; with tests of 240 s it is within 0.001."""


@dataclass(frozen=True)
class _Event:
    begins: bool
    threads: int


def _events(text: str) -> Iterator[_Event]:
    """Begins and results of sysbench tests in the order of the log; a result of unknown threads is left out."""
    all_threads_s: float | None = None
    for line in text.splitlines():
        if found := _BEGINS.fullmatch(line.rstrip()):
            yield _Event(begins=True, threads=int(found[1]))
        elif found := _SUM_MS.fullmatch(line.rstrip()):
            all_threads_s = float(found[1]) / 1000
        elif found := _SUM_S.fullmatch(line.rstrip()):
            all_threads_s = float(found[1])
        elif found := _ENDS.fullmatch(line.rstrip()):
            thread_s, summed_s, all_threads_s = float(found[1]), all_threads_s, None
            threads = summed_s / thread_s if summed_s and thread_s else 0.0
            if round(threads) >= 1 and abs(threads - round(threads)) <= _WHOLE * round(threads):
                yield _Event(begins=False, threads=round(threads))


def interleaved(text: str) -> str | None:
    """The first place where a log holds the output of two runs, in words; None if it holds none.

    Two things prove it: a result with a number of threads that no open test has, and a result of a test after another
    test began. A test without a result proves nothing: it may have been killed.
    """
    running: list[int] = []
    for event in _events(text):
        if event.begins:
            running.append(event.threads)
        elif event.threads not in running:
            where = f"where a test with {running[-1]} was running" if running else "between two tests"
            return f"a result with {_threads(event.threads)} appears {where}"
        elif running[-1] != event.threads:
            return f"the test with {_threads(event.threads)} ended after one with {running[-1]} had started"
        else:
            running.pop()
    return None


def unfinished(text: str) -> str | None:
    """The test that was still running when the log was copied, in words; None if there is none.

    The run's own tests had ended by then. A log that was cut off elsewhere says nothing.
    """
    began = [event.threads for event in _events(text) if event.begins]
    return f"a test with {_threads(began[-1])} was still running" if began and _STARTED.search(text) else None


def begun_anew(writes: str, reads: str) -> str | None:
    """What shows that another run emptied the log of writes, in words; None if nothing does.

    Both logs are written for the same numbers of threads, writes first, so a complete log of reads follows a complete
    log of writes.
    """
    counts = [{event.threads for event in _events(text) if event.begins} for text in (writes, reads)]
    if not counts[0] or not counts[0] < counts[1]:
        return None
    return f"the writes end with {_threads(max(counts[0]))}, the reads after them with {max(counts[1])}"


def _threads(count: int) -> str:
    return f"{count} thread" if count == 1 else f"{count} threads"
