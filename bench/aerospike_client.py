"""What a get on Aerospike costs the client, beside the floor and the official client; writes bench/AEROSPIKE.md.

No registry has the server: `NEPHOSCOPE_ASD` names its program (8.1), and `NEPHOSCOPE_ASBENCH` the official benchmark's,
which is left out without it.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.harness import aerospike, bars, key_value, results
from bench.harness.contenders import Done, Setting
from bench.harness.measure import command_line, machine
from bench.harness.sources import ROOT
from bench.load_generator import build, compare, say

CONNECTIONS = (1, 16, 64)
OF_FLOOR = 1.3
OURS, NULL, REDIS, OFFICIAL = "nephoscope-load get", "null on Aerospike", "nephoscope-load GET on Redis", "asbench get"
ABOUT = f"""\
Cells are medians (least..most) of the rounds; ratios are taken within a round. Client CPU is user + system of the
client's whole process tree, its start and login included, over the operations that it finished. The store has
{aerospike.ROWS:,} rows of {aerospike.VALUE_BYTES:,} bytes in memory, read uniformly.

The floor is the workload `null`: the same program asks for a server's status, the cheapest question of the protocol. It
has no key to hash, no partition to look up and no record to check. A GET of the same rows on Redis is the same
workload over another protocol. asbench is the benchmark of the official C client, with a thread for each connection;
the server's counter says how many of its reads were answered."""

Drive = Callable[[], Done]


def name(what: str, connections: int) -> str:
    """Of a contender."""
    return f"{what}, {connections} connections"


def contenders(
    node: aerospike.Node, redis: key_value.Store | None, load: Path, official: str | None, seconds: float
) -> dict[str, Drive]:
    """Rivals beside each other, so that they meet the same machine."""
    found: dict[str, Drive] = {}
    for count in CONNECTIONS:
        found[name(OURS, count)] = partial(aerospike.ours, node, load, count, seconds)
        found[name(NULL, count)] = partial(aerospike.null, node, load, count, seconds)
        if redis is not None:
            found[name(REDIS, count)] = partial(key_value.get, redis, Setting(0, 0, count, seconds, load, Path()))
        if official:
            found[name(OFFICIAL, count)] = partial(aerospike.official, node, official, count, seconds)
    return found


def bars_of_gets(seen: results.Rounds) -> list[bars.Bar]:
    """Of gets with several connections; with one, most of the cost is the kernel's wake-up."""
    found = []
    for count in CONNECTIONS:
        get = name(OURS, count)
        for other, limit in ((NULL, OF_FLOOR), (OFFICIAL, 1.0)):
            if count > 1:
                ratio = results.ratio(seen, get, name(other, count), "client")
                found.append(bars.at_most(f"client CPU per {get} / {other}", ratio, limit))
    return found


def main(words: Sequence[str] | None = None) -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each run")
    parser.add_argument("--quick", action="store_true", help="a smoke test: one round of 1 s")
    parser.add_argument("--load", type=Path, help="a built nephoscope-load; default: build it from this checkout")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "AEROSPIKE.md")
    chosen = parser.parse_args(words)
    if chosen.quick:
        chosen.rounds, chosen.seconds = 1, 1.0
    program, official = (os.environ.get(f"NEPHOSCOPE_{what}") for what in ("ASD", "ASBENCH"))
    if not program:
        say("NEPHOSCOPE_ASD does not name Aerospike's server: nothing to measure")
        return
    load = chosen.load or build()[0]
    with aerospike.node(program) as node, ExitStack() as stack:
        aerospike.fill(node, load, official)
        redis = stack.enter_context(key_value.store(load)) if key_value.is_installed() else None
        seen = compare(contenders(node, redis, load, official, chosen.seconds), chosen.rounds)
        version = node.ask("build")
    head = [
        command_line("aerospike_client", sys.argv[1:] if words is None else words),
        f"- Machine: {machine()}; client and server share it.",
        f"- Aerospike Community {version}, one node on loopback, data in memory.",
        f"- {chosen.rounds} rounds of {chosen.seconds:g} s in turn.",
        "",
        ABOUT,
    ]
    page = results.page(head, bars_of_gets(seen), {"Side by side": results.table(seen)}, "a get on Aerospike")
    chosen.out.write_text(page, encoding="utf-8")
    say(f"wrote {chosen.out}")


if __name__ == "__main__":
    main()
