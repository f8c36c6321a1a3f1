"""What an operation costs two builds of the load generator, in turn: `python -m bench.two_versions OLD NEW`.

Both, built with cargo's feature `testkit`, drive the new one's fake target, so that a server's noise does not count.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any

SECONDS = 2
PACES: dict[str, dict[str, Any]] = {"closed": {"kind": "closed"}, "5,000/s": {"kind": "constant", "rate_per_s": 5_000}}


def cpu_us_per_operation(program: str, dsn: str, pace: dict[str, Any]) -> float:
    """CPU time of the whole process over the operations that it finished."""
    spec = {
        "schema": "nephoscope/load-spec/1",
        "action": "run",
        "target": {"kind": "postgres", "dsn": dsn},
        "workload": {"kind": "point_select", "rows": 1000},
        "seed": 1,
        "connections": 8,
        "duration_s": SECONDS,
        "pace": pace,
        "check": "none",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "exec"], input=json.dumps(spec).encode(), stdout=subprocess.PIPE, check=False)
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
        finally:
            target.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])
