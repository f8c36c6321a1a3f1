"""Addresses that a study may hold, of servers of SQL and of buckets of data sets, none with a password or a key.

The load generator alone reads a server's address and reaches the server. A study is stored and shared, so an address
holds known parts only: nobody can tell whether other text is a secret.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit, urlunsplit

_SECRET_PARTS = ("secret", "key", "token", "credential", "sas")

_PASSWORD = re.compile(
    r"""
      ^\s*[a-z]+://[^@/]*:[^@/]+@              # user:password@ as libpq reads it
    | ^\s*[a-z]+://[^:@/?\#]*:[^@?]+@          # the same with a slash in the password, which libpq would reject
    | (?:^|[\s?&])(?:ssl)?password\s*=\s*[^\s&]  # password=... in an address's query or between keywords
    """,
    re.VERBOSE | re.IGNORECASE,
)


def holds_password(dsn: str) -> bool:
    """True if a libpq connection string (address or keywords) holds a password; better a false alarm than a miss."""
    return any(_PASSWORD.search(text) for text in (dsn, unquote(dsn)))


def holds_cloud_secret(place: str) -> bool:
    """True when the address of a store names a key or a token: AWS_SECRET_ACCESS_KEY, CREDENTIALS and the like."""
    names = {name.lower() for name, _ in parse_qsl(urlsplit(place).query, keep_blank_values=True)}
    return any(part in name for name in names for part in _SECRET_PARTS) or holds_password(place)


_OF_SCHEME = {
    "s3": "aws",
    "gs": "gcp",
    "azure": "azure",
    "azure-storage": "azure",
    "azure-blob": "azure",
    "azure-stores": "azure",
}
STORES = "azure-stores"
"""The files of all stores of a database, instead of a backup."""
_ACCOUNT = "AZURE_ACCOUNT_NAME"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,221}")
_ACCOUNT_NAME = re.compile(r"[A-Za-z0-9-]{1,63}")
"""One label of a host's name."""


@dataclass(frozen=True)
class Bucket:
    """A folder in a bucket, or in a container of a storage account."""

    provider: str
    name: str
    folder: str
    """Without slashes at its ends; empty: the whole bucket."""
    account: str = ""
    """The storage account on Azure; empty elsewhere."""
    holds_stores: bool = False
    """Its data sets are the files of all stores, with every copy of the data."""

    def __str__(self) -> str:
        """'aws bucket/folder'."""
        return " ".join((self.provider, "/".join(filter(None, (self.account, self.name, self.folder)))))


def bucket_of(address: str) -> Bucket | None:
    """Where an address points to; None: not to a cloud's object storage, or not completely.

    An account becomes part of a host's name, to which credentials are sent, so it may be nothing else.
    """
    parts = urlsplit(address)
    provider = _OF_SCHEME.get(parts.scheme)
    if provider is None:
        return None
    name, folder, account = parts.netloc, parts.path.strip("/"), parse_qs(parts.query).get(_ACCOUNT, [""])[0]
    if parts.scheme == STORES:
        account = parts.netloc
        name, _, folder = folder.partition("/")
    if not _BUCKET.fullmatch(name) or (provider == "azure" and not _ACCOUNT_NAME.fullmatch(account)):
        return None
    return Bucket(provider, name, folder, account, holds_stores=parts.scheme == STORES)


