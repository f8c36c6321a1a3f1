"""Where machines come from: how a cloud creates them, how hosts are reached over SSH, what emulated machines are."""

import ipaddress
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from nephoscope.model.frozen import Frozen
from nephoscope.model.names import Name

CLOUDS = frozenset({"aws", "azure", "gcp"})
"""Providers from which machines are ordered by type, image and volumes."""
EXAMPLE_IMAGES = frozenset({"ami-0123456789abcdef0", "ami-0fedcba9876543210"})
"""Of the guides: no account has them."""
_EXAMPLE_NETWORKS = [ipaddress.IPv4Network(one) for one in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
"""Reserved for documentation (RFC 5737)."""
_WIDEST_PREFIX = 16


PackageName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_:~=-]{0,127}$",
        json_schema_extra={"x-pattern-in-words": "a name such as 'fio' or 'fio=3.33-3': no option, path or address"},
    ),
]
"""A package manager runs as root, takes a text with a dash in front for an option, and installs from addresses."""


class Cloud(Frozen):
    """How a cloud creates machines, besides region, zone, type and volumes."""

    image: str = Field(
        min_length=1,
        description="image of all machines that do not name their own; needs systemd and cloud-init; give an exact "
        "version: 'ami-0123…', "
        "'projects/debian-cloud/global/images/debian-12-bookworm-v20261012', 'publisher:offer:sku:version'",
    )
    ingress: str = Field(
        description="the only addresses allowed to connect by SSH, as '203.0.113.7/32': those of your controller"
    )
    reach: Literal["public", "private"] = Field(
        default="public", description="the address by which the controller connects; private: from inside the network"
    )
    packages: list[PackageName] | None = Field(
        default=None,
        min_length=1,
        description="packages that benchmarks need and that are not in the image, installed at boot by apt or dnf: "
        "['fio', 'stress-ng']",
    )
    user: str = Field(
        default="nephoscope", pattern=r"^[a-z][a-z0-9-]{0,30}$", description="the user to log in as; created if missing"
    )
    identity: str | None = Field(
        default=None,
        min_length=1,
        description="the identity of database machines for other services, for `fixtures` with AUTH=implicit: on aws "
        "the name or ARN of an instance profile, on gcp a service account's address, on azure the id of a managed "
        "identity",
    )
    spot: bool | None = Field(default=None, description="true: cheaper machines that the provider may preempt")
    placement_group: Literal["cluster", "spread"] | None = Field(
        default=None, description="machines close together, or on different hardware; default: the provider decides"
    )
    subnet: str | None = Field(
        default=None,
        description="the provider's name of the subnet, on azure its id; default: the default network, on azure a "
        "network of its own",
    )

    @field_validator("ingress")
    @classmethod
    def _is_narrow(cls, ingress: str) -> str:
        return _narrow(ingress)


def is_example(ingress: str) -> bool:
    """Whether nobody can connect from there, as in every guide."""
    return any(ipaddress.IPv4Network(ingress).subnet_of(one) for one in _EXAMPLE_NETWORKS)


@lru_cache(maxsize=64)
def _narrow(ingress: str) -> str:
    """Cached: all configurations of a large study have the same one."""
    try:
        network = ipaddress.IPv4Network(ingress)
    except ValueError as error:
        raise PydanticCustomError("ingress_no_network", "is not an IPv4 network; expected: '203.0.113.7/32'") from error
    if network.prefixlen < _WIDEST_PREFIX:
        raise PydanticCustomError(
            "ingress_too_wide",
            "allows more than 65,536 addresses; give only those of your controller, as '203.0.113.7/32'",
        )
    return ingress


class MachineType(Frozen):
    """The specification of an emulated machine. Whatever is not limited is shared with the host machine."""

    name: Name = Field(description="the value of a machine's `type`")
    vcpus: int = Field(ge=1, le=4096, description="number of CPUs of the host machine that it may use")
    cpu_quota: float | None = Field(
        default=None, gt=0, description="CPU time for all its vCPUs together, in CPUs; default: all of them"
    )
    memory_gib: float = Field(default=1, gt=0, description="memory limit, page cache included")
    disk_gib: float = Field(default=8, gt=0, description="size of its data disk, a sparse file")
    disk_iops: int | None = Field(default=None, ge=1, description="limit of reads per second, and the same for writes")
    disk_mib_per_s: float | None = Field(
        default=None, gt=0, description="limit of bytes read, and the same for bytes written"
    )
    disk_barriers: bool = Field(
        default=True,
        description="false: mount its ext4 with nobarrier, so that fsync does not wait for the disk's cache",
    )
    network_gbps: float | None = Field(default=None, gt=0, description="bandwidth in each direction")


class Link(Frozen):
    """The network between two zones of emulated machines; zones without a link share a switch."""

    between: list[Name] = Field(min_length=2, max_length=2, description="the two zones")
    round_trip_ms: float = Field(ge=0, le=60_000, description="as shown by ping: half of it in each direction")
    jitter_ms: float = Field(
        default=0, ge=0, description="in each direction, up to this much more or less, without reordering"
    )
    loss_percent: float = Field(default=0, ge=0, lt=100, description="share of packets lost in each direction")


class Region(Frozen):
    """The place of a region, for the shortest possible round trip between two of them."""

    name: str = Field(min_length=1, description="the value of a `region`")
    latitude: float = Field(ge=-90, le=90, description="degrees north")
    longitude: float = Field(ge=-180, le=180, description="degrees east")


class Ssh(Frozen):
    """How to connect to hosts; ~/.ssh/config provides whatever is not given."""

    key_file: str | None = Field(
        default=None, description="the only key to offer; default: your keys and those of your agent"
    )
    jump: str | None = Field(default=None, description="a jump host, as `user@host:port`")
    host_keys: dict[str, str] = Field(
        default={},
        description="host keys by host, as `ssh-keyscan` prints them, without the host; default: those that your "
        "known_hosts has",
    )
    inventory: str | None = Field(
        default=None,
        description="a TOML file with `[hosts]` name = destination, so that the study need not name machines",
    )
    folder: str = Field(
        default="/mnt/data/nephoscope",
        pattern=r"^/[^\s]+$",
        description="nephoscope's folder on each host, on the disk to measure",
    )
