"""Compute Engine by gcplocal: real HTTP and the real SDK, no account. What it lacks is added or injected here.

gcplocal gives operations ids that are no numbers, knows no lists of all zones, no filters, no placement policies, no
snapshots and no disks that are made with a machine, forgets most of what a machine was asked to be, and never refuses
anything: what the published definition of its API does not allow is refused here.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nephoscope.providers.gcp.cloud import Api
from tests.support.definitions import of_google_body

PROJECT = "rehearsal"
_SVC = "compute"
_PREFIX = f"/compute/v1/projects/{PROJECT}"
_LABEL = re.compile(r"labels\.(?P<label>[a-z-]+)=(?P<value>[a-z0-9_-]+)")
_NAME = re.compile(r'name eq "(?P<name>[^"]+)"')


@dataclass(frozen=True)
class Refusal:
    """How a request fails: at once by an HTTP status, or after an operation was begun."""

    reason: str
    status: int = 403
    message: str = "injected"
    later: bool = False


_PROJECT = re.compile(r"/compute/v1/projects/<[^/]+>")
Refuse = Callable[[str, str, str], Refusal | None]
"""Method, kind ('instances') and name of what is asked for -> how it is refused; `None`: it is not."""


@dataclass
class Rehearsal:
    """A server that runs, and what it holds."""

    url: str
    state: Any
    refuse: Refuse = lambda _method, _kind, _name: None
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of every request."""
    shows_all: bool = False
    """Lists show everything, whatever their filters say."""
    cpus_limit: float = 24.0

    def matching(self, kind: str, wanted: str) -> list[dict[str, Any]]:
        """What a list of a kind of resources shows."""
        return [one for one in self.of(kind) if self.shows_all or _matches(one, wanted)]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All resources of a kind ('disks'), of every zone."""
        found = sorted(key for key in self.state._resources if key.startswith(f"{_SVC}/{PROJECT}/{kind}/"))
        return [dict(self.state._resources[key]) for key in found]

    @property
    def left(self) -> list[str]:
        """Names of all that there is."""
        return [
            one["name"] for kind in ("instances", "disks", "resourcePolicies", "firewalls") for one in self.of(kind)
        ]

    @property
    def snapshots(self) -> list[str]:
        """Names of all snapshots."""
        return [one["name"] for one in self.of("snapshots")]

    def stop(self, name: str, status: str = "TERMINATED") -> None:
        """A machine comes into another state, and stays there."""
        for key, one in self.state._resources.items():
            if key.endswith(f"/{name}") and "/instances/" in key:
                one["status"] = status


@contextmanager
def gcplocal() -> Iterator[Rehearsal]:
    """A server for as long as it is needed."""
    from gcplocal.server import create_app
    from gcplocal.state import StateStore
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - its name there
            pass

    rehearsal = Rehearsal("", StateStore())
    app = create_app(rehearsal.state)
    _refusals(app, rehearsal)
    _lists(app, rehearsal)
    _policies(app, rehearsal)
    _machines(app, rehearsal)
    _snapshots(app, rehearsal)
    _account(app, rehearsal)
    app.after_request(_operations)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    rehearsal.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield rehearsal
    finally:
        server.shutdown()
        thread.join()


def api_of(rehearsal: Rehearsal) -> Api:
    """The real SDK, sent to the rehearsal."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import compute_v1

    def client_of(name: str) -> Any:
        options = {"api_endpoint": rehearsal.url}
        return getattr(compute_v1, name)(credentials=AnonymousCredentials(), client_options=options)

    return Api(PROJECT, client_of)


def _refusals(app: Any, rehearsal: Rehearsal) -> None:
    from flask import jsonify, request

    def refuse() -> Any:
        kind, name = _kind_and_name(request)
        rehearsal.asked.append((request.method, request.path))
        refusal = rehearsal.refuse(request.method, kind, name)
        if refusal is None and request.method == "POST" and request.path.startswith(_PREFIX):
            complaints = of_google_body(kind, request.get_json())
            refusal = Refusal("invalid", 400, "; ".join(complaints)) if complaints else None
        if refusal is None:
            return None
        if not refusal.later:
            errors = [{"reason": refusal.reason, "message": refusal.message}]
            return jsonify(
                {"error": {"code": refusal.status, "message": refusal.message, "errors": errors}}
            ), refusal.status
        operation = rehearsal.state.create_operation(_SVC, PROJECT, zone=_part_after(request.path, "zones"))
        error = {"errors": [{"code": refusal.reason, "message": refusal.message}]}
        key = f"{_SVC}/{PROJECT}/operations/{_part_after(request.path, 'zones')}/{operation['name']}"
        rehearsal.state._operations[key] = {**operation, "error": error}
        return jsonify(operation)

    app.before_request(refuse)


