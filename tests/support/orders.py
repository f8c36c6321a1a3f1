"""Requests for clusters of two database machines and a load machine, on clouds that are rehearsed."""

from collections.abc import Callable
from typing import Any

from nephoscope.providers.base import ClusterRequest
from tests.support.made_cloud import request_of

_INGRESS = "203.0.113.7/32"


def request_to_gcp(
    trial: str = "abc", attempt: int = 1, *, cloud: dict[str, Any] | None = None, **more: Any
) -> ClusterRequest:
    """Of Compute Engine."""
    content: dict[str, Any] = {
        "provider": "gcp",
        "region": "us-east4",
        "zone": "us-east4-a",
        "cloud": {
            "image": "projects/debian-cloud/global/images/debian-12-bookworm-v20261012",
            "ingress": _INGRESS,
            **(cloud or {}),
        },
        "database_machine": {
            "type": "n2-standard-8",
            "count": 2,
            "volumes": [{"kind": "hyperdisk-balanced", "size": 100, "iops": 8000, "throughput": 500}],
        },
        "load_machine": {"type": "n2-standard-8"},
    }
    return request_of(trial, attempt, **{**content, **more})


def request_to_azure(
    trial: str = "abc", attempt: int = 1, *, cloud: dict[str, Any] | None = None, **more: Any
) -> ClusterRequest:
    """Of Azure."""
    content: dict[str, Any] = {
        "provider": "azure",
        "region": "eastus",
        "zone": "1",
        "cloud": {"image": "Debian:debian-12:12-gen2:0.20261012.1", "ingress": _INGRESS, **(cloud or {})},
        "database_machine": {
            "type": "Standard_D8s_v5",
            "count": 2,
            "volumes": [{"kind": "PremiumV2_LRS", "size": 100, "iops": 8000, "throughput": 500}],
        },
        "load_machine": {"type": "Standard_D8s_v5"},
    }
    return request_of(trial, attempt, **{**content, **more})


def far_request(request_to: Callable[..., ClusterRequest], trial: str = "abc", attempt: int = 1) -> ClusterRequest:
    """The cluster that a cloud's request asks for, with databases in three zones and the load in another region."""
    near = request_to(trial, attempt).configuration
    other, zones, far = _FAR[near.provider]
    database = {"type": near.database_machine.type, "count": 3, "zones": zones}
    load = {"type": near.database_machine.type, "region": other, "zones": [far], "image": "ami-west"}
    if near.provider != "aws":
        del load["image"]
    cloud = near.cloud.model_dump(exclude_none=True) if near.cloud else {}
    return request_to(trial, attempt, cloud=cloud, database_machine=database, load_machine=load)


_FAR = {
    "aws": ("us-west-2", ["us-east-1a", "us-east-1b", "us-east-1c"], "us-west-2b"),
    "gcp": ("us-west1", ["us-east4-a", "us-east4-b", "us-east4-c"], "us-west1-b"),
    "azure": ("westus2", ["1", "2", "3"], "2"),
}
"""Provider -> the other region, zones of the first, zone of the other."""
