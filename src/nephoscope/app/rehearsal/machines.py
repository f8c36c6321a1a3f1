"""Machines that do not exist: what they would show, and how fast a simulation takes them to be."""

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from nephoscope.analysis.promised import sold_volume
from nephoscope.model.records import Disk, Facts
from nephoscope.model.units import GIB
from nephoscope.prices.catalogue.advertised import Advertised, bandwidth
from nephoscope.prices.catalogue.machines import size_of
from nephoscope.study.machine_names import machine_name
from nephoscope.study.machines import two_regions
from nephoscope.study.model import Configuration, Machine

_THREADS = 2
"""Of a core, where the study does not say."""
_VCPUS = 8
"""Of a machine whose type does not say it."""
_GIB_PER_VCPU: Mapping[str, float] = {
    "c": 2,
    "m": 4,
    "r": 8,
    "n2-highcpu": 1,
    "n2-highmem": 8,
    "n2d-highcpu": 1,
    "n2d-highmem": 8,
    **dict.fromkeys(("c4-standard", "c4a-standard", "c4d-standard"), 4),
    **dict.fromkeys(("c4-highmem", "c4a-highmem", "c4d-highmem"), 8),
    **dict.fromkeys(("dls", "dals", "dpls"), 2),
    "n1-highcpu": 0.9,
    "n1-highmem": 6.5,
    "f": 2,
    "e": 8,
    "ds": 4,
    "gs": 14,
}
"""By the start of a family's name; the longest that fits counts."""
_MOST_OF_LITTLE_MEMORY = 5
"""Sizes 1 to 5 of Azure's first two D families have half the memory of sizes 11 to 15."""
_SPEED: Mapping[str, float] = {
    "t2d": 1.2,
    "m6i": 1.12,
    "n2d": 1.0,
    "n2": 1.05,
    "c2": 1.08,
    "m5a": 0.7,
    "r5a": 0.7,
    "c5a": 0.9,
    "c5": 1.0,
    "n1": 0.85,
    "das_v5": 1.1,
    "eas_v5": 1.1,
    "ds_v5": 1.08,
    "es_v5": 1.08,
    **dict.fromkeys(("m8i", "c8i", "r8i", "c4-"), 1.25),
    **dict.fromkeys(("m8a", "c8a", "r8a", "c4d", "das_v7"), 1.4),
    **dict.fromkeys(("m8g", "c8g", "r8g", "c4a", "n4a"), 1.3),
    **dict.fromkeys(("m9g", "c9g"), 1.5),
    **dict.fromkeys(("ds_v6", "dls_v6", "es_v6"), 1.12),
    **dict.fromkeys(("das_v6", "dals_v6", "eas_v6"), 1.2),
    **dict.fromkeys(("dps_v6", "dpls_v6", "eps_v6"), 1.16),
}
"""Of one vCPU, by the start of a family's name: invented, where there is a report in the order that it found."""
_OTHER_SPEED, _SPEED_SPREAD = 0.95, 0.02
_READS_PER_WRITE, _READS_SPREAD = 1.3, 0.08
DELIVERED = 0.97
"""Of a rate that is sold: so much that no replicate has more."""


