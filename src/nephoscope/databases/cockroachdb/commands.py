"""Commands of the program `cockroach` and its answers, according to the documentation of 22.1 and later; pure.

Start flags and cluster settings of the published methods are those of the public repositories and reports; whatever an
edition does not set is CockroachDB's default.
"""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from nephoscope.model.errors import DatabaseFailed
from nephoscope.model.words import counted
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.server_settings import require_flags, require_settings
from nephoscope.study.snapshots import COPIES

PORT = 26357
"""Not 26257: the machine's own server must not be disturbed or measured."""
CONSOLE_PORT = 8357
"""On the loopback interface: nobody needs it from outside."""
OLDEST_VERSION = (22, 1)
"""RESTORE of one database by another name, and SQL as the load generator's dialect has it."""
HURRIED_AT_ONCE = 50
"""Ranges whose copies are asked for together."""
_SYSTEM_COPIES = 5
"""Copies of the ranges that CockroachDB itself needs most."""
_INTERNALS_ON_REQUEST = (25, 4)
"""The first version with a session variable that opens tables of `crdb_internal` and `system`, which 26.1 closes."""
_NOT_STORED = ("secret", "license", "password", "credential", "key", "organization")
"""Parts of names of cluster settings that may be secret."""


@dataclass(frozen=True)
class Manner:
    """How a published method started and set CockroachDB."""

    flags: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


_LOADING = {
    "kv.snapshot_rebalance.max_rate": "128MiB",
    "kv.snapshot_recovery.max_rate": "128MiB",
}
MANNERS: Mapping[str, Manner] = {
    "cr2018": Manner({"cache": ".25", "max-sql-memory": ".25"}),
    "cr2020": Manner({"cache": ".25", "max-sql-memory": ".25"}),
    "cr2021": Manner({"cache": "0.25", "max-sql-memory": "0.4"}, _LOADING),
    "cr2022": Manner(
        {"cache": "0.25", "max-sql-memory": "0.4"},
        {
            "admission.kv.enabled": "false",
            "admission.sql_kv_response.enabled": "false",
            "admission.sql_sql_response.enabled": "false",
            "server.consistency_check.interval": "0s",
            "kv.range_merge.queue_enabled": "false",
            "sql.stats.automatic_collection.enabled": "false",
        },
    ),
}
USUAL = Manner({"cache": ".25", "max-sql-memory": ".25"})
"""What its production checklist requires; its defaults of 128 MiB are for a laptop."""


def manner_of(settings: DatabaseSettings) -> Manner:
    """Flags and settings: those of the edition, or the usual ones, with the study's own on top.

    Raises:
        InputError: the study's own would make a server run or open anything, or are no settings.
    """
    require_flags(settings.start_flags or {})
    require_settings("cockroachdb", settings.settings)
    base = MANNERS[settings.edition] if settings.edition else USUAL
    return Manner({**base.flags, **(settings.start_flags or {})}, {**base.settings, **settings.settings})


def is_secure(settings: DatabaseSettings) -> bool:
    """As the study says; the editions ran insecure clusters."""
    return settings.edition is None if settings.secure is None else settings.secure


