"""Addresses of object storage, as `database.fixtures` writes them. Pure."""

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
    """Where an address points to; None: not to a cloud's object storage, or not completely."""
    parts = urlsplit(address)
    provider = _OF_SCHEME.get(parts.scheme)
    path = parts.path.strip("/")
    if provider is None or not parts.netloc:
        return None
    if parts.scheme == STORES:
        container, _, folder = path.partition("/")
        return Bucket(provider, container, folder, parts.netloc, holds_stores=True) if container else None
    account = parse_qs(parts.query).get(_ACCOUNT, [""])[0]
    if provider == "azure" and not account:
        return None
    return Bucket(provider, parts.netloc, path, account)
