"""What is known of each configuration's machine: as ordered, and as observed."""

import re
from collections.abc import Mapping, Sequence

from nephoscope.analysis.cpu_designs import design_of, vendor_of
from nephoscope.analysis.machines import machines
from nephoscope.analysis.renamed import names
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.rows import ConfigurationRow, MachineRow
from nephoscope.model.units import GIB
from nephoscope.study.machine_names import machine_name
from nephoscope.study.managed import is_managed
from nephoscope.study.model import Configuration, Study

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
