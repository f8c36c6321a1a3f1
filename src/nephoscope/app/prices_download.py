"""Downloads price lists from the providers. `prices` reads them, without a network.

Each list becomes one file, as the provider sent it; a list of answers where it comes in pages.
"""

import json
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nephoscope.app.bounded_get import Allowance, get_json, same_place
from nephoscope.model.errors import InputError, TargetUnreachable
from nephoscope.store.atomic import write_text

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
