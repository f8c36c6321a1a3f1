"""A small fake of Azure Resource Manager: real HTTP for the real SDKs, no account, failures on demand.

It keeps resources by their ids, refuses what Azure's models do not allow and what names another that is not there,
and begins what Azure takes its time for as an operation that is looked at twice. It knows neither sizes nor capacity:
other refusals are injected.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from nephoscope.providers.azure.cloud import Api, clients
from tests.support.definitions import of_azure

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
_FILTER = re.compile(r"tagName eq '(?P<name>(?:[^']|'')*)' and tagValue eq '(?P<value>(?:[^']|'')*)'")
_ID = re.compile(r'"(/subscriptions/[^"]+)"')
_OPERATION = "/operations/"


@dataclass(frozen=True)
class Refusal:
    """How a request fails: at once by an HTTP status, or after it was accepted."""

    code: str
    status: int = 409
    message: str = "injected"
    later: bool = False


def _size() -> dict[str, Any]:
    return {
        "name": "Standard_B2als_v2",
        "resourceType": "virtualMachines",
        "family": "standardBasv2Family",
        "capabilities": [{"name": "vCPUs", "value": "2"}],
        "restrictions": [],
    }


Refuse = Callable[[str, str, str], Refusal | None]
"""Method, kind ('virtualMachines') and name of what is asked for -> how it is refused; `None`: it is not."""


@dataclass
class FakeArm:
    """What there is. Ids are compared without case, as Azure does."""

    refuse: Refuse = lambda _method, _kind, _name: None
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    views: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """Statuses of machines that do not just run, by name."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of every request."""
    shows_all: bool = False
    """Lists show everything, whatever their filters say."""
    cores_limit: int = 10
    registration: str = "Registered"
    size: dict[str, Any] = field(default_factory=_size)
    """A machine size, as the subscription may use it."""
    _looks: dict[str, Iterator[dict[str, Any]]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> "Answer":
        """Of one request."""
        with self._lock:
            self.asked.append((method, path))
            if path.startswith(_OPERATION):
                return Answer(200, next(self._looks[path]))
            kind, name = _kind_and_name(path)
            refusal = self.refuse(method, kind, name)
            if refusal is not None and not refusal.later:
                return _error(refusal)
            complaints = of_azure(kind, body) if method == "PUT" else []
            if complaints:
                return _error(Refusal("InvalidParameter", 400, "; ".join(complaints)))
            match method:
                case "PUT":
                    return self._put(path, kind, name, body, refusal)
                case "DELETE":
                    return self._delete(path)
                case _:
                    return self._get(path, query)

    def names(self, kind: str) -> list[str]:
        """Of all resources of a kind ('disks')."""
        return sorted(one["name"] for path, one in self.resources.items() if _kind_and_name(path)[0] == kind.lower())

    def of(self, kind: str, name: str) -> dict[str, Any]:
        """One resource."""
        found = [one for path, one in self.resources.items() if _kind_and_name(path) == (kind.lower(), name)]
        return found[0]

    def _put(self, path: str, kind: str, name: str, body: Any, refusal: Refusal | None) -> "Answer":
        group = _group(path)
        if kind != "resourcegroups" and group not in self.resources:
            return _error(Refusal("ResourceGroupNotFound", 404))
        for named in _ID.findall(json.dumps(body.get("properties", {}))):
            source = self.resources.get(named.lower()) if "/snapshots/" in named else None
            if source is not None and source["properties"]["completionPercent"] < 100:
                return _error(Refusal("Conflict", 409, f"{named} is not complete"))
            if re.sub(r"/subnets/[^/]+$", "", named).lower() not in self.resources:
                return _error(Refusal("InvalidResourceReference", 400, f"{named} is not there"))
        made = {**body, "id": path, "name": name, "properties": dict(body.get("properties", {}))}
        self._fill_in(kind, made)
        self.resources[path.lower()] = made
        if kind != "virtualmachines":
            return Answer(200, made)
        end: dict[str, Any] = {"status": "Succeeded"}
        if refusal is not None:
            made["properties"]["provisioningState"] = f"Failed/{refusal.code}"
            end = {"status": "Failed", "error": {"code": refusal.code, "message": refusal.message}}
        return Answer(201, made, {"Azure-AsyncOperation": self._operation(end), "Retry-After": "0"})

    def _fill_in(self, kind: str, made: dict[str, Any]) -> None:
        """What Azure adds."""
        number, properties = next(self._numbers), made["properties"]
        properties["provisioningState"] = "Succeeded"
        if kind == "virtualmachines":
            properties["vmId"] = f"vm-{number}"
        if kind == "publicipaddresses":
            properties["ipAddress"] = f"192.0.2.{number % 250 + 1}"
        if kind == "snapshots":
            source = self.resources[properties["creationData"]["sourceResourceId"].lower()]
            told = {"timeCreated": "2026-11-22T01:40:00.1234567+00:00", "completionPercent": 50.0}
            properties |= {**told, "diskSizeGB": source["properties"]["diskSizeGB"]}
        if kind == "networkinterfaces":
            for address in properties["ipConfigurations"]:
                address["properties"]["privateIPAddress"] = f"10.0.0.{number % 250 + 1}"

    def _delete(self, path: str) -> "Answer":
        """Of a group, with all that is in it."""
        if path.lower() not in self.resources:
            return _error(Refusal("ResourceGroupNotFound", 404))
        for one in [one for one in self.resources if one == path.lower() or one.startswith(f"{path.lower()}/")]:
            del self.resources[one]
        return Answer(202, None, {"Azure-AsyncOperation": self._operation({"status": "Succeeded"}), "Retry-After": "0"})

    def _get(self, path: str, query: Mapping[str, str]) -> "Answer":
        where = path.lower()
        if there := self.resources.get(where) or self._of_account(where):
            return Answer(200, there)
        if where.endswith("/instanceview") and (machine := self.resources.get(where.removesuffix("/instanceview"))):
            return Answer(200, {"statuses": self.views.get(machine["name"], _view(machine))})
        if _group(path) != where and _group(path) and _group(path) not in self.resources:
            return _error(Refusal("ResourceGroupNotFound", 404))
        if len(where.split("/")) % 2 == 0:  # it ends with a kind: a list
            found = [one for at, one in self.resources.items() if at.rpartition("/")[0] == where]
            if where.endswith("/snapshots"):
                return Answer(200, {"value": self._looked_at(found)})
            wanted = "" if self.shows_all else query.get("$filter", "")
            return Answer(200, {"value": [one for one in found if _matches(one, wanted)]})
        return _error(Refusal("ResourceGroupNotFound" if _group(path) == where else "ResourceNotFound", 404))

    def _of_account(self, where: str) -> Any:
        """What a subscription has before anything is made in it; None: that is not asked."""
        if where.endswith("/usages"):
            quotas = ("cores", self.cores_limit), ("standardBasv2Family", 10)
            usages = [{"name": {"value": name}, "unit": "Count", "currentValue": 2, "limit": to} for name, to in quotas]
            return {"value": usages}
        if where.endswith(("/providers/microsoft.compute", "/providers/microsoft.network")):
            return {"namespace": where.rpartition("/")[2], "registrationState": self.registration}
        if where.endswith("/providers/microsoft.compute/skus"):
            return {"value": [self.size]}
        if "/artifacttypes/" in where:
            return {"name": where.rpartition("/")[2], "location": "eastus"}
        return None

    def _looked_at(self, snapshots: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """As they are now; when they are looked at for the next time, Azure has copied all of their data."""
        now = [{**one, "properties": dict(one["properties"])} for one in snapshots]
        for one in snapshots:
            one["properties"]["completionPercent"] = 100.0
        return now

    def _operation(self, end: dict[str, Any]) -> str:
        path = f"{_OPERATION}{next(self._numbers)}"
        self._looks[path] = iter([{"status": "InProgress"}, end])
        return f"{self.url}{path}"


RUNNING = [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/running"}]


def _view(machine: Mapping[str, Any]) -> list[dict[str, str]]:
    """Statuses of a machine that runs since it was made, or could not be made."""
    state = str(machine["properties"]["provisioningState"])
    return RUNNING if state == "Succeeded" else [{"code": f"ProvisioningState/{state[0].lower()}{state[1:]}"}]


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


def _error(refusal: Refusal) -> Answer:
    return Answer(refusal.status, {"error": {"code": refusal.code, "message": refusal.message}})


def _group(path: str) -> str:
    """Id of the group that a path is in."""
    found = re.match(r"/subscriptions/[^/]+/resourcegroups/[^/]+", path.lower())
    return found[0] if found else ""


def _kind_and_name(path: str) -> tuple[str, str]:
    *_, kind, name = path.split("/")
    return kind.lower(), name


def _matches(one: Mapping[str, Any], wanted: str) -> bool:
    """Of a filter that is something else, Azure may make anything: it shows all."""
    found = _FILTER.fullmatch(wanted)
    return found is None or one.get("tags", {}).get(found["name"]) == found["value"].replace("''", "'")


@contextmanager
def fake_arm(refuse: Refuse = lambda _method, _kind, _name: None) -> Iterator[FakeArm]:
    """A server for as long as it is needed."""
    arm = FakeArm(refuse)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            url = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            answer = arm.answer(self.command, unquote(url.path), query, json.loads(sent) if sent else {})
            body = b"" if answer.body is None else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_DELETE = _answer  # noqa: N815 - as http.server calls them

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    arm.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield arm
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def api_of(arm: FakeArm) -> Api:
    """The real SDKs, sent to the fake, without waits between their looks."""
    from azure.core.pipeline.policies import SansIOHTTPPolicy

    options = {"base_url": arm.url, "authentication_policy": SansIOHTTPPolicy(), "polling_interval": 0}
    return Api(SUBSCRIPTION, clients(SUBSCRIPTION, object(), **options))
