"""What a large results folder costs from disk: `python -m bench.analysis [--trials N ...]` writes bench/ANALYSIS.md.

Made logs of `cockroach workload` of 20 machine types are imported; then come `status`, `analyze` and `report`, each a
process of its own. Beside them, the report of a study as `make report` measures it.
"""

import argparse
import random
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness.measure import Ran, additions_s, checked, machine, run
from bench.harness.sources import ROOT, compiled
from nephoscope.analysis.stored_trials import stored_trials
from nephoscope.report.figures import library
from nephoscope.store.folder import ResultsFolder
from nephoscope.store.verified import Verifier
from tests.support.others_results import COCKROACH

TYPES = 20
TPMC = "6000.0"
FEW, MANY = 10_000, 30_000
SMALL_STUDY = ROOT / "docs/examples/laptop/results.tar.xz"
SMALL_REPORT_GOAL_S = 2.5
MEMORY_GOAL_GIB = 2.0


@dataclass(frozen=True)
class Step:
    """One line of the table: one command or several, and the most seconds that they should take for 10,000 trials."""

    name: str
    commands: tuple[str, ...]
    goal_s: float | None = None


STEPS = (
    Step("`import`", ("import",), 25),
    Step("`status`", ("status",), 1.5),
    Step("`analyze`", ("analyze",)),
    Step("`report`", ("report",)),
    Step("`analyze` and `report`", ("analyze", "report"), 10),
)


@dataclass(frozen=True)
class Large:
    """What the commands took on a folder of so many trials."""

    trials: int
    ran: dict[str, Ran]
    digests_s: float
    """CPU seconds that unchanged digests add."""

    def elapsed_s(self, step: Step) -> float:
        """Of all commands of a step together."""
        return sum(self.ran[name].elapsed_s for name in step.commands)

    def cpu_s(self, step: Step) -> float:
        """User and system, as the kernel counts it."""
        return sum(self.ran[name].cpu_s for name in step.commands)

    @property
    def peak_gib(self) -> float:
        """Of the command that took most."""
        return max(ran.peak_bytes for ran in self.ran.values()) / 2**30


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


def large(trials: int, variables: Mapping[str, str]) -> Large:
    """Imports made logs, and runs each command once; `status` runs after the import, which leaves its index."""
    with tempfile.TemporaryDirectory(prefix="nephoscope-analysis-") as name:
        logs, out = Path(name, "logs"), Path(name, "results")
        make_logs(logs, trials)
        found = {"import": _nephoscope(variables, "import", "cockroach-workload", str(logs), "--out", str(out))}
        found |= {words: _nephoscope(variables, words, str(out)) for words in ("status", "analyze", "report")}
        return Large(trials, found, digests_s(ResultsFolder(out)))


def digests_s(folder: ResultsFolder) -> float:
    """CPU seconds that comparing unchanged files with their digests adds to finding all trials."""
    stored_trials(folder)  # so that the caches of the kernel and of Python are warm for both
    begun = time.process_time()
    stored_trials(folder)
    plain_s = time.process_time() - begun
    begun = time.process_time()
    stored_trials(folder, Verifier(folder.path))
    return time.process_time() - begun - plain_s


def small(variables: Mapping[str, str]) -> Ran:
    """`report`, right after `analyze`, of a study of a few dozen trials."""
    with tempfile.TemporaryDirectory(prefix="nephoscope-analysis-") as name:
        with tarfile.open(SMALL_STUDY) as archive:
            archive.extractall(name, filter="data")
        (folder,) = {path.parent for path in Path(name).rglob("study.toml")}
        _nephoscope(variables, "analyze", str(folder))
        return _nephoscope(variables, "report", str(folder))


def _nephoscope(variables: Mapping[str, str], *words: str) -> Ran:
    return checked(run([sys.executable, "-m", "nephoscope", *words], environment=variables), words[0])


def page(found: Sequence[Large], report: Ran) -> str:
    """What is written; goals are of elapsed seconds on a quiet machine."""
    first = found[0]
    counts = " and ".join(f"{one.trials:,}" for one in found)
    head = ["command", *(f"{one.trials:,} trials: seconds | CPU seconds" for one in found), "goal"]
    rows = [_row(step, found) for step in STEPS]
    all_ran = [*(ran for one in found for ran in one.ran.values()), report]
    lost = max((ran.lost for ran in all_ran if ran.lost is not None), default=0.0)
    lines = [
        "# What a large results folder costs",
        "",
        f"`python -m bench.analysis` wrote this: one run of each command on folders of {counts} trials of {TYPES}",
        "machine types, each a process of its own. Goals are for 10,000 trials on a quiet machine with 2 CPUs, and",
        "judge the seconds that pass; CPU seconds are user and system.",
        "",
        f"| {' | '.join(head)} | |",
        "|---" * (len(found) * 2 + 3) + "|",
        *rows,
        "",
        "| what | seen | goal | |",
        "|---|---|---|---|",
        _seen("unchanged digests of all trials, CPU seconds more", first.digests_s, 1.0, counts=first.trials >= FEW),
        _seen(f"peak memory with {found[-1].trials:,} trials, GiB", found[-1].peak_gib, MEMORY_GOAL_GIB),
        _seen("`report` of a study of 54 trials, seconds", report.elapsed_s, SMALL_REPORT_GOAL_S),
        f"| the same, CPU seconds | {report.cpu_s:.1f} | | |",
    ]
    if len(found) > 1:
        lines += ["", _growth(found)]
    lines += [
        "",
        f"Machine: {machine()}, Python {sys.version.split()[0]}. Other programs and the hypervisor took at most",
        f"{100 * lost:.1f} % of its CPU time during a command. Ten million additions in Python took",
        f"{additions_s():.2f} s of CPU time at the end: virtual machines of one kind differ by a factor of two.",
    ]
    return "\n".join(lines) + "\n"


def _row(step: Step, found: Sequence[Large]) -> str:
    cells = [f"{one.elapsed_s(step):.1f} | {one.cpu_s(step):.1f}" for one in found]
    goal = "" if step.goal_s is None else f"{step.goal_s:g} s"
    verdict = (
        "" if step.goal_s is None else _verdict(found[0].elapsed_s(step), step.goal_s, counts=found[0].trials >= FEW)
    )
    return f"| {step.name} | {' | '.join(cells)} | {goal} | {verdict} |"


def _seen(what: str, value: float, goal: float, *, counts: bool = True) -> str:
    return f"| {what} | {value:.2f} | {goal:g} | {_verdict(value, goal, counts=counts)} |"


def _verdict(value: float, goal: float, *, counts: bool) -> str:
    """Fewer trials than the goal is for can miss it, but not meet it."""
    if value > goal:
        return "**missed**"
    return "met" if counts else ""


def _growth(found: Sequence[Large]) -> str:
    few, many = found[0], found[-1]
    ratios = [f"{step.name} {many.cpu_s(step) / few.cpu_s(step):.1f}" for step in STEPS if len(step.commands) == 1]
    return f"CPU seconds of {many.trials:,} trials over those of {few.trials:,}: {', '.join(ratios)}."


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", nargs="+", type=int, default=[FEW, MANY], help="sizes of the folders, in order")
    parser.add_argument("--quick", action="store_true", help="a smoke test: one folder of 1,000 trials")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("ANALYSIS.md"))
    given = parser.parse_args(arguments)
    with as_installed(), compiled() as variables:
        small(variables)  # compiles
        found = [large(trials, variables) for trials in ([1000] if given.quick else given.trials)]
        written = page(found, small(variables))
    given.out.write_text(written, encoding="utf-8")
    sys.stdout.write(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
