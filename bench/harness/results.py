"""Numbers and the page that shows them. Pure."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from bench.harness.bars import HEAD as BARS_HEAD
from bench.harness.bars import NOTHING, Bar, Ratios, Verdict, at_least, at_most, compared, of_spread, ratios, spread
from bench.harness.contenders import Done
from bench.harness.key_value import OURS, PEER, PIPELINES, name
from bench.harness.solo import Pacing

_MIB = 2**20
_MB = 1e6
_US_PER_S = 1e6

OF_FLOOR = 1.25
"""For each profile of TPC-C. A goal is a multiple of the floor of the same round: what another tool costs beside it
differs from machine to machine, as both do not slow down alike."""
OF_FLOOR_ONE_TRIP = 1.15
SAME_RATE = 0.03
"""So little may two tools differ whose rates are called comparable."""
KEY_VALUE_MB = 20


def client_us(done: Done) -> float:
    """Client CPU of a transaction, in microseconds."""
    return done.cpu_s / done.transactions * _US_PER_S


def server_us(done: Done) -> float:
    """Server CPU of a transaction, in microseconds."""
    return done.server_cpu_s / done.transactions * _US_PER_S


def rate(done: Done) -> float:
    """Transactions a second."""
    return done.transactions / done.elapsed_s


def round_trips(done: Done) -> float | None:
    """Of a transaction; None where the tool does not tell."""
    return None if done.round_trips is None else done.round_trips / done.transactions


Rounds = Mapping[str, Sequence[Done | None]]
"""By contender; None: it failed in that round."""

HEAD = (
    "| what | round trips | transactions/s | client CPU, µs | server CPU, µs | peak MiB | lost, % | remark |",
    "|---|---|---|---|---|---|---|---|",
)


def table(rounds: Rounds) -> list[str]:
    """A line for each contender: medians with extremes."""
    made = {name: [done for done in runs if done] for name, runs in rounds.items()}
    return [*HEAD, *(_row(name, done) for name, done in made.items() if done)]


def _row(name: str, rounds: Sequence[Done]) -> str:
    def shown(values: Sequence[float | None], digits: int) -> str:
        found = spread([value for value in values if value is not None])
        return found.text(digits) if found else NOTHING

    trips = spread([value for done in rounds if (value := round_trips(done)) is not None])
    cells = [
        f"{trips.median:.2f}" if trips else NOTHING,
        shown([rate(done) for done in rounds], 0),
        shown([client_us(done) for done in rounds], 1),
        shown([server_us(done) for done in rounds], 0),
        f"{max((done.peak_bytes for done in rounds), default=0) / _MIB:.0f}",
        shown([None if done.lost is None else 100 * done.lost for done in rounds], 1),
        "; ".join(sorted({done.remark for done in rounds if done.remark})),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def ratio(rounds: Rounds, one: str, other: str, measure: str) -> Ratios:
    """One contender's measure over the other's, round by round: both of a round met the same machine."""
    of = {"client": client_us, "rate": rate}[measure]
    pairs = zip(rounds.get(one, ()), rounds.get(other, ()), strict=False)
    return ratios((of(mine) / of(theirs), mine.lost, theirs.lost) for mine, theirs in pairs if mine and theirs)


def of_pacing(what: str, found: Pacing | None, limit_us: float, most_per_s: float | None = None) -> Bar:
    """A bar that the pacing error must not exceed, at a rate that is kept.

    Args:
        what: names it.
        found: None: it could not be measured.
        limit_us: of the 99th percentile.
        most_per_s: what the same thread does when nothing is due at a time; None: not known. Nobody sends more.
    """
    bar = f"≤ {limit_us:g} µs"
    if found is None:
        return Bar(what, bar, NOTHING, Verdict.NOT_MEASURED)
    seen = NOTHING if found.p99_us is None else f"{found.p99_us:.1f}"
    seen += f"; {found.seconds_without_steal} of {found.seconds} seconds without steal"
    if not found.is_kept:
        seen += f", {found.not_sent:,} of {found.offered:,} never sent"
        if most_per_s is not None and most_per_s < found.rate_per_s:
            return Bar(what, bar, f"{seen}; a closed loop does {most_per_s:,.0f}/s", Verdict.BEYOND)
        return Bar(what, bar, seen, Verdict.MISSED if found.seconds_without_steal else Verdict.UNDECIDED)
    if found.seconds_without_steal == 0:
        return Bar(what, bar, seen, Verdict.UNDECIDED)
    is_met = found.p99_us is not None and found.p99_us <= limit_us
    return Bar(what, bar, seen, Verdict.MET if is_met else Verdict.MISSED)


def highest_kept(is_kept: Callable[[int], bool], rates: Sequence[int]) -> int | None:
    """The highest of these rates, in growing order, that is kept with all below it; None: the first is not."""
    kept = list(takewhile(is_kept, rates))
    return kept[-1] if kept else None


def bars_of_clients(rounds: Rounds) -> list[Bar]:
    """The bars that ratios of contenders decide."""
    own, only = "nephoscope-load {}", "nephoscope-load {}, New-Order only"
    points, select = own.format("point-select"), "client CPU per point select / {}"
    script = "pgbench New-Order {}"

    def client(one: str, other: str) -> Ratios:
        return ratio(rounds, one, other, "client")

    def of_floor(profile: str) -> Bar:
        found = client(own.format(profile), f"floor {profile}")
        return at_most(f"client CPU per transaction, `{profile}` / its floor", found, OF_FLOOR)

    def throughput(profile: str) -> Bar:
        found = ratio(rounds, only.format(profile), script.format(profile), "rate")
        return at_least(f"New-Order-only throughput, `{profile}` / pgbench's script", found, 1.0)

    pipelined = client(only.format("pipelined"), script.format("pipelined"))
    floor = client("floor pipelined, New-Order only", script.format("pipelined"))
    what = "client CPU per New-Order, `pipelined` / pgbench's pipelined script"
    return [
        *map(of_floor, ("chatty", "batched", "pipelined", "proc")),
        compared(what, pipelined),
        compared("client CPU per New-Order, the floor of `pipelined` / pgbench's pipelined script", floor),
        at_most(select.format("its floor"), client(points, "floor point-select"), OF_FLOOR_ONE_TRIP),
        at_most(select.format("pgbench -S"), client(points, "pgbench -S"), 1.0),
        compared(select.format("sysbench"), client(points, "sysbench oltp_point_select")),
        *_bars_of_writers(client),
        *_same_rate(ratio(rounds, own.format("tpcb"), "pgbench TPC-B", "rate")),
        *_bars_of_key_value(client, rounds),
        *map(throughput, ("chatty", "pipelined")),
    ]


def _bars_of_writers(client: Callable[[str, str], Ratios]) -> list[Bar]:
    """sysbench's inserts and transactions, and pgbench's."""
    what, own = "client CPU per {} / {}", "nephoscope-load {}"
    transaction = what.format("read_write transaction", "sysbench")
    return [
        at_most(what.format("insert", "sysbench"), client(own.format("oltp-insert"), "sysbench oltp_insert"), 0.94),
        at_most(transaction, client(own.format("oltp-read-write"), "sysbench oltp_read_write"), 0.79),
        at_most(what.format("TPC-B transaction", "pgbench"), client(own.format("tpcb"), "pgbench TPC-B"), 1.0),
    ]


def _same_rate(found: Ratios) -> list[Bar]:
    """Whether ours drives pgbench's transaction as fast as pgbench, so that rates of the two may be compared."""
    what = "TPC-B transactions per second, ours / pgbench's"
    return [at_least(what, found, 1 - SAME_RATE), at_most(what, found, 1 + SAME_RATE)]


