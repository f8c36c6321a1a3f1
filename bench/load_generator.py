"""What the load generator costs, beside its peers and the floor of the wire, on one server; writes bench/RESULTS.md.

`make bench` runs it; `python -m bench.load_generator --help` shows what can be chosen.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shutil import which

from bench.harness import bars, key_value, peers, results, solo, writers
from bench.harness import contenders as who
from bench.harness.contenders import TRIAL, Contender, Done, Setting
from bench.harness.measure import checked, command_line, machine, run
from bench.harness.server import SETTINGS, Server
from bench.harness.sources import ROOT

PROFILES = ("chatty", "batched", "pipelined", "proc")
FAKE_RATES_PER_S = (50_000, 100_000)
TRIED_RATES_PER_S = (12_500, 25_000, 50_000, 75_000, 100_000, 150_000, 200_000, 300_000, 400_000, 600_000, 800_000)
"""Which of them this machine keeps is a fact about it, and no goal."""
TERMINAL_WAREHOUSES = 10_000
_POINTS, _LITTLE = 100 * bars.EQUAL_LOSS, 100 * bars.LITTLE_LOSS
ABOUT = f"""\
Cells are medians (least..most) of the rounds; ratios are taken within a round. Client CPU is user + system of the
client's whole process tree, its start and login included, over the transactions that it finished.

The floor repeats round trips that were recorded from nephoscope-load on one connection: its whole mix, the first
{who.FLOOR_TRANSACTIONS} transactions, dealt out to the connections. They are the same bytes, but that COMMIT is
ROLLBACK, so that what is inserted can be inserted again; a transaction that is one statement commits again and again.
The floor runs on a copy of the state before the recording, in one epoll loop, and looks only for ReadyForQuery. Each
profile has its own. Its first pass over its transactions, one connection after the other, is not counted.

Lost is the share of the machine's CPU time that went to others during a run: stolen by the hypervisor, or used by
programs other than client, server and this comparison. Two runs of a round are compared if their losses differ by at
most {_POINTS:g} points. Where the rounds disagree about a bar, the median of those in which neither run lost more than
{_LITTLE:g} % decides, if there are {bars.MIN_QUIET_ROUNDS} of them; otherwise the bar is undecided. Pacing is judged by
the seconds in which the hypervisor stole nothing; a rate that the same thread does not reach in a closed loop is beyond
this machine.

pgbench's scripts are in `bench/pgbench`. They send the statements of the profile `chatty`, ten lines an order, one a
round trip or all in one pipeline. `pgbench -S` and its TPC-B run on its own tables, and so does our `tpcb`; sysbench
runs on ours, which have the form of its own, with uniform rows. redis-benchmark has {key_value.ROWS:,} rows of
{key_value.VALUE_BYTES:,} bytes, as ours, in another database of the same server; "16 under way" is a pipeline of 16 on
each connection."""


def say(text: str) -> None:
    """Tells how far it is."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15, help="of each run")
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table of point selects")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="a smoke test: one round of 3 s with 1 warehouse")
    parser.add_argument("--folder", type=Path, help="where the server puts its data; default: the temporary folder")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "RESULTS.md")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="contenders with this in their name"
    )
    parser.add_argument("--peer", action="append", default=[], metavar="PATH", type=peer,
                        help="a tool built elsewhere, known by its name, such as $HOME/go/bin/go-tpc; "
                             "FILE=PATH: with another file than those in bench/peers")  # fmt: skip
    chosen = parser.parse_args(words)
    if chosen.quick:
        chosen.rounds, chosen.seconds, chosen.warehouses, chosen.rows = 1, 3.0, 1, 20_000
    return chosen