@dataclass(frozen=True)
class Layout:
    """Paths on a database machine."""

    root: str
    program: str
    secure: bool
    stores: tuple[str, ...]
    """Folders of data, one on each disk; the first holds the logs, too."""

    @property
    def certificates(self) -> str:
        """Folder of the authority's certificate, the node's, and (where clients run) root's."""
        return f"{self.root}/certs"

    @property
    def security(self) -> str:
        """The flag of every command that contacts a server."""
        return f"--certs-dir={self.certificates}" if self.secure else "--insecure"

    def start(self, address: str, addresses: Sequence[str], flags: Mapping[str, str]) -> list[str]:
        """Argv of a server; a single one forms its own cluster and keeps one copy."""
        joined = [f"--join={','.join(map(endpoint, addresses))}"] if len(addresses) > 1 else []
        return [
            self.program,
            "start" if joined else "start-single-node",
            self.security,
            *(f"--store=path={store}" for store in self.stores),
            f"--listen-addr={endpoint(address)}",
            f"--advertise-addr={endpoint(address)}",
            f"--http-addr=127.0.0.1:{CONSOLE_PORT}",
            *joined,
            *(f"--{name}={value}" for name, value in flags.items()),
        ]

    def init(self, address: str) -> list[str]:
        """Argv that forms a cluster from servers that wait for each other."""
        return [self.program, "init", self.security, f"--host={endpoint(address)}"]

    def sql(self, address: str, *statements: str) -> list[str]:
        """Argv of statements, which end at the first that fails; rows are tab-separated below a line of names."""
        return [
            *(self.program, "sql", self.security, f"--host={endpoint(address)}", "--format=tsv"),
            *(f"--execute={statement}" for statement in statements),
        ]

    def status(self, address: str) -> list[str]:
        """Argv of the status of each server's replicas."""
        return [*(self.program, "node", "status", "--ranges"), self.security, f"--host={endpoint(address)}",
                "--format=tsv"]  # fmt: skip

    def dsn(self, addresses: Sequence[str], certificates: str) -> str:
        """Address of all servers: the load generator distributes its connections over them.

        Args:
            addresses: of the database machines.
            certificates: folder of root's certificate on the load machine.
        """
        query = "sslmode=disable"
        if self.secure:
            named = {"sslrootcert": "ca.crt", "sslcert": "client.root.crt", "sslkey": "client.root.key"}
            query = "&".join(["sslmode=verify-full", *(f"{key}={certificates}/{file}" for key, file in named.items())])
        return f"postgresql://root@{','.join(map(endpoint, addresses))}/defaultdb?{query}"


def endpoint(address: str) -> str:
    """Address and port, an IPv6 one in brackets."""
    return f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"


def locality(region: str, zone: str) -> str:
    """Where a server is, from the widest to the narrowest, as `start --locality` takes it."""
    tiers = {"region": region, "zone": zone}
    return ",".join(f"{tier}={value}" for tier, value in tiers.items() if value)


def set_statement(name: str, value: str) -> str:
    """SQL that sets one cluster setting: numbers and truth values as they are, anything else as text."""
    plain = value in {"true", "false"} or value.replace(".", "", 1).removeprefix("-").isdigit()
    return f"SET CLUSTER SETTING {name} = {value if plain else quoted(value)}"


