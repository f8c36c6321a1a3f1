"""A container of Azure's blob storage, and tokens of a machine's identity, as Azure's documentation describes them."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock
from urllib.parse import parse_qs, unquote, urlsplit

from nephoscope.databases.cockroachdb import copies

CHANGED = "<Last-Modified>Sun, 22 Nov 2026 01:40:00 GMT</Last-Modified>"


@dataclass
class Blobs:
    """A container, as Azure's documentation describes it, that lists two blobs a page and is busy at first."""

    url: str = ""
    held: dict[str, bytes] = field(default_factory=dict)
    busy: int = 0
    refuses: bool = False


def md5_of(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()


def listed(name: str, body: bytes) -> str:
    size = f"<Content-Length>{len(body)}</Content-Length>"
    return f"<Blob><Name>{name}</Name><Properties>{CHANGED}{size}</Properties></Blob>"


def handler_of(found: Blobs) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one method for each verb
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def name(self) -> str:
            return unquote(urlsplit(self.path).path).removeprefix("/container").lstrip("/")

        def do_GET(self) -> None:
            if self.path == "/tokens":
                assert self.headers["Metadata"] == "true"
                return self.answer(200, json.dumps({"access_token": "t"}).encode())
            if found.refuses or self.headers["Authorization"] != "Bearer t":
                return self.answer(403)
            if found.busy:
                found.busy -= 1
                return self.answer(503)
            query = parse_qs(urlsplit(self.path).query)
            if "comp" not in query:
                body = found.held[self.name()]
                return self.answer(200, body, Content_MD5=md5_of(body))
            names = sorted(name for name in found.held if name.startswith(query["prefix"][0]))
            begin = int(query.get("marker", ["0"])[0])
            page = "".join(listed(name, found.held[name]) for name in names[begin : begin + 2])
            after = str(begin + 2) if begin + 2 < len(names) else ""
            text = f"<EnumerationResults><Blobs>{page}</Blobs><NextMarker>{after}</NextMarker></EnumerationResults>"
            return self.answer(200, text.encode())

        def do_DELETE(self) -> None:
            refused = found.refuses or self.headers["Authorization"] != "Bearer t"
            self.answer(403 if refused else 404 if found.held.pop(self.name(), None) is None else 202)

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-MD5"] == md5_of(body)
            assert self.headers["x-ms-blob-type"] == "BlockBlob"
            found.held[self.name()] = body
            self.answer(201)

    return Handler


@contextmanager
def blob_storage() -> Iterator[Blobs]:
    """A server in place of Azure's, for everything that `copies` copies."""
    found = Blobs()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(found))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    try:
        with mock.patch.multiple(copies, STORAGE=found.url, TOKENS=f"{found.url}/tokens"):
            yield found
    finally:
        server.shutdown()
        server.server_close()
