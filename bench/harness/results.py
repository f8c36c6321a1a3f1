"""Numbers and the page that shows them. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.harness.contenders import Done
from bench.harness.key_value import OURS, PEER, PIPELINES, name
from bench.harness.solo import Pacing

_MIB = 2**20
_US_PER_S = 1e6
NOTHING = "–"


@dataclass(frozen=True)
class Spread:
    """The median of the rounds, and their extremes."""

    median: float
    least: float
    most: float

    def text(self, digits: int = 0) -> str:
        """'156 (152..160)'."""
        return f"{self.median:,.{digits}f} ({self.least:,.{digits}f}..{self.most:,.{digits}f})"


def spread(values: Sequence[float]) -> Spread | None:
    """Of the rounds; None of none."""
    return Spread(median(values), min(values), max(values)) if values else None


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


Rounds = Mapping[str, Sequence[Done]]
"""By contender."""

HEAD = (
    "| what | round trips | transactions/s | client CPU, µs | server CPU, µs | peak MiB | remark |",
    "|---|---|---|---|---|---|---|",
)


def table(rounds: Rounds) -> list[str]:
    """A line for each contender: medians with extremes."""
    return [*HEAD, *(_row(name, done) for name, done in rounds.items())]


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
        "; ".join(sorted({done.remark for done in rounds if done.remark})),
    ]
    return f"| {name} | {' | '.join(cells)} |"


@dataclass(frozen=True)
class Bar:
    """One line of what is to be reached."""

    what: str
    bar: str
    seen: str
    met: bool | None
    """None: not measured."""

    def row(self) -> str:
        """Of the table."""
        verdict = {True: "met", False: "**missed**", None: "not measured"}[self.met]
        return f"| {self.what} | {self.bar} | {self.seen} | {verdict} |"


def ratio(rounds: Rounds, one: str, other: str, measure: str) -> Spread | None:
    """One contender's measure over the other's, round by round: both of a round met the same machine."""
    of = {"client": client_us, "rate": rate}[measure]
    pairs = zip(rounds.get(one, ()), rounds.get(other, ()), strict=False)
    return spread([of(mine) / of(theirs) for mine, theirs in pairs])


def at_most(what: str, found: Spread | None, limit: float, unit: str = "×", digits: int = 2) -> Bar:
    """A bar that the median must not exceed."""
    bar = f"≤ {limit:g} {unit}"
    if found is None:
        return Bar(what, bar, NOTHING, met=None)
    return Bar(what, bar, found.text(digits), met=found.median <= limit)


def of_pacing(what: str, found: Pacing | None, limit_us: float) -> Bar:
    """A bar that the pacing error must not exceed, at a rate that is kept; None: it could not be measured."""
    bar = f"≤ {limit_us:g} µs"
    if found is None:
        return Bar(what, bar, NOTHING, met=None)
    seen = NOTHING if found.p99_us is None else f"{found.p99_us:.1f}"
    if not found.is_kept:
        return Bar(what, bar, f"{seen}, {found.not_sent:,} of {found.offered:,} never sent", met=False)
    return Bar(what, bar, seen, met=found.p99_us is not None and found.p99_us <= limit_us)


def at_least(what: str, found: Spread | None, limit: float) -> Bar:
    """A bar that the median must reach."""
    bar = f"≥ {limit:g} ×"
    return Bar(what, bar, found.text(2) if found else NOTHING, met=found.median >= limit if found else None)


def bars_of_clients(rounds: Rounds) -> list[Bar]:
    """The bars that ratios of contenders decide."""
    own, only = "nephoscope-load {}", "nephoscope-load {}, New-Order only"
    points, select = own.format("point-select"), "client CPU per point select / {}"

    def client(one: str, other: str) -> Spread | None:
        return ratio(rounds, one, other, "client")

    def of_floor(profile: str) -> Spread | None:
        return client(own.format(profile), f"floor {profile}")

    def throughput(profile: str) -> Spread | None:
        return ratio(rounds, only.format(profile), f"pgbench New-Order {profile}", "rate")

    pipelined = client(only.format("pipelined"), "pgbench New-Order pipelined")
    return [
        at_most("client CPU per transaction, `batched` / its floor", of_floor("batched"), 1.3),
        at_most("client CPU per transaction, `chatty` / its floor", of_floor("chatty"), 1.3),
        at_most("client CPU per New-Order, `pipelined` / pgbench's pipelined script", pipelined, 0.5),
        at_most("client CPU per transaction, `proc` / its floor", of_floor("proc"), 1.5),
        at_most(select.format("its floor"), client(points, "floor point-select"), 1.15),
        at_most(select.format("pgbench -S"), client(points, "pgbench -S"), 1.0),
        at_most(select.format("sysbench"), client(points, "sysbench oltp_point_select"), 1.0),
        *_bars_of_writers(client),
        at_least("New-Order-only throughput, `chatty` / pgbench's script", throughput("chatty"), 1.0),
        at_least("New-Order-only throughput, `pipelined` / pgbench's script", throughput("pipelined"), 1.0),
    ]


def _bars_of_writers(client: Callable[[str, str], Spread | None]) -> list[Bar]:
    """sysbench's inserts, transactions and pgbench's; GET and SET of a key-value store."""
    what, own = "client CPU per {} / {}", "nephoscope-load {}"
    bars = [
        at_most(what.format("insert", "sysbench"), client(own.format("oltp-insert"), "sysbench oltp_insert"), 0.94),
        at_most(
            what.format("read_write transaction", "sysbench"),
            client(own.format("oltp-read-write"), "sysbench oltp_read_write"),
            0.79,
        ),
        at_most(what.format("TPC-B transaction", "pgbench"), client(own.format("tpcb"), "pgbench TPC-B"), 1.0),
    ]
    for command in ("get", "set"):
        for pipeline in PIPELINES:
            sides = [name(side, command, pipeline) for side in (OURS, PEER)]
            operation = f"{command.upper()}, {pipeline} under way"
            bars.append(at_most(what.format(operation, PEER), client(*sides), 1.0))
    return bars


BARS_HEAD = ("| what | bar | seen | |", "|---|---|---|---|")


def page(
    head: Sequence[str], bars: Sequence[Bar], tables: Mapping[str, Sequence[str]], subject: str = "nephoscope-load"
) -> str:
    """The whole page."""
    parts = [f"# What {subject} costs", "", *head, "", "## Bars", "", *BARS_HEAD, *(bar.row() for bar in bars)]
    for title, lines in tables.items():
        parts += ["", f"## {title}", "", *lines]
    return "\n".join(parts) + "\n"
