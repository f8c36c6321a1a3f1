"""What a study says of Aerospike: its namespace, its storage, and which names `settings` may hold."""

import re
from typing import Annotated

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
"""Set by the keys of `Aerospike`, or needed as they are."""


class Aerospike(Frozen):
    """Of a database with `system = "aerospike"`: one namespace, on a file or on a raw device."""

    namespace: str = Field(default="test", pattern=r"^[a-z][a-z0-9_-]{0,30}$", description="its name")
    replication_factor: int = Field(
        default=2, ge=1, le=8, description="copies of each record; of a machine that is alone: 1"
    )
    memory_gib: float | None = Field(
        default=None, gt=0, description="of each machine, for the index; default: three quarters of what it has"
    )
    write_block_kib: int = Field(
        default=1024, ge=4, le=8192, description="a power of two: write-block-size, from 7.1 on flush-size"
    )
    disk_gib: float | None = Field(
        default=None,
        ge=0.125,
        le=2048,
        description="of each machine: the file in its data folder; default: 40 % of that file system, so that a copy "
        "fits beside it",
    )
    device: Device | None = Field(
        default=None, description="instead of a file; all its data are lost, so `destroys_data_on` repeats it"
    )
    destroys_data_on: Device | None = Field(default=None, description="the same device: you mean it")
    commit_to_device: bool = Field(
        default=False, description="a write is on its device before it is acknowledged; Enterprise Edition alone"
    )

    @model_validator(mode="after")
    def _storage_fits(self) -> "Aerospike":
        if self.device != self.destroys_data_on:
            text = (
                "`device` and `destroys_data_on` must name the same device: Aerospike writes over everything on it, so "
                "it is to be named twice"
            )
            raise conflict(text)
        if self.device is not None and self.disk_gib is not None:
            text = "`disk_gib` is of a file, and `device` takes the whole device; leave one out"
            raise conflict(text)
        if self.write_block_kib & (self.write_block_kib - 1):
            text = f"`write_block_kib` must be a power of two, and {self.write_block_kib} is none"
            raise conflict(text)
        return self


def against_setting(name: str, value: str) -> str:
    """Why a study's setting cannot stand in Aerospike's configuration file; empty when nothing speaks against it."""
    if not _SETTING.fullmatch(name):
        return (
            "is no place in Aerospike's configuration file; wanted: `service.…`, `network.service.…`, "
            "`network.fabric.…`, `network.heartbeat.…`, `namespace.…` or `namespace.storage-engine.…`"
        )
    if name in _OWN:
        return "is set by nephoscope; the table `aerospike` has keys for memory, storage and copies"
    if not _VALUE.fullmatch(value):
        return "must be words of one line, without braces and without #"
    return ""
