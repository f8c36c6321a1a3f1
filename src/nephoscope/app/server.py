"""Serves reports of studies on loopback, only to this user of this machine, only to read; and writes missing ones."""

import base64
import hashlib
import mimetypes
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

import jinja2
from typing_extensions import override

from nephoscope.app.redraw import FIRST_PAGE, NICENESS, Phase, changed_ns, command, problem_of, written_ns
from nephoscope.app.stages.evaluation import stored_study
from nephoscope.app.stages.tracking import progress
from nephoscope.machines.loopback import V4, V6, in_url, loopback, user_of
from nephoscope.machines.loopback import listening as listening_at
from nephoscope.model.errors import EnvironmentProblem, NephoscopeError
from nephoscope.model.text import visible
from nephoscope.model.words import counted, left_in_words
from nephoscope.run.clock import Clock
from nephoscope.store.folder import ResultsFolder

REST = 20
"""How far a study is, is read again after this many times as long as it took: a big one takes a second."""


@dataclass(frozen=True)
class Shown:
    """One study as the list shows it."""

    key: int
    title: str
    folder: Path
    words: str
    """How far it is."""
    reported: bool
    """It has a report."""
    writing: bool
    """A report is being written."""
    problem: str
    """Why it could not be read, or its report not be written."""


class Shelf:
    """All studies that are served. Several threads may ask."""

    def __init__(self, folders: Sequence[ResultsFolder], clock: Clock) -> None:
        """Reads each study file.

        Raises:
            InputError, DamagedFile, NewerSchema: a folder cannot be read.
        """
        self._lock = threading.Lock()
        self._studies = {key: _Study(key, folder, clock) for key, folder in enumerate(folders, start=1)}

    def shown(self) -> list[Shown]:
        """Every study now; begins to write the reports that are missing or older than their trials."""
        with self._lock:
            return [study.shown() for study in self._studies.values()]

    def folder(self, key: int) -> ResultsFolder | None:
        """None: there is no such study."""
        study = self._studies.get(key)
        return None if study is None else study.folder

    def stop(self) -> None:
        """Ends what is being written."""
        with self._lock:
            for study in self._studies.values():
                study.stop()


class _Study:
    def __init__(self, key: int, folder: ResultsFolder, clock: Clock) -> None:
        study = stored_study(folder)
        self._key = key
        self.folder = folder
        self._title = study.title or study.name
        self._clock = clock
        self._writing: tuple[subprocess.Popen[bytes], IO[bytes]] | None = None
        self._written_of_ns = 0
        """The last change that the report which is, or was, being written has."""
        self._problem = ""
        self._words = ""
        self._words_due_s = clock.monotonic_s()

    def shown(self) -> Shown:
        try:
            words, problem = self._now(), ""
            self._poll()
        except (NephoscopeError, OSError) as error:
            words, problem = "", str(error)
        return Shown(
            key=self._key,
            title=self._title,
            folder=self.folder.path,
            words=words,
            reported=written_ns(self.folder) > 0,
            writing=self._writing is not None,
            problem=problem or self._problem,
        )

    def stop(self) -> None:
        if self._writing is not None:
            process, stderr = self._writing
            process.terminate()
            process.wait()
            stderr.close()

    def _poll(self) -> None:
        if self._writing is not None:
            process, stderr = self._writing
            if process.poll() is None:
                return
            stderr.seek(0)
            self._problem = problem_of(process.returncode, stderr.read())
            stderr.close()
            self._writing = None
        last_ns = changed_ns(self.folder)
        # A run writes the report itself, when that disturbs no trial.
        if last_ns > max(written_ns(self.folder), self._written_of_ns) and not self.folder.in_use():
            self._written_of_ns = last_ns
            stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the process has ended
            process = subprocess.Popen(
                command(self.folder.path, Phase.ENDED, NICENESS),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,  # Ctrl-C is for the server, which stops it
            )
            self._writing = process, stderr

    def _now(self) -> str:
        """'running; 5 of 8 trials ended: 4 done, 1 invalid, 3 planned; about 3 min left'."""
        begun_s = self._clock.monotonic_s()
        if begun_s >= self._words_due_s:
            found, in_use = progress(self.folder, self._clock.unix_ms()), self.folder.in_use()
            complete = found.ended == len(found.states)
            parts = ["running" if in_use else "complete" if complete else "not running"]
            parts.append(f"{found.ended:,} of {counted(len(found.states), 'trial')} ended: {found.words}")
            if in_use and found.left_s:
                parts.append(left_in_words(found.left_s))
            self._words = "; ".join(parts)
            now_s = self._clock.monotonic_s()
            self._words_due_s = now_s + REST * (now_s - begun_s)
        return self._words


