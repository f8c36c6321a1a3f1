"""What is known of each configuration's machine: as ordered, and as observed, with the design of its CPU."""

import re
from collections.abc import Mapping, Sequence

from nephoscope.analysis.machines import machines
from nephoscope.analysis.renamed import names
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.records import Facts
from nephoscope.model.rows import ConfigurationRow, MachineRow
from nephoscope.model.units import GIB
from nephoscope.study.machine_names import machine_name
from nephoscope.study.managed import is_managed
from nephoscope.study.model import Configuration, Study

# The design of a CPU by its CPUID: clouds hide model names ('Intel(R) Xeon(R) CPU @ 2.80GHz') but not this.
# Sources: the Linux kernel's arch/x86/include/asm/intel-family.h; AMD's Processor Programming References. Skylake,
# Cascade Lake and Cooper Lake share a model number and differ in the stepping.
_INTEL_FAMILY = 6
_SKYLAKE_MODEL = 85
_FIRST_CASCADE_LAKE_STEPPING, _FIRST_COOPER_LAKE_STEPPING = 5, 8

_INTEL: Mapping[int, str] = {
    45: "Sandy Bridge",
    62: "Ivy Bridge",
    63: "Haswell",
    79: "Broadwell",
    106: "Ice Lake",
    108: "Ice Lake",
    143: "Sapphire Rapids",
    207: "Emerald Rapids",
    173: "Granite Rapids",
}
_AMD: Mapping[tuple[int, int], str] = {
    (23, 1): "Naples",
    (23, 49): "Rome",
    (25, 1): "Milan",
    (25, 17): "Genoa",
    (25, 160): "Bergamo",
    (26, 2): "Turin",
}
_VENDORS: Mapping[str, str] = {
    "GenuineIntel": "Intel",
    "AuthenticAMD": "AMD",
    "Intel": "Intel",
    "AMD": "AMD",
    "ARM": "Arm",
    "Ampere": "Arm",
}


def vendor_of(facts: Facts) -> str | None:
    """'AMD', 'Intel' or 'Arm'; None: unknown, or another vendor."""
    return _VENDORS.get(facts.cpu_vendor or "")


def design_of(facts: Facts) -> str | None:
    """'Milan', 'Ice Lake'; None where CPUID was not seen or is not in the table: never guessed from a model name."""
    family, model = facts.cpu_family, facts.cpu_model_number
    if family is None or model is None:
        return None
    vendor = vendor_of(facts)
    if vendor == "AMD":
        return _AMD.get((family, model))
    if vendor == "Intel" and family == _INTEL_FAMILY:
        return _of_model_85(facts.cpu_stepping) if model == _SKYLAKE_MODEL else _INTEL.get(model)
    return None


def _of_model_85(stepping: int | None) -> str | None:
    if stepping is None:
        return None
    if stepping < _FIRST_CASCADE_LAKE_STEPPING:
        return "Skylake"
    return "Cascade Lake" if stepping < _FIRST_COOPER_LAKE_STEPPING else "Cooper Lake"


_SIZE = re.compile(r" P\d+( [A-Z]+)?$")
"""The end of a kind that says how large a disk is, and how it is copied: ' P30 LRS'."""


def configurations_of(study: Study, names: Mapping[str, str], machines: Sequence[MachineRow]) -> list[ConfigurationRow]:
    """A row per configuration, sorted by name.

    Args:
        study: what was requested.
        names: configuration as analysed (a split one has its own name) -> its name in the study.
        machines: observed; the row of most trials comes first.
    """
    asked = {one.name: one for one in study.configurations}
    seen: dict[str, MachineRow] = {}
    for row in machines:
        seen.setdefault(row.configuration, row)
    return [
        _row(name, asked[original], seen.get(name)) for name, original in sorted(names.items()) if original in asked
    ]


def _row(name: str, asked: Configuration, seen: MachineRow | None) -> ConfigurationRow:
    machine_type = asked.database_machine.type
    said = machine_name(asked.provider, machine_type) if machine_type else None
    facts = seen.facts if seen and not is_managed(asked) else None
    vcpus = (facts.cpus_online if facts else None) or (said.vcpus if said else None)
    memory = facts.memory_bytes if facts else None
    return ConfigurationRow(
        configuration=name,
        provider=asked.provider,
        machine_type=machine_type,
        family=said.family if said else None,
        vcpus=vcpus,
        memory_gib_per_vcpu=memory / GIB / vcpus if memory and vcpus else None,
        cpu_vendor=vendor_of(facts) if facts else None,
        cpu_design=design_of(facts) if facts else None,
        cpu_model=facts.cpu_model if facts else None,
        threads_per_core=facts.threads_per_core if facts else None,
        numa_nodes=facts.numa_nodes if facts else None,
        labels=asked.labels,
        storage=_storage(asked),
    )


def _storage(asked: Configuration) -> str | None:
    """What holds the data, as ordered. Azure's kinds name a size, which is no kind: 'Premium SSD P30 LRS'."""
    machine, sold = asked.database_machine, asked.priced_as
    volumes = machine.volumes or (sold.volumes if sold else None)
    if volumes:
        return " + ".join(dict.fromkeys(_SIZE.sub("", one.kind) for one in volumes))
    return "local SSD" if machine.local_ssds else None


def configurations(of: Workings) -> list[ConfigurationRow]:
    """What is known of the machine of each configuration, sorted by name."""
    return configurations_of(of.inputs.study, of(names), of(machines))


CONFIGURATIONS = Table("configurations", ConfigurationRow, configurations, has_columns=False)
