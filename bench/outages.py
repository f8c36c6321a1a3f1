"""How exactly an outage of known length is measured; writes bench/OUTAGES.md.

The fake target freezes for two seconds under an open pace, again and again: the longest outage that a client saw is to
be as long, and as many operations are to have been due in it as its length and the rate say.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.measure import machine
from bench.harness.solo import fake_target, spec
from bench.harness.sources import ROOT
from bench.load_generator import build, say
from nephoscope.benchmarks.load import output as load_output
from nephoscope.stats.median import median_interval

FROZEN_S, RATE_PER_S, CLIENTS = 2.0, 1_000, 4
WITHIN_S, WITHIN_SHARE = 0.05, 0.02
ABOUT = """\
In each run the fake target freezes for 2.00 s while {clients} clients send {rate:,} operations a second in an open
pace. The longest outage that a client saw is to be within {within_ms:.0f} ms of that, and the operations that were due
in it, which is the throughput that was lost until then, within {share:.0%} of the rate times 2.00 s."""


@dataclass(frozen=True)
class Seen:
    """What one run saw of the freeze."""

    longest_s: float
    due: int

    @property
    def is_exact(self) -> bool:
        """Both within their limits."""
        lost = self.due / (RATE_PER_S * FROZEN_S)
        return abs(self.longest_s - FROZEN_S) <= WITHIN_S and abs(lost - 1) <= WITHIN_SHARE


def seen(load: Path) -> Seen:
    """One run."""
    with fake_target(load, "--freeze-at-s", "1", "--freeze-for-s", str(FROZEN_S)) as dsn:
        pace = {"pace": {"kind": "constant", "rate_per_s": RATE_PER_S}, "workers": CLIENTS, "connections": CLIENTS}
        times = {"duration_s": FROZEN_S + 2.5, "outage_limit_s": 1, "answer_timeout_s": 60, "max_failed_percent": 100}
        asked = spec(dsn, {"kind": "null"}, **pace, **times)
        ran = subprocess.run([str(load), "exec"], input=asked, capture_output=True, text=True, check=True)
    outages = load_output.read(ran.stdout.encode()).finished.outages
    assert outages is not None  # noqa: S101 - the spec asks for them
    return Seen(outages.longest_s, sum(one.due for one in outages.episodes))


def page(all_seen: Sequence[Seen], argv: str) -> str:
    """What was seen, in Markdown."""
    exact = sum(one.is_exact for one in all_seen)
    about = ABOUT.format(clients=CLIENTS, rate=RATE_PER_S, within_ms=1_000 * WITHIN_S, share=WITHIN_SHARE)
    rows = []
    for name, values, digits in (
        ("longest outage, s", [one.longest_s for one in all_seen], 4),
        ("operations due in it", [float(one.due) for one in all_seen], 0),
    ):
        middle = median_interval(values)
        cells = (min(values), middle.low, middle.median, middle.high, max(values))
        rows.append(f"| {name} | {' | '.join(f'{value:,.{digits}f}' for value in cells)} |")
    lines = [
        "# How exactly an outage is measured", "", f"`{argv}` on {machine()}.", "", about, "",
        f"**{exact} of {len(all_seen)} runs were that exact.**", "",
        "| | least | 95 % interval from | median | to | most |", "|---|--:|--:|--:|--:|--:|", *rows,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    """Returns 1 if a run was less exact than it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--load", type=Path, help="a nephoscope-load with the feature testkit; default: build it")
    options = parser.parse_args()
    load, found = options.load or build()[0], list[Seen]()
    for number in range(1, options.runs + 1):
        found.append(seen(load))
        say(f"{number} of {options.runs}: {found[-1]}")
    (ROOT / "bench" / "OUTAGES.md").write_text(page(found, "python -m bench.outages"), encoding="utf-8")
    return 0 if all(one.is_exact for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
