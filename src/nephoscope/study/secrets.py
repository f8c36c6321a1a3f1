"""Finds passwords in connection strings, so that none is ever stored in a study, a plan or a trial."""

import re
from urllib.parse import unquote

_PASSWORD = re.compile(
    r"""
      ^\s*[a-z]+://[^@/]*:[^@/]+@              # user:password@ as libpq reads it
    | ^\s*[a-z]+://[^:@/?\#]*:[^@?]+@          # the same with a slash in the password, which libpq would refuse
    | (?:^|[\s?&])(?:ssl)?password\s*=\s*[^\s&]  # password=... in an address's query or between keywords
    """,
    re.VERBOSE | re.IGNORECASE,
)


def holds_password(dsn: str) -> bool:
    """True when a libpq connection string (address or keywords) holds a password; rather once too often than missed."""
    return any(_PASSWORD.search(text) for text in (dsn, unquote(dsn)))
