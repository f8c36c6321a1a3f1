"""Every provider whose clusters are made elsewhere, with its cloud played here: what a test of all of them needs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nephoscope.model.errors import CapacityLacking, MachineUnsupported, NephoscopeError, QuotaReached, Throttled
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.aws.kept import EbsSnapshots
from nephoscope.providers.azure.cloud import AzureCloud
from nephoscope.providers.azure.kept import GROUP, ManagedDiskSnapshots
from nephoscope.providers.base import ClusterRequest, Provider
from nephoscope.providers.cloud.provider import CloudProvider
from nephoscope.providers.cloud.snapshots import Snapshots
from nephoscope.providers.gcp.cloud import GcpCloud
from nephoscope.providers.gcp.kept import DiskSnapshots
from nephoscope.run.clock import FakeClock
from tests.support import fake_arm, gcplocal_compute, moto_ec2
from tests.support.fake_cloud import FakeCloud
from tests.support.made_cloud import AtOnce, request_of
from tests.support.orders import request_to_azure, request_to_gcp
from tests.support.permissions import (
    granted_on_aws,
    granted_on_azure,
    granted_on_google,
    needed_on_azure,
    needed_on_google,
)

LAST_MACHINE = "load"
ERRORS: dict[str, type[NephoscopeError]] = {
    "capacity": CapacityLacking,
    "quota": QuotaReached,
    "throttled": Throttled,
    "unsupported": MachineUnsupported,
}


@dataclass
class Rehearsed:
    """A cloud that is played."""

    controller: Callable[[], Provider]
    """A new one, which knows nothing of what others did."""
    request: Callable[..., ClusterRequest]
    left: Callable[[], list[str]]
    """Everything that there is, also what costs nothing."""
    refuse: Callable[[str | None], None]
    """From now on the load machine, which comes last, is refused so ('capacity'); None: it is not."""
    die_at: Callable[[int | None], None] = lambda _: None
    """The controller that makes so many more changes does not live to make the next one; None: it lives."""
    snapshots: Callable[[], list[str]] = list
    """Every snapshot that there is, complete or not."""
    lists: Callable[[str], None] = lambda _: None
    """From now on lists show 'all' that there is, whatever their filters say; or what is 'filtered'."""
    needed: Callable[[], set[str]] = set
    """Permissions of all requests so far."""
    granted: Callable[[], set[str]] = set
    """Permissions that its page in the manual tells a user to grant."""


@contextmanager
def fake(folder: Path) -> Iterator[Rehearsed]:
    """The folder that plays a cloud."""
    wanted: list[str] = []

    def refusal(_request: ClusterRequest) -> NephoscopeError | None:
        return ERRORS[wanted[-1]]("injected") if wanted else None

    def left() -> list[str]:
        return [one.name for one in (folder / "clusters").iterdir()]

    yield Rehearsed(lambda: FakeCloud(folder, {}, refusal), request_of, left, _switch(wanted))


@contextmanager
def aws(folder: Path) -> Iterator[Rehearsed]:
    """EC2 on moto."""
    wanted: list[str] = []
    codes = {
        "capacity": "InsufficientInstanceCapacity",
        "quota": "VcpuLimitExceeded",
        "throttled": "RequestLimitExceeded",
        "unsupported": "Unsupported",
    }

    called: set[str] = set()
    life = _Life()

    def refuse(operation: str, arguments: dict[str, Any]) -> str | None:
        called.add(f"ec2:{operation}")
        if not operation.startswith("Describe") and life.ends():
            return "Unsupported"
        last = operation == "RunInstances" and moto_ec2.tag_in(arguments, "nephoscope-role") == LAST_MACHINE
        return codes[wanted[-1]] if last and wanted else None

    with moto_ec2.moto_server() as url:
        shown: list[str] = []
        client_of = moto_ec2.client_of(url, refuse, lambda _operation: shown[-1] if shown else None)
        looking = moto_ec2.client_of(url)

        def controller() -> Provider:
            cloud = AwsCloud(FakeClock(), client_of, moto_ec2.REGIONS)
            return _provider(cloud, EbsSnapshots(cloud))

        def left() -> list[str]:
            return [one for region in moto_ec2.REGIONS for one in moto_ec2.left(looking(region))]

        def snapshots() -> list[str]:
            of_regions = (moto_ec2.snapshots(looking(region)) for region in moto_ec2.REGIONS)
            return [one["SnapshotId"] for found in of_regions for one in found]

        yield Rehearsed(
            controller,
            request_of,
            left,
            _switch(wanted),
            life.end_after,
            snapshots,
            lambda shows: shown.append(shows) if shows == "all" else shown.clear(),
            lambda: called,
            granted_on_aws,
        )


@contextmanager
def gcp(folder: Path) -> Iterator[Rehearsed]:
    """Compute Engine on gcplocal."""
    wanted: list[str] = []
    refusals = {
        "capacity": gcplocal_compute.Refusal("ZONE_RESOURCE_POOL_EXHAUSTED", later=True),
        "quota": gcplocal_compute.Refusal("QUOTA_EXCEEDED", message="Quota 'N2_CPUS' exceeded.", later=True),
        "throttled": gcplocal_compute.Refusal("rateLimitExceeded"),
        "unsupported": gcplocal_compute.Refusal("invalid", 400, "Machine type with name 'n9' does not exist."),
    }

    life = _Life()

    def refuse(method: str, kind: str, name: str) -> gcplocal_compute.Refusal | None:
        if method != "GET" and life.ends():
            return refusals["unsupported"]
        last = (method, kind) == ("POST", "instances") and name.endswith(LAST_MACHINE)
        return refusals[wanted[-1]] if last and wanted else None

    with gcplocal_compute.gcplocal() as server:
        server.refuse = refuse
        api = gcplocal_compute.api_of(server)

        def controller() -> Provider:
            cloud = GcpCloud(FakeClock(), lambda: api)
            return _provider(cloud, DiskSnapshots(cloud))

        yield Rehearsed(
            controller,
            request_to_gcp,
            lambda: server.left,
            _switch(wanted),
            life.end_after,
            lambda: server.snapshots,
            lambda shows: setattr(server, "shows_all", shows == "all"),
            lambda: needed_on_google(server.asked),
            granted_on_google,
        )


@contextmanager
def azure(folder: Path) -> Iterator[Rehearsed]:
    """Azure on the small fake of its Resource Manager."""
    wanted: list[str] = []
    refusals = {
        "capacity": fake_arm.Refusal("ZonalAllocationFailed", later=True),
        "quota": fake_arm.Refusal("OperationNotAllowed", message="exceeding approved standardDSv5Family Cores quota"),
        "throttled": fake_arm.Refusal("TooManyRequests", 429),
        "unsupported": fake_arm.Refusal("InvalidParameter", 400, "The value of parameter vmSize is invalid."),
    }

    life = _Life()

    def refuse(method: str, kind: str, name: str) -> fake_arm.Refusal | None:
        if method != "GET" and life.ends():
            return refusals["unsupported"]
        last = (method, kind, name) == ("PUT", "virtualmachines", LAST_MACHINE)
        return refusals[wanted[-1]] if last and wanted else None

    with fake_arm.fake_arm(refuse) as arm:
        api = fake_arm.api_of(arm)

        def controller() -> Provider:
            cloud = AzureCloud(FakeClock(), lambda: api)
            return _provider(cloud, ManagedDiskSnapshots(cloud))

        yield Rehearsed(
            controller,
            request_to_azure,
            lambda: [one for one in arm.resources if f"/resourcegroups/{GROUP}" not in one],
            _switch(wanted),
            life.end_after,
            lambda: arm.names("snapshots"),
            lambda shows: setattr(arm, "shows_all", shows == "all"),
            lambda: needed_on_azure(arm.asked),
            granted_on_azure,
        )


CLOUDS = {"fake": fake, "aws": aws, "gcp": gcp, "azure": azure}


class _Life:
    """How many changes a controller still makes."""

    def __init__(self) -> None:
        self._left: int | None = None

    def end_after(self, changes: int | None) -> None:
        self._left = changes

    def ends(self) -> bool:
        """Called at each change."""
        if self._left is None:
            return False
        self._left -= 1
        return self._left < 0


def _provider(cloud: Any, snapshots: Snapshots) -> CloudProvider:
    return CloudProvider(cloud, AtOnce(), FakeClock(), "me@here", snapshots)


def _switch(wanted: list[str]) -> Callable[[str | None], None]:
    def switch(kind: str | None) -> None:
        wanted[:] = [kind] if kind is not None else []

    return switch
