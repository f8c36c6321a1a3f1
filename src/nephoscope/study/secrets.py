"""Finds passwords and keys in addresses, so that no study, plan or trial ever stores one."""

import re
from urllib.parse import parse_qsl, unquote, urlsplit

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
