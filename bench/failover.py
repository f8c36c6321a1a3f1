"""What clients see when primaries are killed in turn; writes bench/FAILOVER.md.

What was measured is kept in a folder, one load after another. A case that has its kills is not measured again, one that
was stopped goes on, and `--loads` ends after so many. The page has whatever is there.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from bench.failovers import patroni, valkey
from bench.failovers.kept import COLUMNS, Case, driven, line, loads_in
from bench.harness.measure import machine
from bench.harness.sources import ROOT
from bench.load_generator import say

CASES = (
    valkey.case(1_000), valkey.case(5_000), patroni.case(synchronous=False), patroni.case(synchronous=True),
)  # fmt: skip
ABOUT = """\
The host of a primary, or a master, is killed and started again later; the next one is killed once all copies are
complete and clients have their rate again. Reads and writes, half of each, are due in an open pace. Times are medians
over the kills, in seconds; the longest outage of any client has the 95 % interval of its median. Each write adds a row
or a key. In doubt are those that were sent and neither acknowledged nor refused. What is lost is counted by the load
generator, which reads all that it wrote, and by the server, with `DBSIZE` of its masters or in SQL. A share is the most
that the faults may have which lose a write, and is given only where none did."""
OF = {
    "valkey": f"""\
- **Valkey**: {valkey.MASTERS} masters with a replica each, `failover = "cluster"`, {valkey.RATE_PER_S} operations a
  second on 12 connections; a master, drawn each time, is dead for {valkey.DEAD_S} s and the time of
  `cluster-node-timeout`. A client reads and writes keys of all masters, so it sees an outage only while none of them
  serves it: what the keys of one master cost is the time until the usual rate is back.""",
    "patroni": f"""\
- **Patroni**: three emulated hosts with PostgreSQL, Patroni and etcd, {patroni.RATE_PER_S} operations a second on 8
  connections; all on the primary's host are dead for {patroni.TTL_S + 15} s.""",
}


def main() -> int:
    """Returns 1 if a case has fewer kills than asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="default: all")
    parser.add_argument("--kills", type=int, default=12, help="of each case")
    parser.add_argument("--loads", type=int, default=100, help="the most that are driven now")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "failover", help="where loads are kept")
    options = parser.parse_args()
    loads = options.loads
    for case in CASES:
        if case.name in (options.case or [case.name]):
            loads = measure(case, options.kills, options.kept / case.name, loads)
    write(options.kept)
    missing = [case.name for case in CASES if kills_of(options.kept / case.name) < options.kills]
    say(f"fewer kills than {options.kills}: {', '.join(missing)}" if missing else "all kills were inflicted")
    return 1 if missing else 0


def kills_of(folder: Path) -> int:
    """Seen and undone, of all loads that are kept."""
    return sum(load.kills for load in loads_in(folder))


def measure(case: Case, kills: int, folder: Path, loads: int) -> int:
    """Drives loads until a case has its kills, at most so many; how many are left. One without a kill is the last."""
    while loads > 0 and (missing := kills - kills_of(folder)) > 0:
        number = len(list(folder.glob("*"))) + 1
        say(f"{case.name}, load {number}: {missing} of {kills} kills are missing")
        load = asyncio.run(driven(case, min(missing, case.at_a_time), folder / f"{number}"))
        loads -= 1
        say(line(case.title, [load]))
        if load.kills == 0:
            break
    return loads


def write(kept: Path) -> None:
    """The page, of all that is kept."""
    found = [(case, loads) for case in CASES if (loads := loads_in(kept / case.name))]
    versions = dict.fromkeys(load.counted.version for _, loads in found for load in loads)
    systems = dict.fromkeys(case.name.partition("-")[0] for case, _ in found)
    head = [
        *("# Failovers", "", f"`python -m bench.failover`, {', '.join(versions)}, on {machine()}.", "", ABOUT, ""),
        *(OF[system] for system in systems),
        "",
        *(f"| {' | '.join(COLUMNS)} |", "|---" + "|--:" * (len(COLUMNS) - 1) + "|"),
    ]
    lines = [line(case.title, loads) for case, loads in found]
    (ROOT / "bench" / "FAILOVER.md").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
