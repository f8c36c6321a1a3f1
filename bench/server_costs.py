"""How much narrower what an operation costs the server is than its rate, beside other work: writes SERVER_COSTS.md.

An A/A comparison: `REPLICATES` trials of one configuration, while a process keeps 0.3 CPU busy in bursts of random
length. The interval of the median of the server's CPU time per operation should be at most half as wide, relative to
the median, as that of the rate. Trials count whether or not checks reject them for the load of others, which is wanted.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness import bars
from bench.harness.measure import machine, run
from bench.harness.sources import ROOT
from bench.load_generator import say
from nephoscope.stats.median import median_interval

REPLICATES = 20
FOREIGN_CPUS = 0.3
BURST_S = 1.0
"""Mean length of a burst; between two it rests for as long as makes their share `FOREIGN_CPUS`."""
MOST = 0.5
"""Width of the interval of the cost, of that of the rate."""
COST = "server_cpu_per_operation"
RATES = {"point-select": "selects_per_s", "tpcc": "new_orders_per_minute"}
"""Benchmark -> the metric that is its rate."""
_ITSELF = "--be-foreign-load"
STUDY = """
name = "server-costs"
replicates = {replicates}
repeat_rejected = 0

[[configurations]]
name = "local"
database = {{ connections = 4 }}

[[benchmarks]]
uses = "point-select"
parameters = {{ rows = 100_000, ramp_s = 1, duration_s = {seconds} }}

[[benchmarks]]
uses = "tpcc"
parameters = {{ warehouses = 1, profile = "pipelined", ramp_s = 1, duration_s = {seconds} }}
"""


@dataclass(frozen=True)
class Widths:
    """Of the intervals of the medians, relative to these."""

    cost: float
    rate: float
    trials: int

    @property
    def ratio(self) -> float:
        """What the bar is on."""
        return self.cost / self.rate


def widths(trials: Sequence[Mapping[str, float]], rate: str) -> Widths:
    """Of the trials of one benchmark, metric -> value each.

    Raises:
        ValueError: a trial lacks one of the two metrics, or there are too few for an interval.
    """
    lacking = [name for name in (COST, rate) if any(name not in trial for trial in trials)]
    if lacking or not trials:
        raise ValueError(f"{lacking[0] if lacking else 'everything'} is missing in a trial")
    cost, of_rate = (_width([trial[name] for trial in trials]) for name in (COST, rate))
    return Widths(cost, of_rate, len(trials))


def _width(values: Sequence[float]) -> float:
    found = median_interval(values)
    return (found.high - found.low) / found.median


def page(found: Mapping[str, Widths], seconds: int, where: str) -> str:
    """What is written."""
    judged = [
        bars.of_spread(f"{name}: width of the cost's interval / width of the rate's", _one(each.ratio), MOST, "×", 2)
        for name, each in found.items()
    ]
    rows = [
        f"| {name} | {each.trials} | {100 * each.cost:.2f} % | {100 * each.rate:.2f} % |"
        for name, each in found.items()
    ]
    return "\n".join(
        [
            "# What an operation costs the server, beside other work",
            "",
            f"`python -m bench.server_costs` wrote this: trials of {seconds} s of one configuration, beside a process",
            f"that keeps {FOREIGN_CPUS:g} CPU busy in random bursts of {BURST_S:g} s on average.",
            "",
            *bars.HEAD,
            *(bar.row() for bar in judged),
            "",
            "| benchmark | trials | interval of server CPU per operation | interval of the rate |",
            "|---|---|---|---|",
            *rows,
            "",
            "Widths of the distribution-free 95 % intervals of the medians, relative to these.",
            "",
            f"Machine: {where}.",
            "",
        ]
    )


def _one(value: float) -> bars.Spread:
    return bars.Spread(value, value, value)


def trials_of(results: Path, benchmark: str) -> list[dict[str, float]]:
    """Metric -> value of each trial of a benchmark that was measured, in no order."""
    found = []
    for folder in results.glob("trials/*"):
        trial = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
        measured = folder / "attempts" / "1" / "measurements.jsonl"
        if trial["benchmark"]["uses"] == benchmark and measured.exists():
            rows = [json.loads(line) for line in measured.read_text(encoding="utf-8").splitlines()]
            found.append({row["metric"]: row["value"] for row in rows if "metric" in row and row.get("at_s") is None})
    return found


@contextmanager
def foreign_load() -> Iterator[None]:
    """Of a process that is no child of what is measured."""
    with subprocess.Popen([sys.executable, "-m", "bench.server_costs", _ITSELF], cwd=ROOT) as burning:
        try:
            yield
        finally:
            burning.kill()


def burn() -> None:
    """Until killed."""
    draw = random.Random(1)  # noqa: S311 - lengths of bursts
    rest_s = BURST_S * (1 - FOREIGN_CPUS) / FOREIGN_CPUS
    while True:
        until_s = time.monotonic() + draw.expovariate(1 / BURST_S)
        while time.monotonic() < until_s:
            pass
        time.sleep(draw.expovariate(1 / rest_s))


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; not a gate, as what else the machine does decides much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test: six trials of a second")
    parser.add_argument(_ITSELF, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "SERVER_COSTS.md")
    given = parser.parse_args(arguments)
    if given.be_foreign_load:
        burn()
    replicates, seconds = (6, 3) if given.quick else (REPLICATES, 5)
    with tempfile.TemporaryDirectory(prefix="nephoscope-bench-") as name, foreign_load():
        study, results = Path(name) / "study.toml", Path(name) / "results"
        study.write_text(STUDY.format(replicates=replicates, seconds=seconds), encoding="utf-8")
        say(f"{replicates} trials of {seconds} s of each benchmark")
        words = [sys.executable, "-m", "nephoscope", "run", str(study), "--out", str(results), "--wait-for-quiet", "0"]
        run(words)  # trials that the load of others spoils are what is asked for: its exit code says nothing
        found = {benchmark: widths(trials_of(results, benchmark), rate) for benchmark, rate in RATES.items()}
        given.out.write_text(page(found, seconds, machine()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
