"""One call of EC2's API as a value, and tags as its requests and answers have them; pure."""

from collections.abc import Iterable, Mapping
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


def carrying(resources: Iterable[dict[str, Any]], tag: str, value: str) -> list[dict[str, Any]]:
    """The resources whose tag has exactly this value.

    A filter of EC2 takes `*` and `?` in a value for any text, so what a list returns may belong to anybody.
    """
    return [resource for resource in resources if tags(resource).get(tag) == value]


def tags(resource: Mapping[str, Any]) -> dict[str, str]:
    """Of a resource that is described."""
    return {tag["Key"]: tag["Value"] for tag in resource.get("Tags") or ()}
