"""How long commands take to answer, in CPU seconds: `python -m bench.commands [--quick] [--out FILE]`.

CPU time (user and system) of a whole process, as the kernel counts it. In every round each command runs once, and so
does a bare `python -c pass`: all of them see the same disturbances. Bytecode is compiled before, as in an installed
package.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.measure import additions_s
from bench.harness.sources import ROOT, compiled

LARGE_STUDY = "studies/cloud-report-2022.toml"
STUDY_OF_TWO_ARCHITECTURES = "studies/cloud-report-2026.toml"
BARE = "python -c pass"


@dataclass(frozen=True)
class Command:
    """What is measured, and the most that it should take."""

    words: str
    arguments: tuple[str, ...]
    goal_s: float
    exit_codes: tuple[int, ...] = (0,)
    """Those with which it may end."""


COMMANDS = (
    Command("nephoscope --help", ("--help",), 0.3),
    Command("nephoscope plna x", ("plna", "x"), 0.3, exit_codes=(2,)),
    Command(f"nephoscope plan {LARGE_STUDY}", ("plan", LARGE_STUDY), 1.5),
    Command(f"nephoscope plan {LARGE_STUDY} --json", ("plan", LARGE_STUDY, "--json"), 1.5),
    Command(f"nephoscope plan {LARGE_STUDY} --rows", ("plan", LARGE_STUDY, "--rows"), 1.5),
    # 3: there is no load generator for Arm here; the plan is printed before
    Command(f"nephoscope plan {STUDY_OF_TWO_ARCHITECTURES}", ("plan", STUDY_OF_TWO_ARCHITECTURES), 2.0, (0, 3)),
)


def cpu_s(command: Sequence[str], environment: Mapping[str, str], exit_codes: Sequence[int] = (0,)) -> float:
    """CPU seconds of one process and its children."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in exit_codes:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime


def measure(rounds: int) -> dict[str, list[float]]:
    """CPU seconds by command, after one round that compiles and is not counted."""
    found: dict[str, list[float]] = {words: [] for words in (BARE, *(command.words for command in COMMANDS))}
    with compiled() as variables:
        environment = {**os.environ, **variables}
        for number in range(rounds + 1):
            taken = {BARE: cpu_s([sys.executable, "-c", "pass"], environment)}
            for command in COMMANDS:
                line = [sys.executable, "-m", "nephoscope", *command.arguments]
                taken[command.words] = cpu_s(line, environment, command.exit_codes)
            for words, seconds in taken.items() if number else ():
                found[words].append(seconds)
    return found


def page(found: Mapping[str, Sequence[float]], load_average: float, added_s: float) -> str:
    """What is written."""
    rounds = len(found[BARE])
    bare_s = statistics.median(found[BARE])
    rows = [f"| `{BARE}` | {min(found[BARE]):.2f} | {bare_s:.2f} | 1 | | |"]
    for command in COMMANDS:
        taken_s = found[command.words]
        median_s = statistics.median(taken_s)
        times = statistics.median(one / bare for one, bare in zip(taken_s, found[BARE], strict=True))
        verdict = "met" if median_s <= command.goal_s else "missed"
        measured = f"{min(taken_s):.2f} | {median_s:.2f} | {times:.0f}"
        rows.append(f"| `{command.words}` | {measured} | {command.goal_s:g} | {verdict} |")
    table = "\n".join(rows)
    return f"""# How long commands take to answer

`python -m bench.commands` wrote this: CPU seconds (user and system) of {rounds} runs of each command, in turn.

| command | minimum | median | × bare Python of the same round | goal | |
|---|---|---|---|---|---|
{table}

Machine: {os.cpu_count()} CPUs, Linux {os.uname().release}, Python {sys.version.split()[0]}. Load average at the end:
{load_average:.1f}; the commands themselves add about 1, and more than the number of CPUs lengthens every row. Ten
million additions in Python took {added_s:.2f} s at the end: virtual machines of one kind differ by a factor of two.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; 1 when a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 rounds instead of 15")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("COMMANDS.md"))
    given = parser.parse_args(arguments)
    found = measure(3 if given.quick else 15)
    given.out.write_text(page(found, os.getloadavg()[0], additions_s()), encoding="utf-8")
    for command in COMMANDS:
        sys.stdout.write(
            f"{statistics.median(found[command.words]):.2f} s, goal {command.goal_s:g} s: {command.words}\n"
        )
    return int(any(statistics.median(found[command.words]) > command.goal_s for command in COMMANDS))


if __name__ == "__main__":
    sys.exit(main())
