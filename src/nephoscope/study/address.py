"""Which connection strings a study may hold: `psql` and the load generator must interpret them identically.

A study is stored and shared, so an address holds known parts only: nobody can tell whether other text is a secret.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

THIS_MACHINE = "localhost"
_LOOPBACK = frozenset({THIS_MACHINE, "127.0.0.1", "::1"})
_SCHEMES = ("postgresql://", "postgres://")
_EXPECTED = "is not the address of one server reached over TCP; expected: postgresql://user@host:port/database"
_NAME = re.compile(r"[^\s/?#\x00-\x1f\x7f]{0,63}")
"""A role or a database, decoded; PostgreSQL cuts names after 63 bytes."""
_FILE = re.compile(r"[^\x00-\x1f\x7f]{1,4096}")
_PARAMETERS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "user": _NAME,
        "connect_timeout": re.compile(r"[1-9][0-9]{0,5}"),
        "target_session_attrs": re.compile("any|read-write|read-only|primary|standby"),
        "sslmode": re.compile("disable|allow|prefer|require|verify-ca|verify-full"),
        "channel_binding": re.compile("disable|prefer|require"),
        "sslrootcert": _FILE,
        "sslcert": _FILE,
        "sslkey": _FILE,
    }
)
"""What may follow the question mark: what both `psql` and the load generator take, which a test of the contract
compares. `host` and the like would redirect the address, and settings belong in `settings`."""
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def problem_of(dsn: str) -> str | None:
    """Why an address may not be in a study, without any of its text; None: it may.

    Allowed is `postgresql://[user@]host[:port][/database][?parameters]` with one host that is not a socket's folder.
    """
    try:
        parts = urlsplit(dsn)
        port_fits = parts.port is None or parts.port > 0
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), errors="strict")
        userinfo, _, place = parts.netloc.rpartition("@")
        names = [unquote(one, errors="strict") for one in (userinfo.removesuffix(":"), parts.path.removeprefix("/"))]
    except ValueError:
        return _EXPECTED
    one_host = bool(parts.hostname) and not set(place) & set(",/%")
    if not dsn.isprintable() or not dsn.startswith(_SCHEMES) or not port_fits or not one_host:
        return _EXPECTED
    if "#" in dsn or _BAD_ESCAPE.search(dsn) or not all(_NAME.fullmatch(name) for name in names):
        return f"has text that is not part of an address; {_EXPECTED.partition('; ')[2]}"
    if any(name not in _PARAMETERS or not _PARAMETERS[name].fullmatch(value) for name, value in given):
        return (
            f"has a parameter after `?` that a study may not hold, or a wrong value; allowed: "
            f"{', '.join(_PARAMETERS)}; settings of a server belong in `settings`"
        )
    return _problem_of_certificates(dict(given))


def _problem_of_certificates(parameters: Mapping[str, str]) -> str | None:
    """What does not fit together of an address's parameters."""
    if ("sslcert" in parameters) != ("sslkey" in parameters):
        return "has only one of `sslcert` and `sslkey`, which go together: give both or none"
    if parameters.get("sslrootcert") == "system" and parameters.get("sslmode", "verify-full") != "verify-full":
        return "has `sslrootcert=system`, which needs `sslmode=verify-full`"
    return None


def server_host(dsn: str) -> str:
    """The host of an address; all ways to name this machine are `THIS_MACHINE`."""
    host = urlsplit(dsn).hostname
    return THIS_MACHINE if host is None or host in _LOOPBACK else host


def without_password(dsn: str) -> str:
    """An address as messages show it."""
    parts = urlsplit(dsn)
    if parts.password is None:
        return dsn
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")))
