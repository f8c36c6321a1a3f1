"""Studies that stop when the answer is known, against the same in full: `python -m bench.simulations.stopping`.

It takes some minutes, writes `stopping.json`, and the table of docs/concepts/statistics.md is made of that.
"""

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.simulations.growing import Shape, Spreads, drawn, grown

PATH = Path(__file__).with_name("stopping.json")
BLOCKS = 10
SEED = 17


@dataclass(frozen=True)
class World:
    """Studies of one kind."""

    shape: Shape
    configurations: int
    cv: float
    spreads: Spreads = "alike"

    @property
    def key(self) -> str:
        """The name in the stored counts."""
        return f"{self.shape} | {self.configurations} | {self.cv:g} | {self.spreads}"

    def study(self, number: int) -> Counter[str]:
        """How the leaderboards of the study of this number ended."""
        generator = np.random.default_rng([SEED, number])
        logs = drawn(
            generator, self.shape, count=self.configurations, blocks=BLOCKS, cv=self.cv, spreads=self.spreads
        )  # fmt: skip
        measured, ends = grown(logs)
        first = ends[0]
        return Counter(
            {
                "studies": 1,
                "trials": round(measured * logs.logs.size),
                "sets": len(ends),
                "same": sum(one.same for one in ends),
                "up to two more": sum(one.slightly_larger and not one.same for one in ends),
                "three or more": sum(one.much_larger for one in ends),
                "overall: best lost": int(first.lost),
                "overall: best lost in full": int(first.lost_in_full),
            }
        )


WORLDS = (
    *(World(shape, 94, cv) for shape in ("three clouds", "ten within 3 %") for cv in (0.005, 0.01, 0.015)),
    *(World("five best", 94, 0.01, spreads) for spreads in ("alike", "from 1 to 3")),
    World("five best", 94, 0.01, "one of the best has 3 times"),
    World("five best", 94, 0.01, "each of the best has twice"),
    *(World("all equal", count, 0.01) for count in (2, 5, 20)),
)


def load() -> dict[str, dict[str, int]]:
    """Key of a world -> what happened in how many of its studies, sets and trials."""
    found: dict[str, dict[str, int]] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def table(stored: dict[str, dict[str, int]]) -> str:
    """The shares of each world, in percent."""
    columns = ("trials measured", "same set", "up to two more", "three or more", "missing", "a best lost", "in full")
    lines = [
        f"| speeds | configurations | CV | spreads | {' | '.join(columns)} |",
        "|---|--:|--:|---" + "|--:" * len(columns) + "|",
    ]
    for world in WORLDS:
        counts = stored[world.key]
        studies, sets = counts["studies"], counts["sets"]
        held = ("same", "up to two more", "three or more")
        in_sets = [counts.get(what, 0) / sets for what in held]
        lost = [counts.get(what, 0) / studies for what in ("overall: best lost", "overall: best lost in full")]
        trials = counts["trials"] / (studies * world.configurations * BLOCKS)
        cells = [f"{100 * share:.1f} %" for share in (trials, *in_sets, max(0.0, 1 - sum(in_sets)), *lost)]
        about = f"| {world.shape} | {world.configurations} | {100 * world.cv:g} % | {world.spreads} "
        lines.append(f"{about}| {' | '.join(cells)} |")
    fewest, most = (end(counts["studies"] for counts in stored.values()) for end in (min, max))
    number = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{number} studies for each row, with {BLOCKS} blocks:\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    """Simulates the worlds of which fewer studies are stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000, help="of each world")
    studies: int = parser.parse_args().studies
    stored = load() if PATH.exists() else {}
    for world in WORLDS:
        if stored.get(world.key, {}).get("studies", 0) >= studies:
            continue
        total: Counter[str] = Counter()
        for number in range(studies):
            total.update(world.study(number))
        stored[world.key] = dict(total)
        PATH.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