def peer(given: str) -> peers.Peer:
    """The tool that `--peer` names."""
    try:
        return peers.found(given)
    except (ValueError, OSError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def build() -> tuple[Path, Path]:
    """Our two programs, from this checkout."""
    words = ["cargo", "build", "--release", "--locked", "--quiet", "--features", "testkit"]
    words += ["--bin", "nephoscope-load", "--example", "floor"]  # with the fake target
    checked(run([*words, "--manifest-path", str(ROOT / "load" / "Cargo.toml")]), "cargo build")
    built = ROOT / "load" / "target" / "release"
    return built / "nephoscope-load", built / "examples" / "floor"


def all_contenders() -> list[Contender]:
    """Those of the project, rivals beside each other, so that they meet the same machine."""
    found: list[Contender] = []
    for profile in PROFILES:
        found.append(who.ours(profile))
        found.append(who.floor(profile, "tpcc", partial(who.tpcc_words, profile=profile, mix="standard")))
    for profile, trips in (("chatty", 20), ("pipelined", 1)):
        script = ["-f", str(who.SCRIPTS / f"new_order_{profile}.sql")]
        found.append(who.ours(profile, "new-order"))
        found.append(who.pgbench(f"pgbench New-Order {profile}", "tpcc", script, trips))
    new_orders = partial(who.tpcc_words, profile="pipelined", mix="new-order")
    found.append(who.floor("pipelined, New-Order only", "tpcc", new_orders))
    found.append(who.our_point_select())
    found.append(who.floor("point-select", "points", who.point_select_words, reads_only=True))
    found.append(who.pgbench("pgbench -S", "accounts", ["-S"], 1, reads_only=True))
    found += writers.own()
    if which("sysbench"):
        found += writers.of_sysbench()
    else:
        say("sysbench is not installed: left out")
    return found


def prepare(server: Server, setting: Setting) -> None:
    """The databases that runs begin with."""
    say("loading")
    solo.load_tpcc(server, setting, "tpcc")
    server.psql("CREATE DATABASE points")
    words = ["point-select", "load", "--rows", str(setting.rows), "--connections", "2", "--check", "none"]
    checked(run([str(setting.load), *words, "--dsn", server.dsn("points")]), "point-select load")
    server.psql("CREATE DATABASE accounts")
    scale = str(writers.ACCOUNTS_SCALE)
    checked(run([server.program("pgbench"), "-i", "-q", "-s", scale, server.dsn("accounts")]), "pgbench -i")


def one_run(server: Server, setting: Setting, contender: Contender) -> Done:
    """From the state that all begin with."""
    if contender.reads_only:
        return contender.drive(server, setting, contender.template)
    server.fresh(TRIAL, contender.template)
    return contender.drive(server, setting, TRIAL)


def compare(
    compared: Mapping[str, Callable[[], Done]],
    rounds: int,
    after_round: Callable[[int, results.Rounds], None] = lambda _number, _seen: None,
) -> dict[str, list[Done | None]]:
    """All of them in turn, again and again. One that fails has nothing in that round, and that is said."""
    seen: dict[str, list[Done | None]] = {name: [] for name in compared}
    for number in range(1, rounds + 1):
        for name, drive in compared.items():
            try:
                done = drive()
            except (RuntimeError, ValueError) as error:
                say(f"round {number}: {name}: {error}")
                seen[name].append(None)
                continue
            seen[name].append(done)
            cost = f"{results.client_us(done):,.1f} µs client, {results.server_us(done):,.0f} µs server"
            lost = "" if done.lost is None else f", {100 * done.lost:.1f} % lost"
            say(f"round {number}: {name}: {results.rate(done):,.0f}/s, {cost}{lost} {done.remark}")
        after_round(number, _measured(seen))
    return _measured(seen)


def _measured(seen: Mapping[str, list[Done | None]]) -> dict[str, list[Done | None]]:
    return {name: runs for name, runs in seen.items() if any(runs)}


def bars_alone(server: Server, setting: Setting, rounds: int) -> tuple[list[bars.Bar], list[str]]:
    """The bars that need no rival, and lines about them."""
    loads = [solo.loading(server, setting, "tpcc") for _ in range(rounds)]
    lines = [
        f"- Loading: ours {load.ours_s:.1f} s, with VACUUM and ANALYZE; COPY of the same bytes from files and the "
        f"same keys and indexes, {solo.STREAMS} streams, {load.copy_s:.1f} s, then VACUUM (FREEZE, ANALYZE) "
        f"{load.vacuum_s:.1f} s."
        for load in loads
    ]
    memory = bars.spread([solo.peak_memory_bytes(server, setting) / 2**20])
    found = [
        bars.at_most(f"loading W = {setting.warehouses} / COPY from files + indexes", solo.of_copy(loads), 1.5),
        bars.of_spread("peak memory, 16 connections", memory, 20, "MiB", 1),
    ]
    return [*found, *bars_on_fake(setting, rounds, lines)], lines


def bars_on_fake(setting: Setting, rounds: int, lines: list[str]) -> list[bars.Bar]:
    """Pacing and waiting terminals; adds to `lines`."""
    most_per_s = solo.closed_loop_per_s(setting, setting.seconds)
    lines.append(f"- A closed loop of one thread on 64 connections to the fake target: {most_per_s:,.0f} operations/s.")
    reached = []
    for rate in FAKE_RATES_PER_S:
        what = f"pacing error p99 at {rate:,} arrivals/s against the fake target"
        found = None
        try:
            found = solo.pacing(setting, rate, setting.seconds, rounds)
            lines.append(f"- {rate:,} arrivals/s: {found.offered:,} were due, {found.not_sent:,} of them never sent.")
        except (RuntimeError, ValueError) as error:
            say(f"{what}: {error}")
        reached.append(results.of_pacing(what, found, 100, most_per_s))
    lines.append(_highest_kept(setting))
    what = f"{10 * TERMINAL_WAREHOUSES:,} waiting terminals against the fake target"
    try:
        terminals = bars.spread([solo.waiting_terminals_bytes(setting, TERMINAL_WAREHOUSES, setting.seconds) / 2**20])
    except RuntimeError as error:
        say(f"{what}: {error}")
        terminals = None
    return [*reached, bars.of_spread(what, terminals, 300, "MiB", 0)]


def _highest_kept(setting: Setting) -> str:
    """A line about the highest rate that this machine keeps."""

    def is_kept(rate: int) -> bool:
        try:
            return solo.pacing(setting, rate, setting.seconds, runs=1).is_kept
        except (RuntimeError, ValueError) as error:
            say(f"{rate:,} arrivals/s against the fake target: {error}")
            return False

    rate = results.highest_kept(is_kept, TRIED_RATES_PER_S)
    if rate is None:
        return f"- Not even {TRIED_RATES_PER_S[0]:,} arrivals/s were kept: nothing that was tried."
    more = "all that was tried" if rate == TRIED_RATES_PER_S[-1] else "the next one tried was not"
    return f"- The highest rate that was kept is {rate:,} arrivals/s, by one thread on 64 connections: {more}."


def head(words: Sequence[str], setting: Setting, rounds: str, version: str) -> list[str]:
    """What was run, where; `rounds` says how many of them there were."""
    settings = ", ".join(f"{name}={value}" for name, value in SETTINGS.items())
    size = f"W = {setting.warehouses}, {setting.connections} connections, TCP loopback"
    return [
        command_line("load_generator", words),
        f"- Machine: {machine()}; client and server share it.",
        f"- PostgreSQL {version} with {settings}.",
        f"- {size}, {rounds} of {setting.seconds:g} s in turn; who writes begins with a copy of one data set.",
        "",
        ABOUT,
    ]


def main(words: Sequence[str] | None = None) -> None:
    """All of it."""
    chosen = arguments(words)
    say("building")
    load, floor = build()
    setting = Setting(chosen.warehouses, chosen.rows, chosen.connections, chosen.seconds, load, floor)
    with Server(chosen.folder) as server, ExitStack() as stack:
        prepare(server, setting)
        compared = all_contenders()
        if key_value.is_installed():
            compared += key_value.contenders(stack.enter_context(key_value.store(load)))
        else:
            say("Redis and Valkey are not installed: left out")
        for one in chosen.peer:
            say(f"loading {one.name}")
            one.load(server, setting)
            compared.append(one.contender())
            if one.beside == who.YCSB:
                who.load_ycsb(server, setting)
                compared.append(who.our_ycsb())
        if chosen.only:
            compared = [one for one in compared if any(text in one.name for text in chosen.only)]
        version = server.version()

        def write(done: int, seen: results.Rounds, alone: Sequence[bars.Bar] = (), lines: Sequence[str] = ()) -> None:
            """After each round, so that one that is interrupted leaves its page."""
            rounds = f"{done} rounds" if done == chosen.rounds else f"{done} of {chosen.rounds} rounds"
            tables = {"Side by side": results.table(seen)} | ({"Alone": lines} if lines else {})
            beside = {one.name: one.beside for one in chosen.peer}
            reached = [*results.bars_of_clients(seen), *results.bars_of_peers(seen, beside), *alone]
            title = head(sys.argv[1:] if words is None else words, setting, rounds, version)
            chosen.out.write_text(results.page(title, reached, tables), encoding="utf-8")
            say(f"wrote {chosen.out}")

        # What needs no rival comes first, so that every page has it.
        alone, lines = ([], []) if chosen.only else bars_alone(server, setting, chosen.rounds)
        drives = {one.name: partial(one_run, server, setting, one) for one in compared}
        compare(drives, chosen.rounds, partial(write, alone=alone, lines=lines))


if __name__ == "__main__":
    main()
