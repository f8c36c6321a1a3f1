"""Checks whether a cloud offers what a configuration requests, as far as is known without calling it. Pure.

The modules of a cloud are imported when a study uses it.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.study.model import Configuration


def _aws(order: ClusterOrder) -> None:
    from nephoscope.providers.aws import plan as aws_plan

    aws_plan.require_possible(order)
    for role in order.roles:
        aws_plan.machines_calls(order, role, aws_plan.Site("group"), of_type=None)


def _azure(order: ClusterOrder) -> None:
    from nephoscope.providers.azure import plan as azure_plan

    azure_plan.making_steps(order, "subscription")


def _gcp(order: ClusterOrder) -> None:
    from nephoscope.providers.gcp import plan as gcp_plan

    gcp_plan.machine_calls(order, "project")


_ASKED: Mapping[str, Callable[[ClusterOrder], None]] = {"aws": _aws, "azure": _azure, "gcp": _gcp}


def require_possible(configuration: Configuration) -> None:
    """Builds every request that its cluster needs, in each of its zones; does nothing if no cloud creates its machines.

    Raises:
        InputError: what the provider would answer when the first trial requests its machines.
    """
    asked = _ASKED.get(configuration.provider)
    if asked is None:
        return
    for zone in (configuration.zone, *(configuration.other_zones or ())):
        asked(order_of(ClusterRequest("plan", configuration, Path(), zone=zone), "plan", "key"))


_ARM = re.compile(r"(?:^|[^a-z0-9])(?:arm64|aarch64)(?:$|[^a-z0-9])", re.IGNORECASE)
_X86 = re.compile(r"(?:^|[^a-z0-9])(?:amd64|x86[-_]64|x64)(?:$|[^a-z0-9])", re.IGNORECASE)
_NAMES_ARM_IMAGES = re.compile(
    r"projects/(?:debian|ubuntu-os|rocky-linux|rhel|suse|centos)-cloud/|(?:debian|canonical):", re.IGNORECASE
)
"""Publishers on GCP and Azure who write the architecture into the name of each Arm image, and often not of others."""


def architecture_of_image(image: str) -> str | None:
    """amd64 or arm64; None: the name does not say, as in AWS's ids and in images of your own."""
    if _ARM.search(image):
        return "arm64"
    if _X86.search(image) or _NAMES_ARM_IMAGES.match(image):
        return "amd64"
    return None
