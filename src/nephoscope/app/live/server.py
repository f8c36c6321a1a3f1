"""Serves the live page and the reports of studies on loopback: only to this machine, and only to read."""

import base64
import hashlib
import os
import socket
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from nephoscope.app.live.state import Studies
from nephoscope.machines.loopback import V4, V6, in_url, loopback
from nephoscope.machines.loopback import listening as listening_at
from nephoscope.model.errors import EnvironmentProblem

_NAMES = ("localhost", V4, f"[{V6}]")
_READING = frozenset({"GET", "HEAD"})
FIRST_PAGE = "index.html"
"""Of a report; the module that defines it takes a second to load."""
_HERE = Path(__file__).parent
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
_RAW_POLICY = "sandbox; default-src 'none'"
"""A tool's output is data, whatever it looks like."""


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


def serve(studies: Studies, listening: socket.socket) -> None:
    """Serves until SIGINT or SIGTERM, which then takes its usual course."""
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        application(studies, port),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listening])


def application(studies: Studies, port: int) -> ASGIApp:
    """The page, its state, reports and raw output, behind the guard.

    Args:
        studies: what is served.
        port: of the socket, which a request must name.
    """
    html, policy = _page()

    def page(_: Request) -> Response:
        return HTMLResponse(html, headers={"content-security-policy": policy})

    def state(_: Request) -> Response:
        return JSONResponse(studies.state())

    def report(request: Request) -> Response:
        folder, name = studies.report_of(request.path_params["key"]), request.path_params["name"]
        if folder is None or name not in _files_in(folder):
            raise HTTPException(404, "no report has been drawn yet" if folder is None else "there is no such file")
        return FileResponse(folder / name)

    def to_report(request: Request) -> Response:
        return RedirectResponse(f"/studies/{request.path_params['key']}/report/{FIRST_PAGE}")

    routes = [
        Route("/", page),
        Route("/api/state", state),
        Route("/studies/{key}/report/", to_report),
        Route("/studies/{key}/report/{name}", report),
        *(Mount(f"/studies/{one.key}/trials", _RawOutput(one.index.folder.path, "trials")) for one in studies.served),
    ]
    return _Guard(Starlette(routes=routes), port)


def _files_in(folder: Path) -> set[str]:
    """Names of its files: a name that was asked for may be too long to look for, or no name at all."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    return set()


class _RawOutput(StaticFiles):
    """Files of one folder in a results folder; none outside the results folder, whatever links say."""

    def __init__(self, results: Path, name: str) -> None:
        super().__init__(directory=results / name, check_dir=False)
        self._results = results.resolve()

    @override
    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        found, stat = super().lookup_path(path)
        inside = stat is not None and Path(found).is_relative_to(self._results)
        return (found, stat) if inside else ("", None)

    @override
    def file_response(self, *arguments: object, **named: object) -> Response:
        response: Response = super().file_response(*arguments, **named)  # type: ignore[arg-type]  # passed on as it is
        response.headers["content-security-policy"] = _RAW_POLICY
        return response


class _Guard:
    """Lets through what reads and names this machine, so that no page of another site can ask in a browser's name."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        names = [f"{name}:{port}" for name in _NAMES]
        self._hosts = {*names, *(_NAMES if port == 80 else ())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is served, not {scope['type']}")
        answer = self._refusal(scope) or self._app
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("this server answers only to the names of this machine\n", 403)
        if scope["method"] not in _READING:
            return PlainTextResponse("this server only reads\n", 405, {"allow": "GET, HEAD"})
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_HEADERS]
        await send(message)

    return sending


def _page() -> tuple[str, str]:
    """The live page, and the policy that allows its own script and style and nothing else."""
    style, script, html = ((_HERE / name).read_text(encoding="utf-8") for name in ("live.css", "live.js", "live.html"))
    html = html.replace("/* style */", style).replace("/* script */", script)
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; connect-src 'self'"
    return html, f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
