"""Which connection strings a study may hold: `psql` and the load generator must interpret them identically."""

from urllib.parse import parse_qs, urlsplit, urlunsplit

_SCHEMES = frozenset({"postgresql", "postgres"})
_ELSEWHERE = frozenset({"host", "hostaddr", "port", "dbname", "service"})
"""Query keys that would redirect an address to another server."""


def names_one_server(dsn: str) -> bool:
    """True for `postgresql://[user@]host[:port][/database]` with one host that is not a socket's folder."""
    try:
        parts = urlsplit(dsn)
        valid_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    one_host = bool(parts.hostname) and not set(parts.netloc.rpartition("@")[2]) & set(",/%")
    return parts.scheme in _SCHEMES and valid_port and one_host and not _ELSEWHERE & set(parse_qs(parts.query))


def without_password(dsn: str) -> str:
    """An address as messages show it."""
    parts = urlsplit(dsn)
    if parts.password is None:
        return dsn
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")))
