"""Downloads price lists from the providers. `prices` reads them, without a network.

Each list becomes one file, as the provider sent it; a list of answers where it comes in pages.
"""

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import IO, Any

from typing_extensions import override

from nephoscope.model.errors import InputError, TargetUnreachable
from nephoscope.store.atomic import write_text

_SOCKET_TIMEOUT_S = 60.0
_CHUNK_BYTES = 1 << 20
_HINT = "check the network; `nephoscope prices import` reads a list that was downloaded elsewhere"


@dataclass
class Allowance:
    """What all answers of one download may take together."""

    most_bytes: int = 2 << 30
    """AWS's largest region is some 0.4 GB."""
    most_s: float = 1800.0
    monotonic_s: Callable[[], float] = time.monotonic
    _begun_s: float | None = field(default=None, init=False)

    def take(self, size: int, url: str) -> None:
        """Counts bytes that arrived.

        Raises:
            TargetUnreachable: they were too many, or took too long.
        """
        now_s = self.monotonic_s()
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        self.most_bytes -= size
        if self.most_bytes < 0:
            raise TargetUnreachable(f"{url} sent more data than any price list has; nothing was stored", hint=_HINT)
        if now_s - self._begun_s > self.most_s:
            raise TargetUnreachable(
                f"{url} took longer than {self.most_s / 60:.0f} minutes; nothing was stored", hint=_HINT
            )


def same_place(one: str, other: str) -> bool:
    """True if two addresses have the same scheme, host and port."""
    try:
        return _place(one) == _place(other)
    except ValueError:
        return False


def get_json(url: str, headers: Mapping[str, str], allowance: Allowance) -> Any:
    """The document at an address.

    Raises:
        InputError: it is not an address of the web.
        TargetUnreachable: no answer, no whole JSON document, too much of it, or a redirection to another server, which
            would get the headers.
    """
    _require_web(url)
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310  # checked above
    opener = urllib.request.build_opener(_SamePlace)
    try:
        allowance.take(0, url)
        with opener.open(request, timeout=_SOCKET_TIMEOUT_S) as answer:
            return json.loads(_whole(answer, url, allowance))
    except urllib.error.HTTPError as error:
        raise TargetUnreachable(f"{url} answered {error.code} {error.reason}", hint=_HINT) from error
    except http.client.HTTPException as error:  # of a connection that was closed too early, it is an OSError as well
        why = str(error) or type(error).__name__
        raise TargetUnreachable(f"the answer from {url} was incomplete: {why}", hint=_HINT) from error
    except OSError as error:
        cause = getattr(error, "reason", None) or error
        raise TargetUnreachable(f"cannot reach {url}: {cause}", hint=_HINT) from error
    except RecursionError as error:
        raise TargetUnreachable(f"{url} answered with JSON that is nested too deeply", hint=_HINT) from error
    except ValueError as error:
        raise TargetUnreachable(f"{url} did not answer with JSON: {error}", hint=_HINT) from error


