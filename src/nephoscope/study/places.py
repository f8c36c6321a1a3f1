"""Machines that no cloud creates, and where they are: emulated ones by type, hosts reached over SSH."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.names import Name


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
