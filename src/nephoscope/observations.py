"""What a benchmark's output shows besides its numbers, as evidence for the checks."""

from typing import Literal

from pydantic import Field

from nephoscope.frozen import Frozen


class Series(Frozen):
    """A rate with a value for each interval of a trial, at equal steps."""

    metric: str
    unit: str
    step_s: float = Field(gt=0)
    values: list[float]


class Reads(Frozen):
    """What a job says of its reads of files or of a device."""

    job: str
    direct: bool = Field(description="past the page cache")
    files_bytes: int = Field(gt=0)
    memory_bytes: int | None = Field(default=None, gt=0, description="limit of the page cache; None: the machine's")
    bytes_per_s: float = Field(gt=0)
    latency_median_s: float | None = Field(ge=0, description="None: not known")


class CpuPhase(Frozen):
    """A time in which workers did nothing but compute."""

    workers: int = Field(ge=1)
    cpu_s: float = Field(ge=0, description="user and system time of all workers")
    real_s: float = Field(gt=0)


class NetworkBytes(Frozen):
    """What a machine received and sent while it was sampled, over every interface but loopback."""

    machine: str
    sampled_s: float = Field(gt=0)
    received_bytes: float = Field(ge=0)
    sent_bytes: float = Field(ge=0)


class ResourceUse(Frozen):
    """What a machine did while it was sampled: medians over its seconds, so that begin and end weigh little."""

    machine: str
    sampled_s: float = Field(gt=0)
    cpu_busy_share: float = Field(ge=0, le=1, description="of the CPUs that what is measured may use, stolen time too")
    cpu_quota_used_up_share: float | None = Field(
        default=None, ge=0, le=1, description="of the periods of its quota of CPU time; None: it has none"
    )
    disk_busy_share: float | None = Field(description="with requests under way, of the busiest disk; None: not seen")
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    network_receive_bytes_per_s: float | None
    network_send_bytes_per_s: float | None


class Observations(Frozen):
    """What a benchmark's output shows, besides its numbers, for the checks."""

    reads: list[Reads] = []
    cpu_phases: list[CpuPhase] = []


class SearchEvidence(Frozen):
    """How a search for the highest load ended."""

    outcome: Literal["found", "lower bound", "generator bound", "unstable", "below min"]
    reason: str = Field(description="for people")


class SustainedEvidence(Frozen):
    """What the confirmations of a search cost the database beside response times. None: it does not say."""

    seconds: float = Field(gt=0, description="of all confirmations, set-up included")
    free_bytes: int | None = Field(description="after the last one, on the machine that has least")
    free_lost_per_s: float | None = Field(description="negative: space came free")
    disk_unseen: bool = Field(default=False, description="a server of the user's, whose disk is not ours to look at")
    log_per_s: float | None
    cache_hit_share: float | None
    debt_per_s: float | None = Field(description="growth of what is left to compact or to defragment")
    trouble: str = Field(default="", description="why it took no writes, or what it lost; empty: nothing")
