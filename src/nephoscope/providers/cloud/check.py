"""Checks whether a cloud offers what a configuration requests, as far as is known without calling it. Pure.

The modules of a cloud are imported when a study uses it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.order import ClusterOrder, order_of
from nephoscope.study.model import Configuration


def _aws(order: ClusterOrder) -> None:
    from nephoscope.providers.aws import plan as aws_plan

    for role in order.roles:
        aws_plan.machines_call(order, role, "group", of_type=None)


def _azure(order: ClusterOrder) -> None:
    from nephoscope.providers.azure import plan as azure_plan

    azure_plan.making_steps(order, "subscription")


def _gcp(order: ClusterOrder) -> None:
    from nephoscope.providers.gcp import plan as gcp_plan

    gcp_plan.machine_calls(order, "project")


_ASKED: Mapping[str, Callable[[ClusterOrder], None]] = MappingProxyType({"aws": _aws, "azure": _azure, "gcp": _gcp})


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
