"""A stand-in for the program `cockroach`: it notes what it was told, and answers as the documentation says it does.

It stores no data and speaks no SQL over the wire. `python fake_cockroach.py STATE …`; all servers of a cluster share
the folder STATE, where `calls.jsonl` holds every command line in order.
"""
# ruff: noqa: T201 - a program speaks on stdout

import json
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

TAG = "v22.1.6"
SETTINGS = {
    "admission.kv.enabled": "true",
    "cluster.secret": "8d2f",
    "kv.snapshot_rebalance.max_rate": "32MiB",
    "version": "22.1",
}
STATUS_COLUMNS = (
    "id", "address", "sql_address", "build", "started_at", "updated_at", "locality", "is_available", "is_live",
    "replicas_leaders", "replicas_leaseholders", "ranges", "ranges_unavailable", "ranges_underreplicated",
)  # fmt: skip


class Refused(Exception):
    """What it says on stderr before it ends with 1."""


class State:
    """What the servers of one cluster know."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        for name in ("up", "known", "databases", "backups", "settings"):
            (folder / name).mkdir(exist_ok=True)

    def note(self, argv: list[str]) -> None:
        with (self.folder / "calls.jsonl").open("a") as calls:
            calls.write(json.dumps(argv) + "\n")

    def up(self) -> list[str]:
        return sorted(file.name for file in (self.folder / "up").iterdir())

    def begin(self, address: str) -> None:
        if self.ends_at_start() == address:
            raise Refused("ERROR: cockroach server exited with error: no space left on device")
        (self.folder / "up" / address).touch()
        known = self.folder / "known" / address
        known.write_text(str(1 + int(known.read_text() if known.exists() else 0)))

    def started(self, address: str) -> str:
        """When a server was last started: a second later each time."""
        starts = int((self.folder / "known" / address).read_text())
        return f"2026-11-27 21:00:{starts:02}.151515"

    def known(self) -> list[str]:
        """Servers that were ever up: a real one goes on telling of those that have gone."""
        return sorted(file.name for file in (self.folder / "known").iterdir())

    def not_live(self) -> str:
        """A server that answers, but lost touch with the others; a test writes which."""
        file = self.folder / "not-live"
        return file.read_text() if file.exists() else ""

    def ends_at_start(self) -> str:
        """A server that does not come up; a test writes which."""
        file = self.folder / "ends-at-start"
        return file.read_text() if file.exists() else ""

    @property
    def tag(self) -> str:
        """Of the version that it pretends to be; a test may write another."""
        file = self.folder / "tag"
        return file.read_text() if file.exists() else TAG

    @property
    def initialised(self) -> Path:
        return self.folder / "initialised"

    def counted(self) -> bool:
        """Not at the first look: a real server counts its ranges every ten seconds, and until then tells none."""
        file = self.folder / "counted"
        was = file.exists()
        file.touch()
        return was

    def missing_copies(self) -> int:
        """So many looks long a range lacks a copy; a test writes how many."""
        left = self.looks_left()
        if left:
            (self.folder / "under-replicated-looks").write_text(str(left - 1))
        return left

    def looks_left(self) -> int:
        file = self.folder / "under-replicated-looks"
        return int(file.read_text()) if file.exists() else 0


def flags_of(argv: list[str]) -> dict[str, str]:
    pairs = (word.removeprefix("--").partition("=") for word in argv if word.startswith("--"))
    return {name: value for name, _, value in pairs}


def start(state: State, argv: list[str]) -> None:
    flags = flags_of(argv)
    if "certs-dir" in flags:
        for name in ("ca.crt", "node.crt", "node.key"):
            if not (Path(flags["certs-dir"]) / name).exists():
                raise Refused(f"ERROR: cannot load certificates: {name} is missing")
        if (Path(flags["certs-dir"]) / "node.key").stat().st_mode & 0o077:
            raise Refused("ERROR: cannot load certificates: key file node.key has permissions that are too open")
    elif "insecure" not in flags:
        raise Refused("ERROR: neither --insecure nor --certs-dir")
    stores = [Path(word.removeprefix("--store=path=")) for word in argv if word.startswith("--store=path=")]
    for store in stores:
        store.mkdir(parents=True, exist_ok=True)
    (stores[0] / "logs").mkdir(exist_ok=True)
    (stores[0] / "logs" / "cockroach.log").write_text("I000000 a line of the server's log\n")
    address = flags["listen-addr"]
    if argv[0] == "start-single-node":
        state.initialised.touch()
    state.begin(address)
    print("CockroachDB node starting", flush=True)

    def end(_signal: int, _frame: FrameType | None) -> None:
        (state.folder / "up" / address).unlink(missing_ok=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        time.sleep(60)


def init(state: State, argv: list[str]) -> None:
    reached(state, flags_of(argv))
    if state.initialised.exists():
        raise Refused("ERROR: cluster has already been initialized")
    state.initialised.touch()
    print("Cluster successfully initialized")


def reached(state: State, flags: dict[str, str]) -> None:
    if flags["host"] not in state.up():
        raise Refused(f"ERROR: cannot dial server: dial tcp {flags['host']}: connect: connection refused")
    if "certs-dir" in flags and not (Path(flags["certs-dir"]) / "client.root.key").exists():
        raise Refused("ERROR: problem using security settings: no certificate of root")


def status(state: State, argv: list[str]) -> None:
    reached(state, flags_of(argv))
    print("\t".join(STATUS_COLUMNS))
    ranges, up = "52" if state.counted() else "0", set(state.up()) - {state.not_live()}
    for number, address in enumerate(state.known(), start=1):
        live = str(address in up).lower()
        began = state.started(address)
        row = (number, address, address, state.tag, began, began, "", live, live, 17, 17, ranges, 0, 0)
        print("\t".join(map(str, row)))


def cert(_state: State, argv: list[str]) -> None:
    kind, *named = [word for word in argv[1:] if not word.startswith("--")]
    flags = flags_of(argv)
    folder, authority = Path(flags["certs-dir"]), Path(flags["ca-key"])
    stem = {"create-ca": "ca", "create-client": f"client.{named[0] if named else ''}", "create-node": "node"}[kind]
    if kind == "create-ca":
        authority.write_text("key of the authority\n")
    else:
        authority.read_text()
        key = folder / f"{stem}.key"
        key.touch(mode=0o600)
        key.write_text(f"key of {named}\n")
    (folder / f"{stem}.crt").write_text(f"certificate of {named}\n")


def sql(state: State, argv: list[str]) -> None:
    flags = flags_of(argv)
    reached(state, flags)
    if not state.initialised.exists():
        raise Refused("ERROR: server is not ready: the cluster was not initialised")
    statements = [word.removeprefix("--execute=") for word in argv if word.startswith("--execute=")]
    internals_are_open = version_of(state) < (26, 1) or OPEN_INTERNALS in statements
    for statement in statements:
        if re.search(r"FROM (crdb_internal|system)\.", statement) and not internals_are_open:
            raise Refused("ERROR: Access to crdb_internal and system is restricted.")
        matches = ((re.fullmatch(pattern, statement), answer) for pattern, answer in ANSWERS)
        match, answer = next(((match, answer) for match, answer in matches if match), (None, None))
        if match is None or answer is None:
            raise Refused(f'ERROR: at or near "{statement[:30]}": syntax error')
        answer(state, *match.groups())


def version_of(state: State) -> tuple[int, ...]:
    return tuple(int(part) for part in state.tag.removeprefix("v").split("."))


def open_internals(state: State) -> None:
    if version_of(state) < (25, 4):
        raise Refused('ERROR: unrecognized configuration parameter "allow_unsafe_internals"')
    print("SET")


def create(state: State, exists: str | None, name: str) -> None:
    (state.folder / "databases" / name).touch(exist_ok=exists is not None)
    print("CREATE DATABASE")


def needs_database(state: State, name: str) -> Path:
    file = state.folder / "databases" / name
    if not file.exists():
        raise Refused(f'ERROR: database "{name}" does not exist')
    return file


def backup_of(state: State, place: str) -> Path:
    return state.folder / "backups" / place.replace("/", "_")


def show_backups(state: State, place: str) -> None:
    if backup_of(state, place).exists():
        print("path\n/2026/11/22-000000.00")


def restore(state: State, name: str, place: str, new: str) -> None:
    if backup_of(state, place).read_text() != name:
        raise Refused(f"ERROR: no backup of {name}")
    create(state, None, new)


def set_setting(state: State, name: str, value: str) -> None:
    if name.startswith("no."):
        raise Refused(f'ERROR: unknown cluster setting "{name}"')
    (state.folder / "settings" / name).write_text(value.strip("'"))
    print("SET CLUSTER SETTING")


def show_settings(state: State) -> None:
    made = {file.name: file.read_text() for file in (state.folder / "settings").iterdir()}
    print("variable\tvalue\tsetting_type\tpublic\tdescription")
    for name, value in sorted({**SETTINGS, **made}.items()):
        print(f'{name}\t{value}\ts\ttrue\t"what ""it"" does"')


def made_settings(state: State) -> None:
    print("name\nversion\ncluster.secret")
    for file in (state.folder / "settings").iterdir():
        print(file.name)


OPEN_INTERNALS = "SET allow_unsafe_internals = true"
ANSWERS: tuple[tuple[str, Callable[..., object]], ...] = (
    ("SELECT 1", lambda _state: print("?column?\n1")),
    (r"CREATE DATABASE (IF NOT EXISTS )?(\w+)", create),
    (r"ALTER DATABASE (\w+) CONFIGURE ZONE USING gc\.ttlseconds = \d+", needs_database),
    (
        r"ALTER DATABASE (\w+) RENAME TO (\w+)",
        lambda state, old, new: needs_database(state, old).rename(state.folder / "databases" / new),
    ),
    (r"DROP DATABASE (\w+) CASCADE", lambda state, name: needs_database(state, name).unlink()),
    (r"BACKUP DATABASE (\w+) INTO '([^']+)'", lambda state, name, place: backup_of(state, place).write_text(name)),
    (r"SHOW BACKUPS IN '([^']+)'", show_backups),
    (r"RESTORE DATABASE (\w+) FROM LATEST IN '([^']+)' WITH new_db_name = '(\w+)'", restore),
    (r"SET CLUSTER SETTING ([\w.]+) = ('[^']*'|true|false|[\d.]+)", set_setting),
    ("SHOW ALL CLUSTER SETTINGS", show_settings),
    (r"SELECT name FROM system\.settings", made_settings),
    (OPEN_INTERNALS, open_internals),
    (
        r"SELECT range_id FROM crdb_internal\.ranges_no_leases WHERE array_length\(replicas, 1\) < [23] LIMIT 50",
        lambda state: print("range_id\n11\n12" if state.looks_left() else "range_id"),
    ),
    (
        r"SELECT count\(\*\) AS ranges FROM crdb_internal\.ranges_no_leases WHERE array_length\(replicas, 1\) < [1-3]",
        lambda state: print(f"ranges\n{state.missing_copies()}"),
    ),
)
COMMANDS: dict[str, Callable[[State, list[str]], None]] = {
    "start": start,
    "start-single-node": start,
    "init": init,
    "sql": sql,
    "node": status,
    "cert": cert,
    "version": lambda state, _argv: print(state.tag),
}


def install(state: Path, program: Path) -> Path:
    """Writes `program`, a command without arguments that runs this stand-in on `state`."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {Path(__file__)} {state} "$@"\n')
    program.chmod(0o755)
    return program


if __name__ == "__main__":
    shared = State(Path(sys.argv[1]))
    shared.note(sys.argv[2:])
    try:
        COMMANDS[sys.argv[2]](shared, sys.argv[2:])
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(1)
