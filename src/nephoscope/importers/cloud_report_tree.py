"""Output trees of the Cloud Reports of 2021 and 2022: VERSION/CLOUD/STORAGE/logs/TYPE/TOOL-results.DATE-NAME/FILE.

Beside the logs of TPC-C stands `cpu_info.txt`: cpufetch, then lscpu of every machine of the cluster; beside the
folders of the other tools `CLUSTER_cpu_info.txt` with that of the first machine. They are read as facts. A file that
lies in no such tree is placed as any other: by the folders above it.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from nephoscope.checks.verdicts import invalid, valid
from nephoscope.importers.files import FileFormat, FileOrigin, Parsed
from nephoscope.importers.identity import BenchmarkIdentity, type_name
from nephoscope.importers.imported import ImportedMachine
from nephoscope.importers.oltp_logs import COCKROACH, TPCC, parse_cockroach_workload
from nephoscope.importers.tool_files import FIO, parse_coremark_file, parse_fio_file, parse_netperf_file
from nephoscope.importers.tree import text_of
from nephoscope.machines.facts import cpu_facts
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Facts, Verdict
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.text import clean
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Volume

_PARSERS = (parse_fio_file, parse_coremark_file, parse_netperf_file, parse_cockroach_workload)
_PROVIDERS = {"aws": "aws", "azure": "azure", "gce": "gcp", "gcp": "gcp"}
_LOGS = "logs"
_CPU_INFO = "cpu_info.txt"
_RESULTS = re.compile(r"(?P<tool>fio|coremark|netperf|tpcc)-results\..+")
_MARKED = frozenset({"fio", "coremark", "netperf"})
"""Tools whose script leaves a file `success`; the reports ignored folders without one."""
_WAREHOUSES = re.compile(r"tpcc-results-(\d+)")
_PER_VCPU = (50, 75, 100, 125, 150)
"""Active warehouses for each vCPU of one machine, as the edition of 2022 required."""
_SIZE = re.compile(r"-(\d*x?large|metal|nano|micro|small|medium)$")
_PRICED_IN = {"aws": "us-east-1", "gcp": "us-east4", "azure": "eastus"}
"""The report's prices are those of Northern Virginia, wherever it measured."""
_SMALL_VCPUS = 8
_DATABASE_MACHINES = 3
"""Of each cluster, beside its load machine."""
_ORDERED: Mapping[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "gp3": (("gp3",), (8_000, 16_000)),
    "io2": (("io2",), (16_000,)),
    "pd-ssd": (("pd-ssd",), (0,)),
    "premium-disk": (("Premium SSD P30 LRS", "Premium SSD P50 LRS"), (0,)),
    "ultra-disk": (("Ultra Disk",), (16_000,)),
}
"""Storage in a path -> kind and IOPS ordered for small and large machines (cloudDetails of 2022). It does not say how
many IOPS pd-extreme had, so that has no price."""
_NODE = re.compile(r"^[ \t]*(?:\d+:[ \t]*)?(?=Architecture:)", re.MULTILINE)
"""Where lscpu of one machine begins; roachprod writes the number of the machine before it."""


def parse_any_of_a_tree(text: str) -> Sequence[Parsed]:
    """A file of a cloud-report tree, by its content.

    Raises:
        OutputUnreadable: no parser knows it.
    """
    refusals = []
    for parse in _PARSERS:
        try:
            found = parse(text)
        except OutputUnreadable as error:
            refusals.append(error.message)
            continue
        if found:
            return found
    raise OutputUnreadable(f"not output of fio, CoreMark, netperf or TPC-C: {'; '.join(refusals)[:300]}")


def place_of(root: Path, file: Path, parsed: Parsed) -> FileOrigin | None:
    """The place of a file in such a tree; None: it is not in one."""
    machine = _machine(file)
    if machine is None:
        return None
    results = _RESULTS.fullmatch(file.parent.name)
    info = _info_beside(file)
    facts = cpu_info_facts(text_of(info, root)) if info else None
    return FileOrigin(
        machine=machine,
        facts=facts,
        beside=(info,) if info else (),
        benchmark=_benchmark(parsed.benchmark, file, facts.cpus_online if facts else None),
        verdicts=_success(file.parent) if results and results["tool"] in _MARKED else (),
    )


