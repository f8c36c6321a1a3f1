"""Copies a folder to Azure's blob storage, or back, as the identity of the machine that it runs on.

It is not imported but sent to a database machine: Python 3.8, and its standard library alone. Written from Azure's
documentation of its REST API (Put Blob, Get Blob, List Blobs) and of managed identities.

    python3 -c TEXT up|down|look STORAGE TOKENS PREFIX FOLDER

A copy counts once the blob PREFIX.complete exists, which comes last; `look` says whether it does.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Callable, Mapping, TypeVar  # noqa: UP035 - Python 3.8
from xml.etree import ElementTree

Result = TypeVar("Result")

AT_ONCE = 16
TRIES = 6
TIMEOUT_S = 300
TOKEN_LASTS_S = 1000.0
PART_BYTES = 1 << 20


class Storage:
    """One container."""

    def __init__(self, url: str, tokens: str) -> None:
        self._url = url
        self._tokens = tokens
        self._token = ""
        self._until_s = 0.0
        self._lock = threading.Lock()

    def put(self, name: str, file: Path) -> None:
        """Stores a file; the storage compares its MD5."""
        digest = hashlib.md5()  # noqa: S324 - the one that the storage compares
        with file.open("rb") as source:
            for part in iter(lambda: source.read(PART_BYTES), b""):
                digest.update(part)
        more = {
            "x-ms-blob-type": "BlockBlob",
            "Content-Length": str(file.stat().st_size),
            "Content-MD5": base64.b64encode(digest.digest()).decode(),
        }

        def send() -> None:
            with file.open("rb") as source, self._open("PUT", name, more, source):
                pass

        patiently(send)

    def get(self, name: str, file: Path) -> None:
        """Fetches a blob into a file, whose MD5 must be the stored one."""

        def fetch() -> None:
            digest = hashlib.md5()  # noqa: S324 - the one that the storage compares
            with self._open("GET", name, {}) as answer, file.open("wb") as target:
                for part in iter(lambda: answer.read(PART_BYTES), b""):
                    digest.update(part)
                    target.write(part)
                stored = answer.headers.get("Content-MD5")
            if stored and stored != base64.b64encode(digest.digest()).decode():
                raise OSError(f"{name} is damaged")

        file.parent.mkdir(parents=True, exist_ok=True)
        patiently(fetch)

    def names(self, prefix: str) -> list[str]:
        """Of all blobs that start so."""
        found: list[str] = []
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list", "prefix": prefix, "marker": marker}
            listed = patiently(lambda: self._list(query))  # noqa: B023 - called at once
            found += [name.text or "" for name in listed.iter("Name")]
            marker = listed.findtext("NextMarker") or ""
            if not marker:
                return found

    def _list(self, query: dict[str, str]) -> ElementTree.Element:
        with self._open("GET", "", {}, query=query) as answer:
            return ElementTree.fromstring(answer.read())  # noqa: S314 - the account's own storage, over TLS

    def _open(
        self,
        method: str,
        name: str,
        more: Mapping[str, str],
        body: BinaryIO | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        path = f"/{urllib.parse.quote(name)}" if name else ""
        url = f"{self._url}{path}?{urllib.parse.urlencode(query)}" if query else f"{self._url}{path}"
        headers = {"Authorization": f"Bearer {self._bearer()}", "x-ms-version": "2021-12-02", **more}
        asked = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310 - https, or a test
        return urllib.request.urlopen(asked, timeout=TIMEOUT_S)  # noqa: S310

    def _bearer(self) -> str:
        with self._lock:
            if time.monotonic() > self._until_s:
                asked = urllib.request.Request(self._tokens, headers={"Metadata": "true"})  # noqa: S310
                with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:  # noqa: S310
                    self._token = json.loads(answer.read())["access_token"]
                self._until_s = time.monotonic() + TOKEN_LASTS_S
            return self._token


def patiently(action: Callable[[], Result]) -> Result:
    """The result of an action, which is tried again unless it was refused."""
    for number in range(TRIES):
        try:
            return action()
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):
                raise
        except OSError:
            if number == TRIES - 1:
                raise
        time.sleep(2**number)
    return action()


def main(verb: str, url: str, tokens: str, prefix: str, folder: str) -> int:
    """Copies, or looks. Returns an exit code."""
    storage, here = Storage(url, tokens), Path(folder)
    part = here.with_name(f"{here.name}.part")
    if verb == "look":
        there = f"{prefix}.complete" in storage.names(f"{prefix}.complete")
        sys.stdout.write("stored" if there else "missing")
        return 0
    if verb == "up":
        files = [file for file in here.rglob("*") if file.is_file()]
        jobs = [(storage.put, f"{prefix}/{file.relative_to(here).as_posix()}", file) for file in files]
    else:
        names = storage.names(f"{prefix}/")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        jobs = [(storage.get, name, part / name[len(prefix) + 1 :]) for name in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(copy, name, file) for copy, name, file in jobs]:
            done.result()
    if verb == "up":
        mark = here.with_name(f"{here.name}.complete")
        mark.write_text(str(len(jobs)))
        storage.put(f"{prefix}.complete", mark)
        mark.unlink()
    else:
        part.rename(here)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