MAX_CONNECTIONS = 32
"""More at once are closed."""
MAX_REQUEST_BYTES = 65536
"""Of a request line with its headers."""
REQUEST_S = 10.0
"""Time in which a request must be there, and a part of an answer be taken."""
RELOAD_S = 3
"""The list of studies is loaded again after it."""
_NAMES = ("localhost", V4, f"[{V6}]")
_NO_HEADERS: Mapping[str, str] = {}
_READING = frozenset({"GET", "HEAD"})
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_RAW_POLICY = "sandbox; default-src 'none'"
"""A tool's output is data, whatever it looks like."""
_REPORT_POLICY = "sandbox allow-scripts allow-downloads allow-modals allow-popups; connect-src 'none'"
"""A report may come from anybody, too: its scripts run, but have no origin, and so cannot read the other studies."""
_OF_STUDY = re.compile(r"/studies/(?P<key>[1-9]\d{0,5})/(?P<room>report|trials)/(?P<rest>.*)", re.DOTALL)
_STYLE = (
    ":root { color-scheme: light dark; --ink: #14181f; --paper: #fff; --link: #2a5d8f; } "
    "@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf0; --paper: #12151a; --link: #8fbce8; } } "
    "body { margin: 0 auto; max-width: 46rem; padding: 1rem; font: 1rem/1.45 system-ui, sans-serif; "
    "color: var(--ink); background: var(--paper); overflow-wrap: anywhere; } a { color: var(--link); } "
    "h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 1.5rem 0 0.3rem; } p { margin: 0 0 0.3rem; }"
)
_LIST = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nephoscope: studies</title>
<style>{{ style }}</style>
</head>
<body>
<main>
<h1>Studies</h1>
{% for study in studies %}
<h2>{% if study.reported %}<a href="/studies/{{ study.key }}/report/">{{ study.title }}</a>
{% else %}{{ study.title }}{% endif %}</h2>
<p>{{ study.folder }}</p>
{% if study.words %}<p>{{ study.words }}</p>{% endif %}
{% if study.problem %}<p>A problem: {{ study.problem }}</p>
{% elif study.writing %}<p>The report is being written.</p>
{% elif not study.reported %}<p>There is no report yet; the run writes it when a block has ended.</p>{% endif %}
{% endfor %}
</main>
</body>
</html>
"""


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes a free one.

    Raises:
        EnvironmentProblem: the port is taken, or may not be used.
    """
    try:
        return listening_at(loopback(), port)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot listen on {in_url(loopback())}:{port}: {os.strerror(error.errno or 0)}",
            hint="choose another port with --port; --port 0 picks a free one",
        ) from error


def serve(shelf: Shelf, listening: socket.socket) -> None:
    """Serves until an exception of a signal ends it."""
    Server(shelf, listening).serve_forever()


class Server(ThreadingHTTPServer):
    """The list of studies, their reports and raw output, one thread a connection."""

    daemon_threads = True

    def __init__(self, shelf: Shelf, listening: socket.socket) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.shelf = shelf
        port = listening.getsockname()[1]
        by_sudo = os.environ.get("SUDO_UID", "")
        self.users = {0, os.getuid(), *map(int, filter(str.isdecimal, [by_sudo]))}
        """Who is answered: other users of this machine need not be allowed to read the folders."""
        self.hosts = {*(f"{name}:{port}" for name in _NAMES), *(_NAMES if port == 80 else ())}
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)

    @override
    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    @override
    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    @override
    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """A connection that broke is nobody's concern."""