def _machine(file: Path) -> ImportedMachine | None:
    """Kinds of storage are configurations of their own."""
    parts = file.resolve().parts
    for index in range(len(parts) - 3, 1, -1):
        provider = _PROVIDERS.get(parts[index - 2])
        if parts[index] == _LOGS and provider:
            storage, written = parts[index - 1], parts[index + 1]
            machine_type = _SIZE.sub(r".\1", written) if provider == "aws" else written
            volumes = _volumes(storage, machine_name(provider, machine_type).vcpus)
            return ImportedMachine(
                name=type_name(provider, machine_type, storage),
                provider=provider,
                machine_type=machine_type,
                priced_in=_PRICED_IN[provider] if volumes is not None else None,
                volumes=volumes or [],
                count=_DATABASE_MACHINES,
            )
    return None


def _volumes(storage: str, vcpus: int | None) -> list[Volume] | None:
    """As the repository orders them: 1,000 GB for machines of 8 vCPU, 2,500 for larger ones. None: it does not say."""
    kind = storage.removeprefix("ebs-")
    if kind == "local-ssd":
        return []
    if vcpus is None or kind not in _ORDERED:
        return None
    small = vcpus <= _SMALL_VCPUS
    sold, iops = _ORDERED[kind]
    return [Volume(kind=sold[0 if small else -1], size=1000 if small else 2500, iops=iops[0 if small else -1])]


def _info_beside(file: Path) -> Path | None:
    own = file.parent / _CPU_INFO
    if own.is_file():
        return own
    of_type = sorted(file.parent.parent.glob(f"*_{_CPU_INFO}")) if _RESULTS.fullmatch(file.parent.name) else []
    return of_type[0] if len(of_type) == 1 else None


def _benchmark(found: BenchmarkIdentity, file: Path, vcpus: int | None) -> BenchmarkIdentity:
    """With the load of TPC-C, which the file's name says, and what follows the size of the machine as such.

    The scripts of an edition give all other parameters.
    """
    contexts, active = found.parameters.get("contexts"), _WAREHOUSES.match(file.stem)
    if contexts is not None and contexts == str(vcpus):
        return found.but(parameters=found.parameters | {"contexts": "one for each vCPU"})
    if found.workload != TPCC or active is None:
        return found
    warehouses = int(active[1])
    each = next((count for count in _PER_VCPU if vcpus and warehouses == count * vcpus), None)
    load = f"{warehouses} warehouses" if each is None else f"{each} per vCPU"
    return found.but(workload=f"{TPCC} {load}", parameters=found.parameters | {"active warehouses": load})


def _success(folder: Path) -> tuple[Verdict, ...]:
    there = (folder / "success").is_file()
    return ((valid if there else invalid)("success-mark", f"a file `success` is {'there' if there else 'missing'}"),)


def cpu_info_facts(text: str) -> Facts | None:
    """Facts that all machines share, and every CPU model found. None: the text contains no readable lscpu output."""
    plain = clean(text)
    starts = [found.end() for found in _NODE.finditer(plain)]
    if not starts:
        return None
    machines: list[dict[str, Any]] = []
    for start, end in pairwise([*starts, len(plain)]):
        try:
            machines.append(cpu_facts(parse_lscpu(plain[start:end].rstrip() + "\n")))
        except OutputUnreadable:
            return None
    common = {key: value for key, value in machines[0].items() if all(one[key] == value for one in machines)}
    models = sorted({str(one["cpu_model"]) for one in machines if one["cpu_model"]})
    return Facts(**{**common, "at_unix_ms": None, "cpu_model": " | ".join(models) or None})


CLOUD_REPORT_TREE = FileFormat(
    name="cloud-report",
    title="an output tree of the Cloud Reports of 2021 and 2022",
    parse=parse_any_of_a_tree,
    unknown=(
        "which of several runs of a tool the report used; all files are imported",
        "prices are those of Northern Virginia, for three machines with the volumes of the repository of 2022",
        "for other files (scripts, logs of the driver), only that they exist",
        "cpu_info.txt was written after the run in its folder, or before all runs of its cluster",
        *COCKROACH.unknown,
    ),
    checks=(
        *FIO.checks,
        *COCKROACH.checks,
        ("success-mark", "Rejects output whose script did not leave the file `success`: the reports ignored it, too."),
    ),
    suffixes=(".json", ".log", ".txt", ".out", ""),
    place=place_of,
    aside=lambda file: file.name.endswith(_CPU_INFO) or file.name == "success",
)
