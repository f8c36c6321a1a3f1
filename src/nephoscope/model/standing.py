"""Where measured machines stand among types of clouds that others measured."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.sentence import NO_SENTENCE, Sentence


class PublicResult(Frozen):
    """One machine type as somebody else measured it, once, on one machine."""

    provider: str
    type: str
    vcpus: int
    per_s: float = Field(description="bogo operations a second with a worker on every vCPU")
    one_worker_per_s: float
    version: str = Field(description="of stress-ng")
    date: str

    @property
    def per_vcpu_per_s(self) -> float:
        """Of one vCPU while all of them work."""
        return self.per_s / self.vcpus

    def cpu_per_s(self, *, alone: bool) -> float:
        """Of one vCPU, alone or while all of them work."""
        return self.one_worker_per_s if alone else self.per_vcpu_per_s


class PublicMemory(Frozen):
    """The memory of one machine type as somebody else measured it, once, on one machine."""

    provider: str
    type: str
    vcpus: int
    read_bytes_per_s: float = Field(description="by all vCPUs together, in the largest working set")
    version: str = Field(description="of membench")
    date: str

    @property
    def per_vcpu_per_s(self) -> float:
        """Bytes of one vCPU while all of them read."""
        return self.read_bytes_per_s / self.vcpus


class MemoryStanding(Frozen):
    """The memory of one configuration of the study among public results of another program."""

    configuration: str
    cpus: int
    read_bytes_per_s: float = Field(description="by all CPUs together: median of the trials")
    slower_per_vcpu: int = Field(description="types that read less for each vCPU")
    nearest: list[str] = Field(description="types that together read about as much, the nearest first")

    @property
    def per_vcpu_per_s(self) -> float:
        """Bytes of one CPU while all of them read."""
        return self.read_bytes_per_s / self.cpus


class StandingRow(Frozen):
    """One configuration of the study among public results."""

    configuration: str
    benchmark: str
    cpus: int
    per_s: float = Field(description="bogo operations a second with a worker on every CPU: median of the trials")
    slower_per_vcpu: int = Field(description="types whose vCPU is slower")
    nearest: list[str] = Field(description="types that are together nearest to as fast, the nearest first")
    alone: bool = Field(
        default=False,
        description="one CPU of a larger machine worked, and is compared with one worker of each type: a vCPU among "
        "others that work is slower",
    )

    @property
    def per_vcpu_per_s(self) -> float:
        """Of one CPU while all of them work."""
        return self.per_s / self.cpus


class Standing(Frozen):
    """The study's machines among public results; without a comparable benchmark of CPUs, the reason."""

    rows: list[StandingRow] = Field(default=[], description="the fastest CPU first")
    among: list[PublicResult] = Field(default=[], description="measured with the same version of stress-ng")
    version: str | None = Field(default=None, description="of stress-ng, of all these numbers")
    source: str
    licence: str
    why_not: Sentence = Field(default=NO_SENTENCE, description="why machines cannot be placed; empty: all are")
    then: Sentence = Field(
        default=NO_SENTENCE, description="what whoever ran the study can do about that, as a sentence"
    )
    memory: list[MemoryStanding] = Field(
        default=[], description="of machines whose memory was read by all CPUs, the fastest CPU first"
    )
    memory_among: list[PublicMemory] = Field(default=[], description="what their memory is compared with")
    is_asked: bool = Field(default=False, description="the study ran the stressor and method of the public results")
