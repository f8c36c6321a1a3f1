"""One call of EC2's API as a value, and tags as its requests and answers have them; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """One call of the API."""

    operation: str
    """As boto3 names it."""
    arguments: Mapping[str, Any]


def tagged(what: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """The tags that a resource of a kind is to have from its creation on."""
    return {"ResourceType": what, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def tags(resource: Mapping[str, Any]) -> dict[str, str]:
    """Of a resource that is described."""
    return {tag["Key"]: tag["Value"] for tag in resource.get("Tags") or ()}