def _bars_of_key_value(client: Callable[[str, str], Ratios], rounds: Rounds) -> list[Bar]:
    """GET and SET of a key-value store, and what they take."""
    bars = []
    for command in ("get", "set"):
        for pipeline in PIPELINES:
            sides = [name(side, command, pipeline) for side in (OURS, PEER)]
            what = f"client CPU per {command.upper()}, {pipeline} under way / {PEER}"
            bars.append(at_most(what, client(*sides), 1.0, every=(command, pipeline) == ("set", PIPELINES[-1])))
    for command in ("get", "set"):
        runs = rounds.get(name(OURS, command, PIPELINES[-1]), ())
        most = [max(done.peak_bytes for done in runs if done) / _MB] if any(runs) else []
        what = f"peak memory, {command.upper()}, {PIPELINES[-1]} under way"
        bars.append(of_spread(what, spread(most), KEY_VALUE_MB, "MB", 1))
    return bars


def bars_of_peers(rounds: Rounds, beside: Mapping[str, str]) -> list[Bar]:
    """Tools that were built elsewhere, each beside one of ours."""
    return [
        at_most(f"client CPU per transaction, {ours} / {peer}", ratio(rounds, ours, peer, "client"), 1.0)
        for peer, ours in beside.items()
    ]


def page(
    head: Sequence[str], bars: Sequence[Bar], tables: Mapping[str, Sequence[str]], subject: str = "nephoscope-load"
) -> str:
    """The whole page."""
    parts = [f"# What {subject} costs", "", *head, "", "## Bars", "", *BARS_HEAD, *(bar.row() for bar in bars)]
    for title, lines in tables.items():
        parts += ["", f"## {title}", "", *lines]
    return "\n".join(parts) + "\n"
