"""Addresses of object storage, as `database.fixtures` writes them. Pure."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

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
    """Of Azure."""
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
