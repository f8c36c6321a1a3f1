"""The Aerospike part of a study: its namespace, its storage, and the names that `settings` may hold."""

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from nephoscope.model.frozen import Frozen, conflict

Device = Annotated[str, StringConstraints(pattern=r"^/dev/[A-Za-z0-9][A-Za-z0-9/_.:-]*$")]

_SETTING = re.compile(r"(service|network\.(service|fabric|heartbeat)|namespace(\.storage-engine)?)\.[a-z0-9-]+")
_VALUE = re.compile(r"[^\s{}#]+( [^\s{}#]+)*")
_OWN = frozenset(
    {
        *("service.cluster-name", "service.node-id", "service.work-directory", "service.min-cluster-size"),
        *(f"network.{part}.{key}" for part in ("service", "fabric", "heartbeat") for key in ("address", "port")),
        *("network.service.access-address", "network.heartbeat.mode", "network.heartbeat.mesh-seed-address-port"),
        *("namespace.replication-factor", "namespace.memory-size", "namespace.indexes-memory-budget"),
        *(f"namespace.storage-engine.{key}" for key in ("file", "filesize", "device", "commit-to-device")),
        *("namespace.storage-engine.write-block-size", "namespace.storage-engine.flush-size"),
        *("namespace.strong-consistency", "namespace.storage-engine"),
    }
)
"""Set through the keys of `Aerospike`, or fixed by nephoscope."""


class Aerospike(Frozen):
    """A database with `system = "aerospike"`: one namespace, in a file or on a raw device."""

    namespace: str = Field(default="test", pattern=r"^[a-z][a-z0-9_-]{0,30}$", description="its name")
    replication_factor: int = Field(default=2, ge=1, le=8, description="copies of each record; 1 on a single machine")
    memory_gib: float | None = Field(
        default=None, gt=0, description="memory of each machine for the index; default: three quarters of its memory"
    )
    write_block_kib: int = Field(
        default=1024, ge=4, le=8192, description="a power of two: write-block-size, called flush-size since 7.1"
    )
    disk_gib: float | None = Field(
        default=None,
        ge=0.125,
        le=2048,
        description="size of the file in each machine's data folder; default: 40 % of that file system, so that a "
        "copy fits next to it",
    )
    device: Device | Literal["volume"] | None = Field(
        default=None,
        description="raw device to use instead of a file. 'volume', only on clouds: the machine's raw volume or local "
        "SSD, the first if there are several. A device of your own: all data on it are lost, so "
        "`destroys_data_on` must repeat its name",
    )
    destroys_data_on: Device | None = Field(default=None, description="the same device again, to confirm")
    commit_to_device: bool = Field(
        default=False, description="write to the device before acknowledging; Enterprise Edition only"
    )

    @model_validator(mode="after")
    def _storage_fits(self) -> "Aerospike":
        if self.device != self.destroys_data_on and (self.device, self.destroys_data_on) != ("volume", None):
            text = (
                "`device` and `destroys_data_on` must name the same device: Aerospike overwrites everything on it, so "
                "you must name it twice"
            )
            raise conflict(text)
        if self.device is not None and self.disk_gib is not None:
            text = "`disk_gib` is the size of a file, but `device` uses a whole device; remove one of them"
            raise conflict(text)
        if self.write_block_kib & (self.write_block_kib - 1):
            text = f"`write_block_kib` must be a power of two; {self.write_block_kib} is not"
            raise conflict(text)
        return self


def against_setting(name: str, value: str) -> str:
    """Why a study's setting is not allowed in Aerospike's configuration file; empty if it is allowed."""
    if not _SETTING.fullmatch(name):
        return (
            "is not a setting of Aerospike's configuration file; expected: `service.…`, `network.service.…`, "
            "`network.fabric.…`, `network.heartbeat.…`, `namespace.…` or `namespace.storage-engine.…`"
        )
    if name in _OWN:
        return "is set by nephoscope; use the keys of the table `aerospike` for memory, storage and copies"
    if not _VALUE.fullmatch(value):
        return "must be words on one line, without braces and without #"
    return ""
