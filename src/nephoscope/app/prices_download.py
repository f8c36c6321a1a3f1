"""Downloads price lists from the providers. `prices` reads them, without a network.

Each list becomes one file, as the provider sent it; a list of answers where it comes in pages.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nephoscope.model.errors import InputError, TargetUnreachable
from nephoscope.store.atomic import write_text

TIMEOUT_S = 60
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
    "aws": PriceList("aws", "https://pricing.us-east-1.amazonaws.com", "no account; some 100 MB for each region"),
    "azure": PriceList("azure", "https://prices.azure.com", "no account"),
    "gcp": PriceList("gcp-skus", "https://cloudbilling.googleapis.com", "an API key in GCP_API_KEY"),
}


def download(provider: str, region: str, file: Path, *, base: str | None = None, key: str | None = None) -> str:
    """Saves the list of one region in `file`; returns the name of the importer that reads it.

    Raises:
        InputError: no such provider, or GCP without a key.
        TargetUnreachable: no network, or an answer that is not JSON.
        StorageFailed: the file cannot be written.
    """
    if provider not in LISTS:
        raise InputError(f"no price list for provider {provider!r}", hint=f"known providers: {', '.join(LISTS)}")
    known = LISTS[provider]
    address = (base or known.base).rstrip("/")
    if provider == "aws":
        content: Any = _json(f"{address}/offers/v1.0/aws/AmazonEC2/current/{urllib.parse.quote(region)}/index.json")
    elif provider == "azure":
        wanted = f"serviceName eq 'Virtual Machines' and armRegionName eq '{region}'"
        query = urllib.parse.urlencode({"api-version": "2023-01-01-preview", "$filter": wanted})
        content = _azure_pages(f"{address}/api/retail/prices?{query}", address)
    else:
        if not key:
            raise InputError("GCP's price list needs an API key", hint="set the environment variable GCP_API_KEY")
        content = _gcp_pages(f"{address}/v1/services/{GCP_COMPUTE}/skus?pageSize=5000", key)
    write_text(file, json.dumps(content, ensure_ascii=False))
    return known.importer


def _azure_pages(first: str, base: str) -> list[Any]:
    pages: list[Any] = []
    url: str | None = first
    while url and len(pages) < MAX_PAGES:
        if not url.startswith(base):
            raise TargetUnreachable(
                f"the next page of the list is on another server: {url}", hint="nothing was stored; check --base-url"
            )
        pages.append(_json(url))
        url = pages[-1].get("NextPageLink") if isinstance(pages[-1], dict) else None
    return pages


def _gcp_pages(first: str, key: str) -> list[Any]:
    pages: list[Any] = []
    token: str | None = ""
    while token is not None and len(pages) < MAX_PAGES:
        pages.append(_json(first + (f"&pageToken={urllib.parse.quote(token)}" if token else ""), key))
        token = (pages[-1].get("nextPageToken") if isinstance(pages[-1], dict) else None) or None
    return pages


def _json(url: str, key: str | None = None) -> Any:
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        raise InputError(f"not a web address: {url}")
    request = urllib.request.Request(url, headers={"X-Goog-Api-Key": key} if key else {})  # noqa: S310  # checked above
    hint = "check the network; `nephoscope prices import` reads a list that was downloaded elsewhere"
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  # checked above
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise TargetUnreachable(f"{url} answered {error.code} {error.reason}", hint=hint) from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        why = getattr(error, "reason", None) or error
        raise TargetUnreachable(f"cannot reach {url}: {why}", hint=hint) from error
    except ValueError as error:
        raise TargetUnreachable(f"{url} did not answer with JSON: {error}", hint=hint) from error
