"""Those that write: sysbench's inserts and transactions and pgbench's own, each beside ours on the same tables."""

from collections.abc import Callable

from bench.harness import contenders as who
from bench.harness.contenders import Contender, Done, Setting
from bench.harness.server import USER, Server

ACCOUNTS_SCALE = 10
"""Branches of pgbench's tables; more than connections, so that few of these wait for each other."""

_READ_WRITE_TRIPS, _TPCB_TRIPS = 20, 7
_DISTRIBUTION = "uniform"


def insert_words(setting: Setting) -> list[str]:
    """Our options of `oltp_insert`."""
    return ["oltp-insert", "run", *_tables(setting)]


def read_write_words(setting: Setting) -> list[str]:
    """Our options of `oltp_read_write`."""
    return ["oltp-read-write", "run", *_tables(setting), "--profile", "chatty"]


def tpcb_words(setting: Setting) -> list[str]:  # noqa: ARG001 - the size is pgbench's
    """Our options of pgbench's transaction."""
    return ["tpcb", "run", "--scale", str(ACCOUNTS_SCALE), "--profile", "chatty"]


def _tables(setting: Setting) -> list[str]:
    return ["--tables", "1", "--rows", str(setting.rows), "--distribution", _DISTRIBUTION]


def ours(name: str, template: str, words: Callable[[Setting], list[str]]) -> Contender:
    """nephoscope-load with one of these workloads."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        return who.read_ours(*who.costed(server, who.our_words(server.dsn(database), setting, words(setting))))

    return Contender(f"nephoscope-load {name}", template, drive)


def sysbench(script: str, round_trips: int, *more: str, reads_only: bool = False) -> Contender:
    """Debian's sysbench, on our tables of the same form as its own."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        where = ["--pgsql-host=127.0.0.1", f"--pgsql-port={server.port}", f"--pgsql-user={USER}"]
        size = [f"--pgsql-db={database}", "--tables=1", f"--table-size={setting.rows}"]
        length = [f"--threads={setting.connections}", f"--time={max(1, round(setting.seconds))}"]
        drawn = [f"--rand-type={_DISTRIBUTION}", *more]
        words = ["sysbench", script, "--db-driver=pgsql", *where, *size, *length, *drawn, "run"]
        return who.read_sysbench(*who.costed(server, words), round_trips)

    return Contender(f"sysbench {script}", "points", drive, reads_only)


def own() -> list[Contender]:
    """Ours, each with its floor."""
    found = []
    for name, template, words in (
        ("oltp-insert", "points", insert_words),
        ("oltp-read-write", "points", read_write_words),
        ("tpcb", "accounts", tpcb_words),
    ):
        found += [ours(name, template, words), who.floor(name, template, words)]
    return [*found, who.pgbench("pgbench TPC-B", "accounts", ["-b", "tpcb-like"], _TPCB_TRIPS)]


def of_sysbench() -> list[Contender]:
    """Where it is installed."""
    point_select = sysbench("oltp_point_select", 1, "--skip-trx=on", reads_only=True)
    return [point_select, sysbench("oltp_insert", 1), sysbench("oltp_read_write", _READ_WRITE_TRIPS)]