def _lists(app: Any, rehearsal: Rehearsal) -> None:
    from flask import jsonify, request

    def of_all(kind: str) -> Any:
        matching = rehearsal.matching(kind, request.args.get("filter", ""))
        scopes: dict[str, Any] = {}
        for one in matching:
            scopes.setdefault(_scope(one), {kind: []})[kind].append(one)
        return jsonify({"items": scopes})

    app.add_url_rule(f"{_PREFIX}/aggregated/<kind>", "aggregated", of_all, methods=["GET"])
    listed = app.view_functions["compute.list_firewalls"]

    def firewalls(project: str) -> Any:
        answer = listed(project).get_json()
        wanted = request.args.get("filter", "")
        answer["items"] = [one for one in answer["items"] if rehearsal.shows_all or _matches(one, wanted)]
        return jsonify(answer)

    app.view_functions["compute.list_firewalls"] = firewalls


def _scope(one: Mapping[str, Any]) -> str:
    zone = one.get("zone")
    return f"zones/{zone.rpartition('/')[2]}" if zone else f"regions/{one['region'].rpartition('/')[2]}"


def _policies(app: Any, rehearsal: Rehearsal) -> None:
    from flask import jsonify, request

    def make(region: str) -> Any:
        body = request.get_json()
        where = f"resourcePolicies/{region}"
        rehearsal.state.put(_SVC, PROJECT, where, body["name"], {**body, "region": f"{_PREFIX}/regions/{region}"})
        return jsonify(rehearsal.state.create_operation(_SVC, PROJECT, region=region))

    def end(region: str, name: str) -> Any:
        rehearsal.state.delete(_SVC, PROJECT, f"resourcePolicies/{region}", name)
        return jsonify(rehearsal.state.create_operation(_SVC, PROJECT, region=region))

    where = f"{_PREFIX}/regions/<region>/resourcePolicies"
    app.add_url_rule(where, "make_policy", make, methods=["POST"])
    app.add_url_rule(f"{where}/<name>", "end_policy", end, methods=["DELETE"])


def _machines(app: Any, rehearsal: Rehearsal) -> None:
    """Machines keep what they were asked to be, and have their disks as Compute Engine makes and deletes them."""
    from flask import jsonify, request

    state, views = rehearsal.state, app.view_functions
    inserted, deleted = views["compute.create_instance"], views["compute.delete_instance"]

    def insert(project: str, zone: str) -> Any:
        body = request.get_json()
        if state.exists(_SVC, project, f"instances/{zone}", body["name"]):
            said = {"reason": "alreadyExists", "message": f"{body['name']} already exists"}
            return jsonify({"error": {"code": 409, "message": said["message"], "errors": [said]}}), 409
        refusals = [_source_missing(rehearsal, disk["initializeParams"]) for disk in _own_disks(body)]
        if any(refusals):
            return next(filter(None, refusals))
        answer = inserted(project, zone)
        made = {**body, **state.get(_SVC, project, f"instances/{zone}", body["name"])}
        number = len(rehearsal.asked) % 250 + 1
        for interface in made["networkInterfaces"]:
            interface["networkIP"] = f"10.128.0.{number}"
            for access in interface.get("accessConfigs", ()):
                access["natIP"] = f"192.0.2.{number}"
        state.put(_SVC, project, f"instances/{zone}", body["name"], made)
        for disk in _own_disks(made):
            params = disk["initializeParams"]
            content = {**params, "name": params["diskName"], "zone": f"zones/{zone}", "users": [body["name"]]}
            state.put(_SVC, project, f"disks/{zone}", params["diskName"], content)
        return answer

    def delete(project: str, zone: str, name: str) -> Any:
        there = state.get(_SVC, project, f"instances/{zone}", name) or {}
        for disk in _own_disks(there):
            where, disk_name = f"disks/{zone}", disk["initializeParams"]["diskName"]
            if disk.get("autoDelete"):
                state.delete(_SVC, project, where, disk_name)
        return deleted(project, zone, name)

    views["compute.create_instance"], views["compute.delete_instance"] = insert, delete


def _source_missing(rehearsal: Rehearsal, params: Mapping[str, Any]) -> Any:
    """Of a disk that is to come from a snapshot: there must be one, complete, and nothing else that it comes from."""
    from flask import jsonify

    source = params.get("sourceSnapshot")
    if source is None:
        return None
    found = [one for one in rehearsal.of("snapshots") if source == f"projects/{PROJECT}/global/snapshots/{one['name']}"]
    if found and found[0]["status"] == "READY" and "sourceImage" not in params:
        return None
    said = {"reason": "notFound" if not found else "invalid", "message": f"no disk can be made from {source}"}
    return jsonify({"error": {"code": 400, "message": said["message"], "errors": [said]}}), 400


