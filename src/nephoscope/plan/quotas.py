"""What a plan needs of a cloud's quotas in each region, for so many clusters at once. Pure.

The clusters that exist at the same time are not known before, so this adds up the largest ones for each quota: no more
is ever needed, and often less. Names of quotas are those of the providers' consoles: on AWS, families of one letter
share a quota of vCPUs (https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html). Spot machines
have quotas of their own on AWS and Azure; on GCP they count for the usual ones, unless a project has asked for others.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nephoscope.model.records import Plan
from nephoscope.study.machine_names import machine_name
from nephoscope.study.machines import GCP_LOCAL_SSD_GIB, region_of
from nephoscope.study.model import Configuration, Machine, Study
from nephoscope.study.provisioning import CLOUDS

_AWS_STANDARD = frozenset("acdhimrtz")
_AWS_OTHERS = {
    "g": "G and VT",
    "vt": "G and VT",
    "inf": "Inf",
    "trn": "Trn",
    "dl": "DL",
    "hpc": "HPC",
    "u": "High Memory",
    "mac": "mac",
}
_AZURE_SPOT = "Total Regional Low-priority vCPUs"
"""Of all families together; the portal still uses the old name of spot machines."""
_GCP_SHARED = frozenset({"n1", "e2", "f1", "g1"})
"""Families that count as plain 'CPUS'."""


@dataclass(frozen=True)
class VolumeNeeds:
    """Volumes of one kind."""

    kind: str
    count: int
    size: float
    """Of all of them, in GB or GiB, whichever the provider uses."""
    iops: float
    """Provisioned on all of them."""


@dataclass(frozen=True)
class RegionNeeds:
    """What is needed in one region of one provider at the same time."""

    provider: str
    region: str
    machines: int
    addresses: int
    """Public ones; 0: machines are reached from inside their network."""
    vcpus: dict[str, int]
    """By the provider's quota."""
    volumes: list[VolumeNeeds]
    unknown: list[str]
    """Machine types whose names do not say how many vCPUs they have."""


class _Quota(NamedTuple):
    """One thing that a provider counts in a region."""

    what: str
    name: str


_Needs = Mapping[tuple[str, str], Counter[_Quota]]
"""Provider and region -> what one cluster needs."""


def needs_of(study: Study, plan: Plan, clusters: int, shared: Mapping[str, str | None]) -> list[RegionNeeds]:
    """The needs of the clouds that a plan uses, by provider and region.

    Args:
        study: with the plan's configurations.
        plan: of it, or of a part.
        clusters: how many exist at once.
        shared: trial id -> name of the cluster that it shares; None: it has one of its own.
    """
    names = {(one.configuration_name, shared[one.id] or one.id) for one in (row.intent for row in plan.trials)}
    ever = Counter(configuration for configuration, _ in names)
    used = [one for one in study.configurations if one.provider in CLOUDS and one.name in ever]
    at_once: dict[tuple[str, str], dict[_Quota, list[int]]] = defaultdict(lambda: defaultdict(list))
    for configuration in used:
        alike = min(clusters, ever[configuration.name])
        for place, counts in _of_cluster(configuration).items():
            for quota, amount in counts.items():
                at_once[place][quota] += [amount] * alike
    most = {
        place: {quota: sum(sorted(amounts, reverse=True)[:clusters]) for quota, amounts in quotas.items()}
        for place, quotas in at_once.items()
    }
    return [_region(*place, most[place]) for place in sorted(most)]


def _region(provider: str, region: str, most: Mapping[_Quota, int]) -> RegionNeeds:
    def of(what: str) -> dict[str, int]:
        return {quota.name: amount for quota, amount in sorted(most.items()) if quota.what == what}

    counts, sizes, iops = of("volumes"), of("size"), of("iops")
    return RegionNeeds(
        provider=provider,
        region=region,
        machines=of("machines").get("", 0),
        addresses=of("addresses").get("", 0),
        vcpus=of("vcpus"),
        volumes=[
            VolumeNeeds(kind=kind, count=count, size=sizes[kind], iops=iops.get(kind, 0))
            for kind, count in counts.items()
        ],
        unknown=list(of("unknown")),
    )


def _of_cluster(configuration: Configuration) -> _Needs:
    found: dict[tuple[str, str], Counter[_Quota]] = defaultdict(Counter)
    for machine in (configuration.database_machine, configuration.load_machine):
        if machine is not None:
            place = configuration.provider, region_of(configuration, machine) or ""
            found[place].update(dict(_of_machines(configuration, machine)))
    return found


def _of_machines(configuration: Configuration, machine: Machine) -> Iterator[tuple[_Quota, int]]:
    """Of one role of a cluster."""
    kind, provider = machine.type or "", configuration.provider
    yield _Quota("machines", ""), machine.count
    if configuration.cloud is None or configuration.cloud.reach == "public":
        yield _Quota("addresses", ""), machine.count
    vcpus = machine_name(provider, kind).vcpus
    if vcpus is None:
        yield _Quota("unknown", kind), 1
    else:
        spot = configuration.cloud is not None and bool(configuration.cloud.spot)
        yield _Quota("vcpus", _vcpu_quota(provider, kind, spot=spot)), vcpus * machine.count
    for volume in _volumes(machine, provider):
        yield _Quota("volumes", volume.kind), volume.count
        yield _Quota("size", volume.kind), round(volume.size)
        yield _Quota("iops", volume.kind), round(volume.iops)


def _volumes(machine: Machine, provider: str) -> Sequence[VolumeNeeds]:
    """Of all machines of a role, by kind."""
    found: dict[str, VolumeNeeds] = {}
    ordered = [(one.kind, one.count, one.size, one.iops) for one in machine.volumes or ()]
    if machine.local_ssds and provider == "gcp":
        ordered.append(("local SSD", machine.local_ssds, GCP_LOCAL_SSD_GIB, 0.0))
    for kind, count, size, iops in ordered:
        had = found.get(kind, VolumeNeeds(kind=kind, count=0, size=0, iops=0))
        many = count * machine.count
        found[kind] = VolumeNeeds(
            kind=kind, count=had.count + many, size=had.size + size * many, iops=had.iops + iops * many
        )
    return list(found.values())


def _vcpu_quota(provider: str, kind: str, *, spot: bool) -> str:
    """The quota of vCPUs that a machine type counts for."""
    if provider == "aws":
        family = _aws_family(kind)
        return f"All {family} Spot Instance Requests" if spot else f"Running On-Demand {family} instances"
    family = machine_name(provider, kind).family or kind
    if provider == "gcp":
        series = family.partition("-")[0]
        return "CPUS" if series in _GCP_SHARED or series == "custom" else f"{series.upper()}_CPUS"
    if spot:
        return _AZURE_SPOT
    base, _, version = family.partition("_")
    return f"{base.upper()}{version}"


def _aws_family(kind: str) -> str:
    letters = re.match(r"[a-z]+", kind)
    name = letters[0] if letters else ""
    if name in _AWS_OTHERS:
        return _AWS_OTHERS[name]
    return "Standard" if name[:1] in _AWS_STANDARD else name[:1].upper()
