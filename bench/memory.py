"""Copies of memory beside STREAM's, reads and writes beside sysbench's; writes bench/MEMORY.md.

`NEPHOSCOPE_STREAM` names McCalpin's stream.c (<https://www.cs.virginia.edu/stream/>), which is compiled as it is for
each number of threads; nothing is measured without it. Sizes and threads are equal: each thread of ours has a working
set of its own, of which it copies the first half over the second, and so each thread of STREAM has two arrays of half
of that.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from bench.harness import bars
from bench.harness.measure import Ran, checked, machine, run
from bench.harness.sources import ROOT
from bench.load_generator import build, say
from nephoscope.benchmarks.memory.memory import Bandwidth, read
from nephoscope.model.units import GIB, MIB

WORKING_SET_BYTES = 512 * MIB
"""Of a thread. STREAM wants arrays of four times the last level's cache each: of less, a part stays there."""
WITHIN = 0.05
"""How far from STREAM's rate."""
_WORD_BYTES = 8
_TIMES = 20
"""STREAM repeats each kernel so often, and states the best; ours has as many samples at most."""
_SYSBENCH_S = 2


@dataclass(frozen=True)
class Best:
    """The best rate of a run: what STREAM states, as whatever else the machine does only makes a copy slower."""

    bytes_per_s: float
    lost: float | None
    """Share of the machine's CPU time that went to others meanwhile; None: the kernel does not tell."""


Round = Mapping[tuple[str, int], Best]
"""(whose operation, threads) -> its best rate."""
OURS = ("copy", "read", "write")
PEERS = {"STREAM Copy": "copy", "sysbench read": "read", "sysbench write": "write"}


def ours(program: Path, working_set_bytes: int) -> Round:
    """All numbers of threads at once."""
    size = str(working_set_bytes)
    ran = checked(run([str(program), "memory", "--smallest-bytes", size, "--largest-bytes", size]), "memory")
    _, points = read(ran.stdout.encode())
    return {
        (point.operation, point.threads): Best(max(point.samples_bytes_per_s), ran.lost)
        for point in points
        if isinstance(point, Bandwidth) and point.cpu_node is None
    }


def compiled(source: Path, folder: Path, working_set_bytes: int, threads: int) -> Path:
    """STREAM as it is, with arrays of half of each thread's working set."""
    program = folder / f"stream-{threads}"
    elements = threads * working_set_bytes // 2 // _WORD_BYTES
    words = ["cc", "-O2", "-fopenmp", f"-DSTREAM_ARRAY_SIZE={elements}", f"-DNTIMES={_TIMES}"]
    words += ["-mcmodel=medium"] if 3 * elements * _WORD_BYTES > GIB else []  # its arrays are static
    checked(run([*words, str(source), "-o", str(program)]), "cc")
    return program


def stream(program: Path, threads: int) -> Best:
    """Its Copy."""
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
    ran = checked(run([str(program)], environment=environment), "STREAM")
    return Best(stream_copy(ran.stdout), ran.lost)


def stream_copy(text: str) -> float:
    """The best rate of Copy, in bytes per second.

    Raises:
        RuntimeError: it was not printed, or STREAM found the arrays wrong.
    """
    copy = re.search(r"^Copy:\s+([\d.]+)", text, re.MULTILINE)
    if copy is None or "Solution Validates" not in text:
        raise RuntimeError(f"STREAM printed no valid result: {text[-500:]}")
    return float(copy[1]) * 1e6


def sysbench(operation: str, working_set_bytes: int, threads: int) -> Best:
    """A block of its own for each thread, passed over from its beginning to its end."""
    words = ["sysbench", "memory", f"--memory-block-size={working_set_bytes}", "--memory-total-size=0"]
    words += [f"--memory-oper={operation}", "--memory-scope=local", f"--threads={threads}", f"--time={_SYSBENCH_S}"]
    ran = checked(run([*words, "run"]), "sysbench")
    return Best(sysbench_rate(ran), ran.lost)


