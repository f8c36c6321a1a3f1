"""What an operation costs two builds of the load generator, in turn: `python -m bench.two_versions OLD NEW`.

Both, built with cargo's feature `testkit`, drive the new one's fake target, so that a server's noise does not count.
Where valgrind is installed, its callgrind counts instructions of each thread, too, which no noise changes.
"""

import json
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

SECONDS = 2
COUNTED = (20_000, 60_000)
"""Operations of two runs: what they differ by is what operations cost, without start and end."""
_WHOLE = (0, 8)
"""Exit codes of whole runs. valgrind runs one thread at a time, which looks like a stop."""
PACES: dict[str, dict[str, Any]] = {"closed": {"kind": "closed"}, "5,000/s": {"kind": "constant", "rate_per_s": 5_000}}


def spec_of(dsn: str, pace: dict[str, Any], **bounds: int) -> bytes:
    """Point selects over four connections."""
    spec = {
        "schema": "nephoscope/load-spec/1",
        "action": "run",
        "target": {"kind": "postgres", "dsn": dsn},
        "workload": {"kind": "point_select", "rows": 1000},
        "seed": 1,
        "connections": 4,
        "pace": pace,
        "check": "none",
        **bounds,
    }
    return json.dumps(spec).encode()


def cpu_us_per_operation(program: str, dsn: str, pace: dict[str, Any]) -> float:
    """CPU time of the whole process over the operations that it finished."""
    spec = spec_of(dsn, pace, duration_s=SECONDS)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "exec"], input=spec, stdout=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    operations = sum(one["all"] for one in json.loads(done.stdout.splitlines()[-1])["operations"])
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e6 * cpu_s / float(operations)


def compared(old: str, new: str, dsn: str, pace: dict[str, Any], pairs: int) -> str:
    """Both costs and their ratio, each the median over pairs in turn, and the middle half of the ratios."""
    costs: list[tuple[float, float]] = []
    for pair in range(pairs):
        order = (old, new) if pair % 2 == 0 else (new, old)
        seen = {program: cpu_us_per_operation(program, dsn, pace) for program in order}
        costs.append((seen[old], seen[new]))
    ratios = sorted(after / before for before, after in costs)
    low, high = ratios[pairs // 4], ratios[-1 - pairs // 4]
    before_us, after_us = (median(each) for each in zip(*costs, strict=True))
    spread = f"({low:.3f}..{high:.3f} in the middle half of {pairs} pairs)"
    return f"{before_us:.2f} and {after_us:.2f} µs; ratio {median(ratios):.3f} {spread}"


def instructions_of_threads(program: str, dsn: str, operations: int) -> list[int]:
    """All that each thread executed, in the order in which they began."""
    with TemporaryDirectory() as folder:
        argv = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--separate-threads=yes",
            f"--callgrind-out-file={folder}/out",
        ]
        spec = spec_of(dsn, PACES["closed"], duration_s=3600, operations=operations)
        done = subprocess.run([*argv, program, "exec"], input=spec, capture_output=True, check=False)
        if done.returncode not in _WHOLE:
            raise RuntimeError(done.stderr.decode())
        files = sorted(Path(folder).glob("out-*"))
        return [sum(map(int, re.findall(r"^totals: (\d+)$", file.read_text(), re.MULTILINE))) for file in files]


def instructions_per_operation(program: str, dsn: str) -> str:
    """Of each thread that works for operations: '37 + 2,861'."""
    few, many = (instructions_of_threads(program, dsn, operations) for operations in COUNTED)
    each = [(after - before) / (COUNTED[1] - COUNTED[0]) for before, after in zip(few, many, strict=True)]
    return " + ".join(f"{one:,.0f}" for one in each if one >= 1)


def main(words: Sequence[str]) -> None:
    """Prints a line for each pace."""
    old, new, pairs = words[0], words[1], int(words[2]) if len(words) > 2 else 20
    with subprocess.Popen([new, "fake-target"], stdout=subprocess.PIPE) as target:
        if target.stdout is None:
            return
        address = json.loads(target.stdout.readline())["address"]
        try:
            for name, pace in PACES.items():
                sys.stdout.write(f"{name}: {compared(old, new, f'postgresql://u@{address}/d', pace, pairs)}\n")
                sys.stdout.flush()
            if shutil.which("valgrind"):
                counts = " and ".join(
                    instructions_per_operation(each, f"postgresql://u@{address}/d") for each in (old, new)
                )
                sys.stdout.write(f"instructions an operation: {counts}\n")
        finally:
            target.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])