@dataclass(frozen=True)
class SimulatedMachine:
    """One configuration as the simulation sees it: the machine of the role that is measured."""

    asked: Configuration
    vcpus: int
    gib_per_vcpu: float
    speed: float
    """Of one vCPU; a configuration of the same type has the same."""

    @classmethod
    def of(cls, configuration: Configuration) -> "SimulatedMachine":
        """As the catalogue describes its type; by the type's name if it does not."""
        database, sold = configuration.database_machine, configuration.priced_as
        provider = sold.provider if sold else configuration.provider
        kind = (sold.type if sold else database.type) or configuration.name
        name = machine_name(provider, kind)
        family = (name.family or kind).lower()
        drawn = random.Random(f"nephoscope/rehearsal/{provider}/{kind}").gauss(0, _SPEED_SPREAD)  # noqa: S311
        sold_vcpus, sold_gib = size_of(provider, kind) or (name.vcpus, None)
        vcpus = _vcpus(database, sold_vcpus)
        return cls(
            asked=configuration,
            vcpus=vcpus,
            gib_per_vcpu=sold_gib / vcpus if sold_gib else _gib_per_vcpu(kind, family),
            speed=_longest(_SPEED, family, _OTHER_SPEED) * (1 + drawn),
        )

    @property
    def is_far(self) -> bool:
        """True if its load machine is in another region."""
        return two_regions(self.asked) is not None

    @property
    def bandwidth(self) -> Advertised | None:
        """What the network of its type is sold as."""
        return bandwidth(self.asked.provider, self.asked.database_machine.type or "", self.vcpus)

    @cached_property
    def volume_iops(self) -> float:
        """The most I/Os per second that its volume gives; infinite if nothing is known of it."""
        sold = sold_volume(self.asked.model_dump(mode="json"))
        return float("inf") if sold is None else DELIVERED * sold[1].value

    @cached_property
    def reads_per_write(self) -> float:
        """How many times as fast its storage reads as it writes; each configuration has its own."""
        drawn = random.Random(f"nephoscope/rehearsal/{self.asked.name}/reads")  # noqa: S311
        return _READS_PER_WRITE * math.exp(drawn.gauss(0, _READS_SPREAD))

    @property
    def has_network_credits(self) -> bool:
        """True where AWS says "up to": its network is fast until credits are spent, but not between regions."""
        sold = self.bandwidth
        return self.asked.provider == "aws" and not self.is_far and sold is not None and sold.kind == "up to"

    @property
    def cpus(self) -> int:
        """Those that the study lets its processes use."""
        asked = self.asked.database_machine.cpus
        return asked if isinstance(asked, int) else self.vcpus

    @property
    def has_fast_volumes(self) -> bool:
        """True with volumes that are sold for their speed."""
        volumes = self.asked.database_machine.volumes or ()
        return any(
            one.kind in {"io1", "io2", "pd-extreme", "Ultra Disk"}
            or (one.kind == "hyperdisk-balanced" and one.iops > 0)
            for one in volumes
        )

    def facts(self, name: str, at_unix_ms: int, *, is_load: bool = False) -> Facts:
        """What it shows of itself: all that the study asks for. A load machine has the quota of its own kind."""
        asked = self.asked.database_machine
        emulated = (self.asked.load_machine if is_load and self.asked.load_machine else asked).emulated
        family = (machine_name(self.asked.provider, asked.type or "").family or asked.type or self.asked.name).lower()
        online = max(self.vcpus, self.cpus)
        memory_gib = asked.expect_memory_gib or self.gib_per_vcpu * self.vcpus
        return Facts(
            at_unix_ms=at_unix_ms,
            hostname=name,
            cpu_model=asked.expect_cpu_model or f"simulated {family.partition('-')[0]}",
            architecture="simulated",
            cpus_online=online,
            cpus_allowed=self.cpus,
            threads_per_core=asked.threads_per_core or (_THREADS if asked.cores else None),
            sockets=asked.expect_sockets or 1,
            numa_nodes=asked.expect_numa_nodes or 1,
            l3_bytes=None if asked.expect_l3_mib is None else round(asked.expect_l3_mib * GIB / 1024),
            memory_bytes=round(memory_gib * GIB),
            kernel=asked.expect_kernel or "simulated",
            clock_source=asked.expect_clock_source,
            clock_offset_s=0.0,
            clock_offset_bound_s=0.0,
            steal_share=0.0,
            busy_share=0.0,
            busy_share_by_cpu={f"cpu{cpu}": 0.0 for cpu in range(online)},
            observed_for_s=0.5,
            cgroups_seen=True,
            cgroup_cpu_limit=emulated.cpu_quota if emulated else None,
            disk=_disk(asked),
        )


def _vcpus(machine: Machine, named: int | None) -> int:
    if machine.emulated is not None:
        return machine.emulated.vcpus
    if machine.cores is not None:
        return machine.cores * (machine.threads_per_core or _THREADS)
    return named or (machine.cpus if isinstance(machine.cpus, int) else _VCPUS)


def _gib_per_vcpu(kind: str, family: str) -> float:
    """A custom type of GCP says its memory, an older D of Azure has it by its number, others have their family's."""
    if old := re.fullmatch(r"Standard_DS?(\d+)(?:_v2)?", kind):
        return 7 if int(old[1]) > _MOST_OF_LITTLE_MEMORY else 3.5
    custom = re.search(r"custom-(\d+)-(\d+)", kind)
    return int(custom[2]) / 1024 / int(custom[1]) if custom else _longest(_GIB_PER_VCPU, family, 4.0)


def _disk(machine: Machine) -> Disk:
    size_bytes = None if machine.expect_disk_gib is None else round(machine.expect_disk_gib * GIB)
    options = [option for option in machine.mount_options or () if option != "barrier"]
    return Disk(
        filesystem=machine.filesystem,
        mount_options=",".join(("noatime", *options)),
        size_bytes=size_bytes,
        rotational=None if machine.expect_disk_kind is None else machine.expect_disk_kind == "hdd",
    )


def _longest(table: Mapping[str, float], family: str, other: float) -> float:
    fitting = [start for start in table if family.startswith(start)]
    return table[max(fitting, key=len)] if fitting else other