THIS_MACHINE = "localhost"
_LOOPBACK = frozenset({THIS_MACHINE, "127.0.0.1", "::1"})
_SCHEMES = ("postgresql://", "postgres://")
MYSQL_SCHEMES = ("mysql://", "mariadb://")
_EXPECTED = "is not the address of a server; expected: postgresql://user@host:port/database"
_OTHER_SCHEME = (
    "has a scheme other than postgresql:// and mysql://: a server of your own must speak PostgreSQL's or MySQL's "
    "protocol; Valkey, CockroachDB and Aerospike are measured where nephoscope starts them (`system` without `dsn`)"
)
_SERVICE = (
    "names a service of pg_service.conf: write its host, port, database and TLS parameters instead. A study says which "
    "server its trials are of; by a file that changes, or is another user's, the same trials would have another one"
)
_NAME = re.compile(r"[^\s/?#\x00-\x1f\x7f]{0,63}")
"""A role or a database, decoded; PostgreSQL cuts names after 63 bytes."""
_FILE = re.compile(r"[^\x00-\x1f\x7f]{1,4096}")
_METHOD = "(?:password|md5|gss|sspi|scram-sha-256|oauth|none)"
_MYSQL_PARAMETERS: Mapping[str, re.Pattern[str]] = {
    "socket": re.compile(r"/[^\x00-\x1f\x7f]{0,100}"),
    "connect-timeout": re.compile(r"[1-9][0-9]{0,5}"),
    "ssl-mode": re.compile("DISABLED|PREFERRED|REQUIRED|VERIFY_CA|VERIFY_IDENTITY"),
    **dict.fromkeys(("ssl-ca", "ssl-cert", "ssl-key", "server-public-key-path"), _FILE),
    "get-server-public-key": re.compile("true|false"),
}
"""The same for MySQL's protocol, by the names of its clients."""
_PARAMETERS: Mapping[str, re.Pattern[str]] = {
    "user": _NAME,
    "connect_timeout": re.compile(r"[1-9][0-9]{0,5}"),
    "target_session_attrs": re.compile("any|read-write|read-only|primary|standby"),
    "sslmode": re.compile("disable|allow|prefer|require|verify-ca|verify-full"),
    "sslnegotiation": re.compile("postgres|direct"),
    "channel_binding": re.compile("disable|prefer|require"),
    "require_auth": re.compile(rf"{_METHOD}(,{_METHOD})*|!{_METHOD}(,!{_METHOD})*"),
    "sslrootcert": _FILE,
    "sslcert": _FILE,
    "sslkey": _FILE,
    "host": re.compile(r"/[^\x00-\x1f\x7f,]{0,100}"),
    "port": re.compile(r"[1-9][0-9]{0,4}"),
}
"""What may follow the question mark: what the load generator takes, which a test of the contract compares. `host` names
only the folder of a socket, as another host would redirect the address; settings belong in `settings`."""
_ENCRYPTED = frozenset({"require", "verify-ca", "verify-full"})
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def problem_of(dsn: str) -> str | None:
    """Why an address may not be in a study, without any of its text; None: it may.

    Allowed is `postgresql://[user@]host[:port][,host[:port]…][/database][?parameters]`, with the folder of a socket as
    the parameter `host` instead of all hosts; or `mysql://user@host[:port]/database[?parameters]`, with the parameter
    `socket` instead of the host.
    """
    scheme, mark, _ = dsn.partition("://")
    if f"{scheme}://" in MYSQL_SCHEMES:
        return _problem_of_mysql(dsn)
    if mark and scheme.isalpha() and f"{scheme}://" not in _SCHEMES:
        return _OTHER_SCHEME
    return _problem_of_postgres(dsn)


