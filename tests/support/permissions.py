"""Permissions that requests to a cloud need, and those that the pages on clouds tell a user to grant."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def granted_on_aws() -> set[str]:
    """Actions of the policy in the manual."""
    actions = [statement["Action"] for statement in json.loads(_fenced("run-on-aws", "policy", "json"))["Statement"]]
    return {one for action in actions for one in ([action] if isinstance(action, str) else action)}


def granted_on_google() -> set[str]:
    """Permissions of the role in the manual."""
    return set(re.findall(r"^  - (\S+)$", _fenced("run-on-gcp", "role", "yaml"), re.MULTILINE))


def granted_on_azure() -> set[str]:
    """Actions of the role in the manual."""
    return set(json.loads(_fenced("run-on-azure", "role", "json"))["Actions"])


def needed_on_google(asked: Iterable[tuple[str, str]]) -> set[str]:
    """Of requests, as method and path: 'compute.instances.create'."""
    return {_of_google(method, path) for method, path in asked}


def needed_on_azure(asked: Iterable[tuple[str, str]]) -> set[str]:
    """Of requests, as method and path: 'Microsoft.Compute/disks/write'."""
    return {_of_azure(method, path) for method, path in asked if "/subscriptions/" in path}


def _fenced(page: str, kind: str, language: str) -> str:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return text.partition(f"<!-- the {kind} of {page} -->\n```{language}\n")[2].partition("```")[0]


def _of_google(method: str, path: str) -> str:
    parts = path.split("/")
    verb = {"POST": "create", "DELETE": "delete"}.get(method, "get")
    if "family" in parts:
        return "compute.images.getFromFamily"
    if parts[-2] == "projects":
        return "compute.projects.get"
    if "operations" in parts:
        scope = next((word for word in ("zone", "region") if f"{word}s" in parts), "global")
        return f"compute.{scope}Operations.get"
    if "aggregated" in parts or (parts[-1] in {"firewalls", "snapshots"} and method == "GET"):
        return f"compute.{parts[-1]}.list"
    return f"compute.{parts[-1] if method == 'POST' else parts[-2]}.{verb}"


def _of_azure(method: str, path: str) -> str:
    verb = {"PUT": "write", "DELETE": "delete"}.get(method, "read")
    _, found, kinds = path.partition("/providers/")
    if found and "/" not in kinds:
        return f"Microsoft.Resources/subscriptions/providers/{verb}"
    if not found:
        return f"Microsoft.Resources/subscriptions/resourceGroups/{verb}"
    namespace, kind, *rest = kinds.split("/")
    return "/".join([namespace, kind, *rest[1::2], verb])