class _SamePlace(urllib.request.HTTPRedirectHandler):
    """Follows a redirection on the same server only: urllib would send the API key along to any other."""

    @override
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if not same_place(req.full_url, newurl):
            raise TargetUnreachable(
                f"{req.full_url} redirects to another server: {newurl[:200]!r}; nothing was stored", hint=_HINT
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _whole(answer: http.client.HTTPResponse, url: str, allowance: Allowance) -> bytes:
    """All of an answer's body. A cut one is noticed by its length, which `read1` does not compare."""
    chunks: list[bytes] = []
    while chunk := answer.read1(_CHUNK_BYTES):
        allowance.take(len(chunk), url)
        chunks.append(chunk)
    body = b"".join(chunks)
    said = answer.headers.get("Content-Length")
    if said is not None and said.isdecimal() and len(said) < 20 and len(body) != int(said):
        raise http.client.IncompleteRead(body[:0], int(said) - len(body))
    return body


def _require_web(url: str) -> None:
    try:
        scheme, host, _ = _place(url)
    except ValueError as error:
        raise InputError(f"not a web address: {url[:200]!r}") from error
    if scheme not in {"http", "https"} or not host:
        raise InputError(f"not a web address: {url[:200]!r}")


def _place(url: str) -> tuple[str, str | None, int | None]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


MAX_PAGES = 2000
GCP_COMPUTE = "6F81-5844-456A"
"""Compute Engine, as the Cloud Billing Catalog names it."""


@dataclass(frozen=True)
class PriceList:
    """Where a provider's list is, and which importer reads it."""

    importer: str
    base: str
    """Start of its address; tests use a different one."""
    needs: str


LISTS = {
    "aws": PriceList("aws", "https://pricing.us-east-1.amazonaws.com", "no account; about 100 MB for each region"),
    "azure": PriceList("azure", "https://prices.azure.com", "no account"),
    "gcp": PriceList("gcp-skus", "https://cloudbilling.googleapis.com", "an API key in GCP_API_KEY"),
}


def download(provider: str, region: str, file: Path, *, base: str | None = None, key: str | None = None) -> str:
    """Saves the list of one region in `file`; returns the name of the importer that reads it.

    Raises:
        InputError: no such provider, or GCP without a key.
        TargetUnreachable: no network, or an answer that is no whole list; nothing was stored.
        StorageFailed: the file cannot be written.
    """
    if provider not in LISTS:
        raise InputError(f"no price list for provider {provider!r}", hint=f"known providers: {', '.join(LISTS)}")
    known, allowance = LISTS[provider], Allowance()
    address = (base or known.base).rstrip("/")
    if provider == "aws":
        url = f"{address}/offers/v1.0/aws/AmazonEC2/current/{urllib.parse.quote(region, safe='')}/index.json"
        content: Any = get_json(url, {}, allowance)
    elif provider == "azure":
        wanted = f"serviceName eq 'Virtual Machines' and armRegionName eq '{region}'"
        query = urllib.parse.urlencode({"api-version": "2023-01-01-preview", "$filter": wanted})
        content = _azure_pages(f"{address}/api/retail/prices?{query}", allowance)
    else:
        if not key:
            raise InputError("GCP's price list needs an API key", hint="set the environment variable GCP_API_KEY")
        content = _gcp_pages(f"{address}/v1/services/{GCP_COMPUTE}/skus?pageSize=5000", key, allowance)
    write_text(file, json.dumps(content, ensure_ascii=False))
    return known.importer


def _azure_pages(first: str, allowance: Allowance) -> list[Any]:
    def next_page(link: str) -> str:
        if not same_place(first, link):
            raise TargetUnreachable(
                f"the next page of the list is on another server: {link[:200]!r}",
                hint="nothing was stored; check --base-url",
            )
        return link

    return _pages(first, "NextPageLink", next_page, {}, allowance)


def _gcp_pages(first: str, key: str, allowance: Allowance) -> list[Any]:
    def next_page(token: str) -> str:
        return f"{first}&pageToken={urllib.parse.quote(token)}"

    return _pages(first, "nextPageToken", next_page, {"X-Goog-Api-Key": key}, allowance)


def _pages(
    first: str, key: str, next_page: Callable[[str], str], headers: Mapping[str, str], allowance: Allowance
) -> list[Any]:
    """All pages; the value of `key` names the next one."""
    pages: list[Any] = []
    seen: set[str] = set()
    url: str | None = first
    while url is not None:
        if url in seen or len(seen) >= MAX_PAGES:
            raise TargetUnreachable(
                f"the list at {first} does not end: page {len(seen) + 1} repeats an earlier one, or exceeds the limit",
                hint="nothing was stored; try again later",
            )
        seen.add(url)
        pages.append(get_json(url, headers, allowance))
        named = pages[-1].get(key) if isinstance(pages[-1], dict) else None
        url = next_page(named) if isinstance(named, str) and named else None
    return pages