def _parts(dsn: str) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Its parameters, its user and database, and its hosts.

    Raises:
        ValueError: it is no URL, or has a wrong escape or host.
    """
    parts = urlsplit(dsn)
    given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), errors="strict")
    userinfo, _, place = parts.netloc.rpartition("@")
    names = [unquote(one, errors="strict") for one in (userinfo.removesuffix(":"), parts.path.removeprefix("/"))]
    return given, names, _hosts(place)


def _problem_of_postgres(dsn: str) -> str | None:
    try:
        given, names, hosts = _parts(dsn)
    except ValueError:
        return _EXPECTED
    parameters = dict(given)
    has_place = bool(hosts) or "host" in parameters
    if "service" in parameters or not dsn.isprintable() or not dsn.startswith(_SCHEMES) or not has_place:
        return _SERVICE if "service" in parameters else _EXPECTED
    if "#" in dsn or _BAD_ESCAPE.search(dsn) or not all(_NAME.fullmatch(name) for name in names):
        return f"has text that is not part of an address; {_EXPECTED.partition('; ')[2]}"
    if any(name not in _PARAMETERS or not _PARAMETERS[name].fullmatch(value) for name, value in given):
        return (
            f"has a parameter after `?` that a study may not hold, or a wrong value; allowed: "
            f"{', '.join(_PARAMETERS)}; settings of a server belong in `settings`"
        )
    return _problem_of_hosts(hosts, parameters) or _problem_of_parameters(parameters)


def _problem_of_mysql(dsn: str) -> str | None:
    expected = "is not the address of a server; expected: mysql://user@host:port/database"
    try:
        given, names, hosts = _parts(dsn)
    except ValueError:
        return expected
    if "#" in dsn or _BAD_ESCAPE.search(dsn) or not dsn.isprintable() or not all(map(_NAME.fullmatch, names)):
        return f"has text that is not part of an address; {expected.partition('; ')[2]}"
    if not all(names) or bool(hosts) == ("socket" in dict(given)):
        return expected
    if len(hosts) > 1:
        return "names several hosts, but a trial measures one server: name one of them"
    return _problem_of_mysql_parameters(given)


def _problem_of_mysql_parameters(given: Sequence[tuple[str, str]]) -> str | None:
    parameters = dict(given)
    if any(name not in _MYSQL_PARAMETERS or not _MYSQL_PARAMETERS[name].fullmatch(value) for name, value in given):
        return (
            "has a parameter after `?` that a study may not hold, or a wrong value; allowed: "
            f"{', '.join(_MYSQL_PARAMETERS)}"
        )
    if ("ssl-cert" in parameters) != ("ssl-key" in parameters):
        return "has only one of `ssl-cert` and `ssl-key`, which go together: give both or none"
    if parameters.get("ssl-mode", "").startswith("VERIFY") and "ssl-ca" not in parameters:
        return "has an `ssl-mode` that verifies, which needs `ssl-ca`"
    return None


def _hosts(place: str) -> list[str]:
    """The hosts of an address's authority without the user; none for a socket.

    Raises:
        ValueError: one is none, or has no port that could be.
    """
    if not place:
        return []
    hosts = [urlsplit(f"//{one}") for one in place.split(",")]
    if set(place) & set("/%") or not all(one.hostname and (one.port is None or one.port > 0) for one in hosts):
        raise ValueError("not hosts")
    return [str(one.hostname) for one in hosts]


def _problem_of_hosts(hosts: Sequence[str], parameters: Mapping[str, str]) -> str | None:
    """What does not fit together of an address's hosts."""
    if hosts and parameters.keys() & {"host", "port"}:
        return "names a host before the `?`, so that `host` and `port` after it are too many: remove one of the two"
    if len(hosts) > 1 and parameters.get("target_session_attrs") not in {"read-write", "primary"}:
        return (
            "names several hosts, of which a trial needs the one that takes writes: add `target_session_attrs=primary`"
        )
    return None


def _problem_of_parameters(parameters: Mapping[str, str]) -> str | None:
    """What does not fit together of an address's parameters."""
    if ("sslcert" in parameters) != ("sslkey" in parameters):
        return "has only one of `sslcert` and `sslkey`, which go together: give both or none"
    if parameters.get("sslrootcert") == "system" and parameters.get("sslmode", "verify-full") != "verify-full":
        return "has `sslrootcert=system`, which needs `sslmode=verify-full`"
    methods = parameters.get("require_auth", "").split(",")
    if len(set(methods)) < len(methods):
        return "names a method twice in `require_auth`"
    if parameters.get("sslnegotiation") == "direct" and parameters.get("sslmode") not in _ENCRYPTED:
        return "has `sslnegotiation=direct`, which needs `sslmode=require`, `verify-ca` or `verify-full`"
    return None


def server_hosts(dsn: str) -> frozenset[str]:
    """The hosts of an address; all ways to name this machine are `THIS_MACHINE`."""
    hosts = _hosts(urlsplit(dsn).netloc.rpartition("@")[2]) or [THIS_MACHINE]
    return frozenset(THIS_MACHINE if host in _LOOPBACK else host for host in hosts)


def without_password(dsn: str) -> str:
    """An address as messages show it."""
    parts = urlsplit(dsn)
    if parts.password is None:
        return dsn
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")))
