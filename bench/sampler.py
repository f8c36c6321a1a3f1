"""What the sampler costs a measured machine: `python -m bench.sampler [--quick] [--out FILE]`.

Samplers run side by side, so that whatever else the machine does meets all of them: one without the accounts of CPU
time, one that keeps them, and one that also reads the processes of others every second, as during foreign load. All
this is done among few processes and again among many idle ones, which belong to the trial. What is counted is the CPU
time of each sampler, from its first line to its last.

The limit is that of the check `sampler-cost`: 0.5 % of a core.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nephoscope.app.wiring import load_program
from nephoscope.checks.thresholds import SAMPLER_COST

BAR = SAMPLER_COST.value
AIM = 0.0005
"""What it should cost."""
MANY = 1000
_WAYS = {
    "counters of the machine only": [],
    "and the CPU time of the trial": ["--trial", "parent", "--limit-cpus", "1000"],
    "and all processes, every second": ["--trial", "parent", "--limit-cpus", "-1000"],
}


@contextmanager
def idle(processes: int) -> Iterator[None]:
    """So many processes of this one that do nothing."""
    children = [subprocess.Popen(["sleep", "600"]) for _ in range(processes)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()


def shares_of_a_core(watched_s: float) -> list[float]:
    """CPU time per second of each way, all at the same time."""
    argv = [[load_program(), "telemetry", *options] for options in _WAYS.values()]
    samplers = [subprocess.Popen(one, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) for one in argv]
    time.sleep(watched_s + 0.5)
    shares = []
    for sampler in samplers:
        sampler.terminate()
        said, _ = sampler.communicate(timeout=10)
        lines = [json.loads(line) for line in said.splitlines()]
        spent_us = lines[-1]["own_cpu_us"] - lines[0]["own_cpu_us"]
        shares.append(spent_us / 1e6 / (lines[-1]["elapsed_s"] - lines[0]["elapsed_s"]))
    return shares


def _told(share: float, bound: float) -> str:
    return "kept" if share <= bound else "missed"


def page(few: list[float], many: list[float], there: int, watched_s: float) -> str:
    """What is written."""
    rows = "\n".join(
        f"| {way} | {one:.3%} | {other:.3%} | {_told(max(one, other), BAR)} | {_told(max(one, other), AIM)} |"
        for way, one, other in zip(_WAYS, few, many, strict=True)
    )
    machine = f"{os.cpu_count()} CPUs, Linux {os.uname().release}"
    return f"""# What the sampler costs a measured machine

`python -m bench.sampler` wrote this: samplers side by side for {watched_s:.0f} s, shares of one core.

| what is read once per second | {there} processes | {MANY} idle ones more | limit {BAR:.1%} | aim {AIM:.2%} |
|---|---|---|---|---|
{rows}

Machine: {machine}; {os.getloadavg()[2]:.0f} processes wanted a CPU meanwhile. The last row is the most
that foreign load can make the sampler do. A reading of processes that took over 1.5 ms is followed by
seconds without one.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; 1 when the limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 s instead of 30 s")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SAMPLER.md"))
    given = parser.parse_args(arguments)
    watched_s = 3.0 if given.quick else 30.0
    there = sum(one.name.isdigit() for one in Path("/proc").iterdir())
    few = shares_of_a_core(watched_s)
    with idle(MANY):
        many = shares_of_a_core(watched_s)
    given.out.write_text(page(few, many, there, watched_s), encoding="utf-8")
    sys.stdout.write(f"at most {max(few + many):.3%} of a core, limit {BAR:.1%}\n")
    return 0 if max(few + many) <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
