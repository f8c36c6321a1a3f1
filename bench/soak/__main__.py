"""Kills controllers and damages inputs for some hours, and adds up what happened: `python -m bench.soak --hours 2`.

Rounds of kills go from place to place, and beside them rounds of damaged inputs from kind to kind; `--only` asks for
one of the two. Every round has a number, which is its seed, and each run goes on behind the numbers that are counted
already. Interrupt it at any time: what is lost is the round.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from bench.soak import inputs, kills, stored
from bench.soak.places import ON_THIS_MACHINE, usable
from bench.soak.readers import READERS


class Soak:
    """A run, which adds each round to the stored counts as soon as it is done."""

    def __init__(self, hours: float, share: float) -> None:
        self._share = share
        self._counts = stored.load()
        self._lock = threading.Lock()
        self._counted_until_s = time.monotonic()
        self._ends_s = self._counted_until_s + 3600 * hours
        self.bad = 0
        self.kills_ended = 0
        """How many calls of `kill` came to their end, and not to an exception."""

    def kill(self, places: Sequence[str]) -> None:
        """Rounds of kills, until the time is over."""
        for place in cycle(places):
            if time.monotonic() >= self._ends_s:
                self.kills_ended += 1
                return
            name = f"kills on {place}"
            seed = self._next(name)
            with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
                counts = kills.one_round(place, seed, Path(folder))
                bad = any(counts[what] for what in kills.BAD)
                log = (Path(folder) / "controllers.txt").read_text(errors="replace")[-4000:] if bad else ""
            self._add(name, seed, counts, log)

    def damage(self, kinds: Sequence[str]) -> None:
        """Rounds of damaged inputs, until the time is over."""
        for kind in cycle(kinds):
            if time.monotonic() >= self._ends_s:
                return
            name = f"damaged {kind}"
            seed, begun_s = self._next(name), time.monotonic()
            with tempfile.TemporaryDirectory(prefix="soak-") as folder:
                counts, lines = inputs.one_round(READERS[kind], f"{kind} {seed}", Path(folder), inputs.SIZES[kind])
            self._add(name, seed, counts, "\n".join(lines))
            time.sleep((time.monotonic() - begun_s) * (1 / self._share - 1))

    def _next(self, name: str) -> int:
        with self._lock:
            return self._counts.cells.setdefault(name, stored.Cell()).rounds

    def _add(self, name: str, seed: int, counts: Counter[str], wrong: str) -> None:
        with self._lock:
            bad = any(counts[what] for what in (*kills.BAD, *inputs.BAD))
            self.bad += bad
            now_s = time.monotonic()
            self._counts.seconds += now_s - self._counted_until_s
            self._counted_until_s = now_s
            self._counts.add(name, counts, bad=bad)
            stored.save(self._counts)
            said = ", ".join(f"{what} {count:,}" for what, count in counts.items() if count)
            sys.stdout.write(f"{name}, seed {seed}: {said}\n{wrong}\n" if bad else f"{name}, seed {seed}: {said}\n")
            sys.stdout.flush()


def _killing(soak: Soak) -> list[threading.Thread]:
    """Controllers mostly wait for loads, so there are two at once."""
    groups = [[one for one in usable() if (one in ON_THIS_MACHINE) == here] for here in (True, False)]
    return [threading.Thread(target=soak.kill, args=(group,), daemon=True) for group in groups]


def main() -> int:
    """Runs for some hours. Exit code 1: something happened that must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, required=True, help="how long; the last round may take minutes more")
    parser.add_argument("--share", type=float, default=1.0, help="of one CPU, for damaged inputs; 0.5: half of it")
    parser.add_argument("--only", choices=["kills", "inputs"], help="kill controllers only, or damage inputs only")
    parser.add_argument("--kinds", nargs="+", choices=list(READERS), default=list(READERS), help="of damaged inputs")
    asked = parser.parse_args()
    with stored.alone():
        soak = Soak(asked.hours, asked.share)
        killing = _killing(soak) if asked.only != "inputs" else []
        for thread in killing:
            thread.start()
        if asked.only != "kills":
            soak.damage(asked.kinds)
        for thread in killing:
            thread.join()
    return 0 if soak.kills_ended == len(killing) and not soak.bad else 1


if __name__ == "__main__":
    sys.exit(main())