def _snapshots(app: Any, rehearsal: Rehearsal) -> None:
    """Of a disk that is there; one is still copied when it is looked at for the first time."""
    from flask import jsonify, request

    state, where = rehearsal.state, f"{_PREFIX}/global/snapshots"

    def error(code: int, reason: str) -> Any:
        return jsonify({"error": {"code": code, "message": reason, "errors": [{"reason": reason}]}}), code

    def make() -> Any:
        body = request.get_json()
        zone, _, disk = body["sourceDisk"].removeprefix(f"projects/{PROJECT}/zones/").partition("/disks/")
        source = state.get(_SVC, PROJECT, f"disks/{zone}", disk)
        if source is None:
            return error(404, "notFound")
        if state.exists(_SVC, PROJECT, "snapshots", body["name"]):
            return error(409, "alreadyExists")
        told = {"creationTimestamp": "2026-11-22T01:40:00.000-07:00", "diskSizeGb": source["diskSizeGb"]}
        state.put(_SVC, PROJECT, "snapshots", body["name"], {**body, **told, "status": "UPLOADING"})
        return jsonify(state.create_operation(_SVC, PROJECT))

    def listed() -> Any:
        found = rehearsal.matching("snapshots", request.args.get("filter", ""))
        for one in found:
            ready = {**one, "status": "READY", "storageBytes": "1073741824"}
            state.put(_SVC, PROJECT, "snapshots", one["name"], ready)
        return jsonify({"items": found})

    def end(name: str) -> Any:
        if not state.exists(_SVC, PROJECT, "snapshots", name):
            return error(404, "notFound")
        state.delete(_SVC, PROJECT, "snapshots", name)
        return jsonify(state.create_operation(_SVC, PROJECT))

    app.add_url_rule(where, "make_snapshot", make, methods=["POST"])
    app.add_url_rule(where, "list_snapshots", listed, methods=["GET"])
    app.add_url_rule(f"{where}/<name>", "end_snapshot", end, methods=["DELETE"])


def _account(app: Any, rehearsal: Rehearsal) -> None:
    """What a project has before anything is made in it."""
    from flask import jsonify

    def quotas(region: str = "") -> Any:
        metric, limit = ("CPUS", rehearsal.cpus_limit) if region else ("CPUS_ALL_REGIONS", 12.0)
        return jsonify({"name": region or PROJECT, "quotas": [{"metric": metric, "limit": limit, "usage": 2.0}]})

    def there(name: str, **_: str) -> Any:
        return jsonify({"name": name, "guestCpus": 2})

    images = "/compute/v1/projects/<project>/global/images"
    app.add_url_rule(f"{_PREFIX}/regions/<region>", "get_region", quotas)
    own = next(rule for rule in app.url_map.iter_rules() if _PROJECT.fullmatch(rule.rule) and "GET" in rule.methods)
    app.view_functions[own.endpoint] = lambda **_: quotas()
    for where in (f"{_PREFIX}/zones/<zone>/machineTypes", f"{images}/family", images, f"{_PREFIX}/global/networks"):
        app.add_url_rule(f"{where}/<name>", f"there {where}", there)


def _own_disks(machine: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [disk for disk in machine.get("disks", ()) if "diskName" in disk.get("initializeParams", {})]


def _operations(response: Any) -> Any:
    """Their ids are numbers, as the SDK takes no others, and they still run when they are first told of."""
    from flask import request

    body = response.get_json(silent=True)
    if isinstance(body, dict) and body.get("kind") == "compute#operation":
        number = {"id": str(int(body["id"], 16))} if "id" in body else {}
        status = {} if request.method == "GET" else {"status": "RUNNING"}
        response.set_data(json.dumps({**body, **number, **status}))
    return response


def _kind_and_name(request: Any) -> tuple[str, str]:
    parts = request.path.removeprefix(f"{_PREFIX}/").split("/")
    kind, name = (parts[-1], "") if request.method == "POST" or len(parts) % 2 else (parts[-2], parts[-1])
    body = request.get_json(silent=True)
    return kind, str(body.get("name", name)) if isinstance(body, dict) else name


def _part_after(path: str, word: str) -> str | None:
    parts = path.split("/")
    return parts[parts.index(word) + 1] if word in parts else None


def _matches(one: Mapping[str, Any], wanted: str) -> bool:
    if found := _LABEL.fullmatch(wanted):
        return bool(one.get("labels", {}).get(found["label"]) == found["value"])
    if found := _NAME.fullmatch(wanted):
        return re.fullmatch(found["name"], one["name"]) is not None
    raise AssertionError(f"a filter that is not known here: {wanted!r}")
