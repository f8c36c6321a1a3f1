"""Where machines come from when no cloud makes them: emulated ones by their type, hosts that are reached over SSH."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.study.names import Name


class MachineType(Frozen):
    """What an emulated machine is. What is not limited is the machine's that emulates."""

    name: Name = Field(description="what `type` of a machine says")
    vcpus: int = Field(ge=1, le=4096, description="CPUs it may run on, of the machine that emulates")
    cpu_quota: float | None = Field(
        default=None, gt=0, description="CPUs' worth of time for all its vCPUs together; default: all of them"
    )
    memory_gib: float = Field(default=1, gt=0, description="limit, page cache included")
    disk_gib: float = Field(default=8, gt=0, description="size of its data disk, a file that only grows when written")
    disk_iops: int | None = Field(default=None, ge=1, description="reads per second, and as many writes")
    disk_mib_per_s: float | None = Field(default=None, gt=0, description="read, and as much written")
    disk_barriers: bool = Field(
        default=True, description="false mounts its ext4 with nobarrier: fsync then does not wait for the disk's cache"
    )
    network_gbps: float | None = Field(default=None, gt=0, description="each way")


class Link(Frozen):
    """What lies between two zones of emulated machines; zones without a link are one switch apart."""

    between: list[Name] = Field(min_length=2, max_length=2, description="two zones")
    round_trip_ms: float = Field(ge=0, le=60_000, description="what ping shows: half of it each way")
    jitter_ms: float = Field(default=0, ge=0, description="each way, at most so much more or less; none overtakes")
    loss_percent: float = Field(default=0, ge=0, lt=100, description="of packets, each way")


class Ssh(Frozen):
    """How hosts are entered; what is not given stands in ~/.ssh/config."""

    key_file: str | None = Field(
        default=None, description="the only key that is offered; default: yours and your agent"
    )
    jump: str | None = Field(default=None, description="a host on the way, as `user@host:port`")
    host_keys: dict[str, str] = Field(
        default={}, description="by host, as `ssh-keyscan` prints them; default: the first one seen in an attempt"
    )
    inventory: str | None = Field(
        default=None,
        description="a TOML file with `[hosts]` name = destination, so that a study need not name machines",
    )
    folder: str = Field(
        default="/mnt/data/nephoscope",
        pattern=r"^/[^\s]+$",
        description="on each host: a folder of ours, on the disk that is measured",
    )
