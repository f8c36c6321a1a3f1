"""How a cloud makes the machines of a configuration. What each machine is says `Machine`."""

import ipaddress
from typing import Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from nephoscope.model.frozen import Frozen

CLOUDS = frozenset({"aws", "azure", "gcp"})
"""Providers whose machines are ordered by type, image and volumes."""
_WIDEST_PREFIX = 16


class Cloud(Frozen):
    """How a cloud makes machines, besides region, zone, type and volumes."""

    image: str = Field(
        min_length=1,
        description="of all machines that name no own one, with systemd and cloud-init; exact: 'ami-0123…', "
        "'projects/debian-cloud/global/images/debian-12-bookworm-v20261012', 'publisher:offer:sku:version'",
    )
    ingress: str = Field(
        description="the only addresses that SSH is let in from, as '203.0.113.7/32': those of your controller"
    )
    reach: Literal["public", "private"] = Field(
        default="public", description="by which address the controller enters; private: from inside the network"
    )
    packages: list[str] | None = Field(
        default=None,
        min_length=1,
        description="what benchmarks need and the image has not, installed at boot by apt or dnf: ['fio', 'stress-ng']",
    )
    user: str = Field(
        default="nephoscope", pattern=r"^[a-z][a-z0-9-]{0,30}$", description="who works there; made when missing"
    )
    identity: str | None = Field(
        default=None,
        min_length=1,
        description="who database machines are for other services, for `fixtures` with AUTH=implicit: on aws name or "
        "ARN of an instance profile, on gcp a service account's address, on azure the id of a managed identity",
    )
    spot: bool | None = Field(default=None, description="true: cheaper machines that the provider may take back")
    placement_group: Literal["cluster", "spread"] | None = Field(
        default=None, description="machines near each other, or on different hardware; default: as the provider likes"
    )
    subnet: str | None = Field(
        default=None,
        description="the provider's name of it, on azure its id; default: its default network, on azure an own one",
    )

    @field_validator("ingress")
    @classmethod
    def _is_narrow(cls, ingress: str) -> str:
        try:
            network = ipaddress.IPv4Network(ingress)
        except ValueError as error:
            raise PydanticCustomError("ingress_no_network", "is no IPv4 network; wanted: '203.0.113.7/32'") from error
        if network.prefixlen < _WIDEST_PREFIX:
            raise PydanticCustomError(
                "ingress_too_wide",
                "lets in more than 65,536 addresses; name those of your controller, as '203.0.113.7/32'",
            )
        return ingress