def sysbench_rate(ran: Ran) -> float:
    """Bytes per second.

    Raises:
        RuntimeError: they were not printed.
    """
    rate = re.search(r"MiB transferred \(([\d.]+) MiB/sec\)", ran.stdout)
    if rate is None:
        raise RuntimeError(f"sysbench printed no rate: {ran.stdout[-500:]}")
    return float(rate[1]) * MIB


def ratios_of(rounds: Sequence[Round], peer: str, threads: int) -> bars.Ratios:
    """Ours over the peer's, round by round."""
    pairs = [(each.get((PEERS[peer], threads)), each.get((peer, threads))) for each in rounds]
    return bars.ratios(
        (mine.bytes_per_s / theirs.bytes_per_s, mine.lost, theirs.lost) for mine, theirs in pairs if mine and theirs
    )


def page(rounds: Sequence[Round], working_set_bytes: int, where: str) -> str:
    """What is written."""
    numbers = sorted({threads for each in rounds for _, threads in each})
    judged = [
        bars.within(f"copy / STREAM's Copy, {_threads(threads)}", ratios_of(rounds, "STREAM Copy", threads), WITHIN)
        for threads in numbers
    ]
    judged += [
        bars.compared(f"{PEERS[peer]} / {peer}, {_threads(threads)}", ratios_of(rounds, peer, threads))
        for peer in PEERS
        if peer != "STREAM Copy"
        for threads in numbers
    ]
    table = [
        f"| {who} | {_threads(threads)} | {_shown(rounds, who, threads)} |"
        for who in (*OURS, *PEERS)
        for threads in numbers
        if any((who, threads) in each for each in rounds)
    ]
    measured = f"{len(rounds)} rounds, working sets of {working_set_bytes // MIB} MiB a thread"
    return "\n".join(
        [
            "# What the memory benchmark says, beside STREAM and sysbench",
            "",
            f"`python -m bench.memory` wrote this: {measured}.",
            "Each rate is the best of a run, as STREAM states it. Ratios are taken within a round.",
            "",
            "sysbench moves a word of 8 bytes at a time, which may be slower than memory, and states its mean rate:",
            "it has no bar.",
            "",
            *bars.HEAD,
            *(bar.row() for bar in judged),
            "",
            "| what | threads | GB/s, median (least..most) |",
            "|---|---|---|",
            *table,
            "",
            f"Machine: {where}.",
            "",
        ]
    )


def _threads(number: int) -> str:
    return f"{number} thread{'s' if number > 1 else ''}"


def _shown(rounds: Sequence[Round], who: str, threads: int) -> str:
    seen = bars.spread([each[who, threads].bytes_per_s / 1e9 for each in rounds if (who, threads) in each])
    return seen.text(1) if seen else bars.NOTHING


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; not a gate, as what else the machine does decides much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test: one round of 4 MiB a thread")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--program", type=Path, help="nephoscope-load; default: built from this checkout")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "MEMORY.md")
    given = parser.parse_args(arguments)
    source = os.environ.get("NEPHOSCOPE_STREAM")
    if source is None or which("cc") is None:
        say("not measured: NEPHOSCOPE_STREAM names no stream.c, or there is no C compiler")
        return 0
    size, number = (4 * MIB, 1) if given.quick else (WORKING_SET_BYTES, given.rounds)
    program = given.program or build()[0]
    threads = sorted({1, len(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="nephoscope-bench-") as name:
        streams = {each: compiled(Path(source), Path(name), size, each) for each in threads}
        rounds = []
        for place in range(number):
            say(f"round {place + 1} of {number}")
            found = dict(ours(program, size))
            found |= {("STREAM Copy", each): stream(built, each) for each, built in streams.items()}
            if which("sysbench"):
                for operation in ("read", "write"):
                    found |= {(f"sysbench {operation}", each): sysbench(operation, size, each) for each in threads}
            rounds.append(found)
            given.out.write_text(page(rounds, size, machine()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