def quoted(text: str) -> str:
    """An SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def rows(said: str) -> list[dict[str, str]]:
    """Tab-separated values below a line of names, after the answer of a SET; no rows if there is nothing else.

    Raises:
        DatabaseFailed: it is something else.
    """
    try:
        return list(csv.DictReader(io.StringIO(said.removeprefix("SET\n")), delimiter="\t"))
    except csv.Error as error:
        raise DatabaseFailed(f"unexpected format of the answer of `cockroach sql`: {error}") from error


def settings_in_force(said: str) -> dict[str, str]:
    """Every cluster setting of SHOW ALL CLUSTER SETTINGS, without secrets."""
    return {
        row["variable"]: row["value"]
        for row in rows(said)
        if row.get("variable") and not any(part in row["variable"] for part in _NOT_STORED)
    }


@dataclass(frozen=True)
class Replication:
    """What one server reports about its replicas; numbers may be twenty seconds old."""

    node: str
    live: bool
    ranges: int
    under_replicated: int
    unavailable: int

    def __str__(self) -> str:
        state = "live" if self.live else "not live"
        ranges = f"{counted(self.under_replicated, 'range')} under-replicated, {self.unavailable} unavailable"
        return f"{self.node} is {state}, with {ranges}"


def are_whole(servers: int, rows: Sequence[Replication], too_few: int) -> bool:
    """Whether every server is live and every range has all its copies.

    Which ranges want five copies is known only to the servers, which count them every ten seconds. Until it has
    counted, a server reports no ranges at all, and none under-replicated.

    Args:
        servers: how many there are.
        rows: what each reports.
        too_few: result of `ranges_with_too_few_copies` at this moment.
    """
    if len(rows) < servers or too_few or not all(row.live for row in rows):
        return False
    if servers < _SYSTEM_COPIES:
        return True
    counted = sum(row.ranges > 0 for row in rows) >= COPIES
    return counted and not any(row.under_replicated or row.unavailable for row in rows)


def ranges_with_too_few_copies(servers: int) -> str:
    """SQL that counts the ranges which have fewer copies than so many servers keep, as of now."""
    return f"SELECT count(*) AS ranges {_have_too_few(servers)}"


def some_with_too_few_copies(servers: int) -> str:
    """SQL for the numbers of the first of these ranges."""
    return f"SELECT range_id {_have_too_few(servers)} LIMIT {HURRIED_AT_ONCE}"


def _have_too_few(servers: int) -> str:
    return f"FROM crdb_internal.ranges_no_leases WHERE array_length(replicas, 1) < {min(COPIES, servers)}"


def states(
    addresses: Sequence[str], answering: Collection[str], live: Collection[str], too_few: int | None
) -> dict[str, str]:
    """Each server's state, and that of the copies, in words.

    Args:
        addresses: of all servers.
        answering: of those that run statements.
        live: of those that are live according to the others, with their ports.
        too_few: how many ranges have too few copies; None: they cannot be counted.
    """

    def state(address: str) -> str:
        if address not in answering:
            return "does not answer"
        return "live" if endpoint(address) in live else "not live"

    copies = counted(min(COPIES, len(addresses)), "copy", "copies")
    known = {None: "cannot be counted", 0: f"all have {copies}", 1: f"1 has fewer than {copies}"}
    ranges = known.get(too_few, f"{too_few} have fewer than {copies}")
    return {f"node {endpoint(address)}": state(address) for address in addresses} | {"ranges": ranges}


def lacking(too_few: int | None) -> str:
    """The ranges with too few copies; None: they cannot be counted."""
    if too_few is None:
        return "ranges cannot be counted"
    return f"{counted(too_few, 'range')} {'has' if too_few == 1 else 'have'} too few"


def internal(build_tag: str, query: str) -> tuple[str, ...]:
    """Statements that query a table of `crdb_internal` or `system`."""
    opened = ("SET allow_unsafe_internals = true",) if version_of(build_tag) >= _INTERNALS_ON_REQUEST else ()
    return (*opened, query)


def replication(said: str) -> list[Replication]:
    """What `node status --ranges` says, by server.

    Raises:
        DatabaseFailed: unexpected format.
    """
    try:
        return [
            Replication(
                node=row["address"],
                live=row["is_live"] == "true" and row["is_available"] == "true",
                ranges=int(row["ranges"]),
                under_replicated=int(row["ranges_underreplicated"]),
                unavailable=int(row["ranges_unavailable"]),
            )
            for row in rows(said)
        ]
    except (KeyError, ValueError) as error:
        raise DatabaseFailed(f"unexpected format of `cockroach node status --ranges`: {error!r}") from error


def identities(said: str) -> dict[str, str]:
    """From `node status`: the number, version and start of the server at each address.

    Raises:
        DatabaseFailed: unexpected format.
    """
    try:
        return {
            f"server {row['address']}": f"node {row['id']}, {row['build']}, started {row['started_at']}"
            for row in rows(said)
        }
    except KeyError as error:
        raise DatabaseFailed(f"unexpected format of `cockroach node status`: {error!r}") from error


def count(said: str) -> int:
    """The one number that a query results in.

    Raises:
        DatabaseFailed: unexpected format.
    """
    try:
        ((number,),) = (row.values() for row in rows(said))
        return int(number)
    except ValueError as error:
        raise DatabaseFailed(f"unexpected format of a count: {said[:100]!r}") from error


def version_of(build_tag: str) -> tuple[int, int]:
    """Major and minor version of 'v22.1.6'.

    Raises:
        DatabaseFailed: it is not a version, or too old.
    """
    parts = build_tag.strip().removeprefix("v").split(".")
    try:
        found = (int(parts[0]), int(parts[1]))
    except (IndexError, ValueError) as error:
        raise DatabaseFailed(
            f"unexpected format: `cockroach version --build-tag` printed {build_tag[:100]!r}, which is not a version"
        ) from error
    if found < OLDEST_VERSION:
        oldest = ".".join(map(str, OLDEST_VERSION))
        raise DatabaseFailed(f"CockroachDB {build_tag.strip()} is too old: nephoscope needs {oldest} or later")
    return found