class _Bounded(BufferedIOBase):
    """The lines of a request, as far as it may be long."""

    def __init__(self, file: BufferedIOBase) -> None:
        self._file = file
        self._left = MAX_REQUEST_BYTES

    @override
    def readline(self, size: int | None = -1) -> bytes:
        line = self._file.readline(self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("request")
        return line

    @override
    def close(self) -> None:
        self._file.close()


class _Handler(BaseHTTPRequestHandler):
    """One request; its connection then ends."""

    server: Server
    timeout = REQUEST_S

    @override
    def setup(self) -> None:
        super().setup()
        self.rfile = _Bounded(self.rfile)
        self._late = threading.Timer(REQUEST_S, self._give_up)
        self._late.daemon = True
        self._late.start()

    @override
    def finish(self) -> None:
        self._late.cancel()
        super().finish()

    @override
    def parse_request(self) -> bool:
        """Lets through what reads and names this machine: no page of another site may ask in a browser's name."""
        parsed = super().parse_request()
        self._late.cancel()
        if not parsed:
            return False
        hosts = [host.lower() for host in self.headers.get_all("Host", [])]
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "this server answers only to the names of this machine")
        elif user_of(self.connection) not in {None, *self.server.users}:
            self._refuse(HTTPStatus.FORBIDDEN, "this server answers only the user who started it")
        elif self.command not in _READING:
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "this server only reads", {"Allow": "GET, HEAD"})
        else:
            return True
        return False

    def do_HEAD(self) -> None:
        """As GET, without the content."""
        self.do_GET()

    def do_GET(self) -> None:
        """The list, a redirection, or a file."""
        try:
            path = unquote(urlsplit(self.path).path)
        except ValueError:
            path = ""
        found = _OF_STUDY.fullmatch(path)
        if path == "/":
            self._send_list()
            return
        folder = self.server.shelf.folder(int(found["key"])) if found else None
        if folder is None or found is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        elif found["room"] == "report" and not found["rest"]:
            self._redirect(int(found["key"]))
        else:
            root = folder.report_dir if found["room"] == "report" else folder.path / "trials"
            self._send_file(folder.path, root, found["rest"], raw=found["room"] == "trials")

    @override
    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Of the base class, without its texts: they show the request."""
        self._refuse(code, HTTPStatus(code).phrase)

    @override
    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        super().end_headers()

    @override
    def version_string(self) -> str:
        return "nephoscope"

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: a person reads the terminal."""

    def _send_list(self) -> None:
        studies = self.server.shelf.shown()
        if len(studies) == 1 and studies[0].reported and not studies[0].writing and not studies[0].problem:
            self._redirect(studies[0].key)
            return
        page = visible(_template().render(studies=studies, style=_STYLE)).encode()
        style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
        headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "Refresh": str(RELOAD_S)}
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", page, headers)

    def _redirect(self, key: int) -> None:
        to = {"Location": f"/studies/{key}/report/{FIRST_PAGE}"}
        self._send(HTTPStatus.TEMPORARY_REDIRECT, "text/plain; charset=utf-8", b"", to)

    def _send_file(self, results: Path, root: Path, name: str, *, raw: bool) -> None:
        """A file below `root`, and none outside the results folder, whatever links say."""
        path = _file_below(results, root, name)
        try:
            file = path.open("rb") if path else None
        except OSError:
            file = None
        if file is None or path is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such file")
            return
        with file:
            of = os.fstat(file.fileno())
            kind = mimetypes.guess_type(path.name)[0] or "text/plain"
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
            self.send_header("Content-Length", str(of.st_size))
            self.send_header("Last-Modified", formatdate(of.st_mtime, usegmt=True))
            self.send_header("Content-Security-Policy", _RAW_POLICY if raw else _REPORT_POLICY)
            self.end_headers()
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    def _refuse(self, code: int, text: str, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        self._send(code, "text/plain; charset=utf-8", f"{text}\n".encode(), headers)

    def _send(self, code: int, kind: str, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _give_up(self) -> None:
        with suppress(OSError):  # it has just ended
            self.connection.shutdown(socket.SHUT_RDWR)


def _file_below(results: Path, root: Path, name: str) -> Path | None:
    """None: there is none, it is no plain file, or a link or `..` leads outside."""
    if "\0" in name or name.startswith("/") or ".." in name.split("/"):
        return None
    inside = results.resolve() / root.relative_to(results)
    try:
        path = (root / name).resolve(strict=True)
        return path if path.is_relative_to(inside) and path.is_file() else None
    except (OSError, RuntimeError):
        return None


@cache
def _template() -> jinja2.Template:
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(_LIST)
