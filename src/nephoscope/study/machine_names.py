"""What the name of a machine type says: family, vCPUs, CPU vendor, generation, and whether it earns CPU credits."""

import re
from typing import Final

from nephoscope.model.frozen import Frozen

_AZURE = re.compile(r"Standard_(?P<letters>[A-Z]+)(?P<number>\d+)(?:-\d+)?(?P<options>[a-z]*)(?:_v(?P<version>\d+))?")
_AZURE_NUMBERS_VCPUS_SINCE = 3
_AZURE_ALWAYS = frozenset({"F", "L"})
"""Families whose numbers are vCPUs in every version."""
_AZURE_SIZES: Final = {
    "D": {1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 11: 2, 12: 4, 13: 8, 14: 16, 15: 20},
    "G": {1: 2, 2: 4, 3: 8, 4: 16, 5: 32},
}
"""vCPUs of the sizes that the first two versions of a family count, with and without S for premium disks."""
_AZURE_VENDORS = {"a": "AMD", "p": "Arm"}
_AWS_SIZES = {"large": 2, "xlarge": 4}
_AWS_MULTIPLE = re.compile(r"(\d+)xlarge")
_AWS_FAMILY = re.compile(r"(?P<letters>[a-z]+)(?P<generation>\d+)(?P<options>[a-z]*)(?P<rest>-[a-z]+)?")
_AWS_VENDORS = {"a": "AMD", "g": "Arm", "i": "Intel"}
_GCP_FAMILY = re.compile(r"(?P<letters>[a-z])(?P<generation>\d)(?P<vendor>[ad]?)-(?P<shape>[a-z]+)")
_GCP_CUSTOM = re.compile(r"(?P<family>(?:[a-z0-9]+-)?custom)-(?P<vcpus>\d+)-(?P<mib>\d+)(?:-ext)?")
_GCP_LOCAL_SSD = "-lssd"
"""The end of a type that differs from another one in its local SSDs only: 'c4-standard-8-lssd'."""
_GCP_VENDORS = {"": "Intel", "a": "Arm", "d": "AMD"}
_GCP_OF_ANY_VENDOR = frozenset({"e"})
"""Families whose machines have the CPU of whichever vendor is free."""


class MachineName(Frozen):
    """What the name of a machine type says. None: it does not say it in a way known here."""

    family: str | None
    vcpus: int | None
    series: str | None = None
    """The family without vendor and generation: 'm' of 'm6i', 'n-standard' of 'n2d-standard'."""
    generation: int | None = None
    vendor: str | None = None
    """'AMD', 'Arm' or 'Intel'."""


_MAX_LENGTH = 100
"""Of what a provider may call a type; a longer one says nothing, and its numbers may be too large to compute with."""


def machine_name(provider: str, machine_type: str) -> MachineName:
    """'m6i' and 8 of 'm6i.2xlarge', 'n2-standard' and 8 of 'n2-standard-8', 'Ds_v5' and 8 of 'Standard_D8s_v5'."""
    if len(machine_type) > _MAX_LENGTH:
        return MachineName(family=None, vcpus=None)
    if provider == "aws":
        return _aws(machine_type)
    if provider == "gcp":
        return _gcp(machine_type)
    found = _AZURE.fullmatch(machine_type) if provider == "azure" else None
    if found is None:
        return MachineName(family=None, vcpus=None)
    letters, options, version = found["letters"], found["options"], int(found["version"] or 1)
    number = int(found["number"])
    says = version >= _AZURE_NUMBERS_VCPUS_SINCE or letters in _AZURE_ALWAYS
    return MachineName(
        family=letters + options + (f"_v{found['version']}" if found["version"] else ""),
        vcpus=number if says else _AZURE_SIZES.get(letters.removesuffix("S"), {}).get(number),
        series=letters + re.sub("[ap]", "", options),
        generation=version,
        vendor=next((vendor for sign, vendor in _AZURE_VENDORS.items() if sign in options), "Intel"),
    )


def _aws(machine_type: str) -> MachineName:
    family, _, size = machine_type.partition(".")
    multiple = _AWS_MULTIPLE.fullmatch(size)
    vcpus = 4 * int(multiple[1]) if multiple else _AWS_SIZES.get(size)
    found = _AWS_FAMILY.fullmatch(family)
    if found is None:
        return MachineName(family=family, vcpus=vcpus)
    options = found["options"]
    sign = options[:1] if options[:1] in _AWS_VENDORS else ""
    return MachineName(
        family=family,
        vcpus=vcpus,
        series=found["letters"] + options.removeprefix(sign) + (found["rest"] or ""),
        generation=int(found["generation"]),
        vendor=_AWS_VENDORS.get(sign, "Intel"),
    )


def _gcp(machine_type: str) -> MachineName:
    custom = _GCP_CUSTOM.fullmatch(machine_type)
    if custom:
        return _custom(custom["family"], int(custom["vcpus"]), int(custom["mib"]))
    family, _, size = machine_type.removesuffix(_GCP_LOCAL_SSD).rpartition("-")
    vcpus = int(size) if size.isascii() and size.isdigit() and family else None
    found = _GCP_FAMILY.fullmatch(family)
    if found is None:
        return MachineName(family=family or None, vcpus=vcpus)
    return MachineName(
        family=family,
        vcpus=vcpus,
        series=f"{found['letters']}-{found['shape']}"
        + (_GCP_LOCAL_SSD if machine_type.endswith(_GCP_LOCAL_SSD) else ""),
        generation=int(found["generation"]),
        vendor=None if found["letters"] in _GCP_OF_ANY_VENDOR else _GCP_VENDORS[found["vendor"]],
    )


def _custom(family: str, vcpus: int, mib: int) -> MachineName:
    """A custom type says its memory, so types of one series have as much for each vCPU: 'n-custom-4gib'."""
    said = _gcp(f"{family}-{vcpus}")
    memory = f"{mib / 1024 / max(1, vcpus):g}gib"
    return said.model_copy(update={"series": f"{said.series}-{memory}" if said.series else None})


_BURSTABLE: Final = re.compile(
    r"t[23][a-z]?\.\w+|t4g\.\w+|e2-(?:micro|small|medium)|f1-micro|g1-small|Standard_B\d\w*", re.IGNORECASE
)


def is_burstable(machine_type: str | None) -> bool:
    """True for a type that is sold with CPU credits; False for every other one, and for None."""
    return machine_type is not None and _BURSTABLE.fullmatch(machine_type) is not None
