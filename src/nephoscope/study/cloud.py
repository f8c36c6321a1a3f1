"""How a cloud creates the machines of a configuration. `Machine` describes each machine."""

import ipaddress
from functools import lru_cache
from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from nephoscope.model.frozen import Frozen

CLOUDS = frozenset({"aws", "azure", "gcp"})
"""Providers from which machines are ordered by type, image and volumes."""
EXAMPLE_IMAGES = frozenset({"ami-0123456789abcdef0", "ami-0fedcba9876543210"})
"""Of the guides: no account has them."""
_EXAMPLE_NETWORKS = [ipaddress.IPv4Network(one) for one in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
"""Reserved for documentation (RFC 5737)."""
_WIDEST_PREFIX = 16


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
    packages: list[str] | None = Field(
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
