"""What ten thousand trials on disk cost, in CPU seconds: `python -m bench.ten_thousand [TRIALS] [--out FILE]`.

Made logs of `cockroach workload` of 20 machine types are imported; then come `status`, `analyze` and `report`, each a
process of its own whose CPU time (user and system) the kernel counts. Waiting for the disk is not in it: `elapsed` is.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.commands import ROOT, cpu_s
from nephoscope.report.figures import library
from tests.support.others_results import COCKROACH

TYPES = 20
TPMC = "6000.0"


@dataclass(frozen=True)
class Step:
    """A command, and the most seconds that it should take for 10,000 trials."""

    words: str
    goal_s: float | None


STEPS = (
    Step("import", 25),
    Step("status", 1.5),
    Step("analyze", None),
    Step("report", None),
)
ANALYZE_AND_REPORT_GOAL_S = 10.0


@dataclass(frozen=True)
class Taken:
    """What a command took."""

    cpu_s: float
    elapsed_s: float


def make_logs(folder: Path, trials: int) -> None:
    """One file for each trial: the same log with another rate, drawn from a fixed seed."""
    if TPMC not in COCKROACH:
        raise AssertionError(f"the sample log no longer holds {TPMC}")
    drawn = random.Random(1)  # noqa: S311  # no secret
    for number in range(trials):
        path = folder / "aws" / f"m{number % TYPES + 1}.2xlarge" / f"run{number // TYPES:05d}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(COCKROACH.replace(TPMC, f"{6000 * drawn.lognormvariate(0, 0.01):.1f}"))


@contextmanager
def as_installed() -> Iterator[None]:
    """The source tree with the chart library that a wheel carries built; see hatch_build.py."""
    built = ROOT / "src/nephoscope/report/figures" / library.BUILT
    there = built.exists()
    built.parent.mkdir(exist_ok=True)
    if not there:
        built.write_text(library.build(), encoding="utf-8")
    try:
        yield
    finally:
        if not there:
            built.unlink()
            built.parent.rmdir()


def measure(trials: int) -> dict[str, Taken]:
    """What each step took; `status` runs again after the import, which leaves its index."""
    with as_installed(), tempfile.TemporaryDirectory(prefix="nephoscope-ten-thousand-") as name:
        logs, out = Path(name, "logs"), Path(name, "results")
        make_logs(logs, trials)
        lines: dict[str, Sequence[str]] = {
            "import": ("import", "cockroach-workload", str(logs), "--out", str(out)),
            **{step.words: (step.words, str(out)) for step in STEPS[1:]},
        }
        return {words: _timed(line) for words, line in lines.items()}


def _timed(line: Sequence[str]) -> Taken:
    begun = time.monotonic()
    taken_s = cpu_s([sys.executable, "-m", "nephoscope", *line], {**os.environ, "PYTHONPATH": "src"})
    return Taken(taken_s, time.monotonic() - begun)


def page(found: dict[str, Taken], trials: int, load_average: float) -> str:
    """What is written."""
    rows = [_row(step.words, found[step.words], step.goal_s, trials) for step in STEPS]
    both = Taken(*(sum(getattr(found[name], of) for name in ("analyze", "report")) for of in ("cpu_s", "elapsed_s")))
    table = "\n".join([*rows, _row("analyze and report", both, ANALYZE_AND_REPORT_GOAL_S, trials)])
    return f"""# Ten thousand trials from disk

`python -m bench.ten_thousand {trials}` wrote this: one run of each command on a folder of {trials:,} trials of
{TYPES} machine types. Goals are for 10,000 trials on a quiet machine with 2 CPUs; with fewer trials, a command that
takes less than its goal says little.

| command | CPU seconds | elapsed seconds | goal for 10,000 trials | |
|---|---|---|---|---|
{table}

Machine: {os.cpu_count()} CPUs, Linux {os.uname().release}, Python {sys.version.split()[0]}. Load average at the end:
{load_average:.1f}; more than 1 lengthens every row.
"""


def _row(words: str, taken: Taken, goal_s: float | None, trials: int) -> str:
    judged = goal_s is not None and (trials >= 10_000 or taken.cpu_s > goal_s)
    verdict = "" if goal_s is None or not judged else "met" if taken.cpu_s <= goal_s else "missed"
    goal = "" if goal_s is None else f"{goal_s:g}"
    return f"| `{words}` | {taken.cpu_s:.1f} | {taken.elapsed_s:.0f} | {goal} | {verdict} |"


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", nargs="?", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("TEN_THOUSAND.md"))
    given = parser.parse_args(arguments)
    trials = given.trials // 10 if given.quick else given.trials
    written = page(measure(trials), trials, os.getloadavg()[0])
    given.out.write_text(written, encoding="utf-8")
    sys.stdout.write(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
