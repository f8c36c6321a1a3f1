"""What `lscpu -J -B` 2.39.3 said on Arm machines of three clouds, becomes facts.

The values are those of Spare Cores' inspector data (<https://github.com/SpareCores/sc-inspector-data>, August 2026),
one small machine of each kind of CPU, and the largest one of AWS.
"""

import json

import pytest

from nephoscope.machines.facts import Looks, facts_of
from nephoscope.model.units import MIB
from nephoscope.parsers.cpuinfo import parse_cpuinfo
from nephoscope.parsers.lscpu import parse_lscpu

NEOVERSE_N1 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
NEOVERSE_V2 = f"{NEOVERSE_N1} sve sve2 paca pacg svei8mm svebf16 i8mm bf16 dgh rng bti"
"""`atomics` are the Large System Extensions (LSE): https://docs.kernel.org/arch/arm64/elf_hwcaps.html."""


def lscpu(core: str, stepping: str, bios: tuple[str, str], flags: str, **sizes: str) -> str:
    """The output, of a machine with two CPUs if `sizes` do not say otherwise."""
    fields = {"Architecture": "aarch64", "CPU op-mode(s)": "64-bit", "Byte Order": "Little Endian", "CPU(s)": "2"}
    fields |= {"On-line CPU(s) list": "0,1", "Vendor ID": "ARM", "BIOS Vendor ID": bios[0], "Model name": core}
    fields |= {"BIOS Model name": bios[1], "BIOS CPU family": "257", "Model": "1", "Thread(s) per core": "1"}
    fields |= {"Core(s) per socket": "2", "Socket(s)": "1", "Stepping": stepping, "BogoMIPS": "2000.00"}
    fields |= {"Flags": flags, "NUMA node(s)": "1", "NUMA node0 CPU(s)": "0,1"} | sizes
    return json.dumps({"lscpu": [{"field": f"{name}:", "data": data} for name, data in fields.items()]})


def caches(l2: int, l3: int, instances: int = 2) -> dict[str, str]:
    return {"L2 cache": f"{l2 * MIB} ({instances} instances)", "L3 cache": f"{l3 * MIB} (1 instance)"}


GRAVITON_2 = ("AWS", "AWS Graviton2 AWS Graviton2 CPU @ 2.5GHz")
GRAVITON_4 = ("AWS", "AWS Graviton4 AWS Graviton4 CPU @ 2.8GHz")
ALTRA = ("Ampere(R)", "Ampere(R) Altra(R) Processor None CPU @ 3.0GHz")
COBALT = ("MICROSOFT CORPORATION", "Cobalt 100 None CPU @ 3.4GHz")
M8G_48XLARGE = {
    "CPU(s)": "192",
    "On-line CPU(s) list": "0-191",
    "Core(s) per socket": "96",
    "Socket(s)": "2",
    "NUMA node(s)": "2",
    "NUMA node0 CPU(s)": "0-95",
    "NUMA node1 CPU(s)": "96-191",
}


@pytest.mark.parametrize(
    ("said", "core", "cpus", "cores", "l2_mib", "l3_mib"),
    [
        (lscpu("Neoverse-N1", "r3p1", GRAVITON_2, NEOVERSE_N1, **caches(2, 32)), "Neoverse-N1", 2, (1, 2), 2, 32),
        (lscpu("Neoverse-V2", "r0p1", GRAVITON_4, NEOVERSE_V2, **caches(4, 36)), "Neoverse-V2", 2, (1, 2), 4, 36),
        (
            lscpu("Neoverse-V2", "r0p1", GRAVITON_4, NEOVERSE_V2, **(M8G_48XLARGE | caches(384, 72, 192))),
            *("Neoverse-V2", 192, (2, 96), 384, 72),
        ),
        (
            lscpu("Neoverse-V2", "r0p1", ("Google", "Axion  CPU @ 3.0GHz"), NEOVERSE_V2, **caches(4, 80)),
            *("Neoverse-V2", 2, (1, 2), 4, 80),
        ),
        (lscpu("Neoverse-N1", "r3p1", ALTRA, NEOVERSE_N1, **caches(2, 32)), "Neoverse-N1", 2, (1, 2), 2, 32),
        # Altra at Google: it names no caches.
        (lscpu("Neoverse-N1", "r3p1", ("Google", "  CPU @ 3.0GHz"), NEOVERSE_N1), "Neoverse-N1", 2, (1, 2), None, None),
        (lscpu("Neoverse-N2", "r0p0", COBALT, NEOVERSE_V2, **caches(2, 128)), "Neoverse-N2", 2, (1, 2), 2, 128),
    ],
    ids=["graviton-2", "graviton-4", "graviton-4-two-sockets", "axion", "altra-azure", "altra-gcp", "cobalt-100"],
)
def test_arm_machines_of_the_clouds(
    said: str, core: str, cpus: int, cores: tuple[int, int], l2_mib: int | None, l3_mib: int | None
) -> None:
    facts = facts_of(Looks(1, said, "", "", ""))
    assert (facts.architecture, facts.cpu_vendor, facts.cpu_model) == ("aarch64", "ARM", core)
    assert (facts.cpus_online, facts.sockets, facts.cores_per_socket, facts.threads_per_core) == (cpus, *cores, 1)
    assert facts.numa_nodes == cores[0]
    assert facts.l2_bytes == (None if l2_mib is None else l2_mib * MIB)
    assert facts.l3_bytes == (None if l3_mib is None else l3_mib * MIB)
    assert (facts.cpu_family, facts.cpu_stepping) == (None, None), "an Arm stepping is no number"
    assert facts.virtualization is None, "it is a virtual machine, and nothing in the answer says so"
    read = parse_lscpu(said)
    assert (read.vcpus, read.sockets, read.cores_per_socket) == (cpus, *cores)
    assert "atomics" in read.flags
    assert read.hypervisor_vendor is None


def kind(model: str, cores: str, threads: str = "1") -> str:
    return (
        f"  Model name: {model}\n    Thread(s) per core: {threads}\n    Core(s) per socket: {cores}\n    Socket(s): 1\n"
    )


KINDS = kind("Cortex-X925", "10") + kind("Cortex-A725", "10")


@pytest.mark.parametrize(
    ("cpus", "kinds", "model", "cores", "threads", "of_kinds"),
    [
        (20, KINDS, "Cortex-X925 + Cortex-A725", 20, 1, {"Cortex-X925": 10, "Cortex-A725": 10}),
        (30, kind("A", "10", "2") + kind("B", "10"), "A + B", 20, None, {"A": 10, "B": 10}),
        (24, kind("Core i9", "16", "2"), "Core i9", 16, None, {}),
        (5, kind("A", "2"), "A", None, None, {}),
        (4, kind("A", "4294967295"), "A", None, 1, {}),
        (4, kind("A", "64"), "A", None, 1, {}),
        (4, kind("A", "0", "0"), "A", None, None, {}),
        (20, KINDS.replace("Cortex-X925", "-").replace("Cortex-A725", "-"), None, None, None, {}),
    ],
    ids=["two", "threads", "intel", "rounded", "unsigned", "too-many", "zero", "nameless"],
)
def test_kinds_of_cores_and_impossible_counts_are_the_same_in_parser_and_facts(
    cpus: int, kinds: str, model: str, cores: int | None, threads: int | None, of_kinds: dict[str, int]
) -> None:
    said = f"Architecture: aarch64\nCPU(s): {cpus}\nOn-line CPU(s) list: 0-{cpus - 1}\n{kinds}"
    read, facts = parse_lscpu(said), facts_of(Looks(1, said, "", "", ""))
    for found in (read, facts):
        assert (found.cores_per_socket, found.threads_per_core, found.sockets) == (cores, threads, 1)
    assert (read.model_name, facts.cpu_model) == (model, model)
    assert {one.model_name: one.cores for one in read.kinds} == facts.core_kinds == of_kinds


def test_an_odd_value_of_lscpu_leaves_out_itself() -> None:
    said = "Architecture: x86_64\nCPU(s): 2\nCPU max MHz: 4294967.2950\nL2 cache: lots\nL3 cache: 1 MiB\n"
    read = parse_lscpu(said)
    assert (read.vcpus, read.max_mhz, set(read.caches)) == (2, None, {"L3"})


def test_cpuinfo_of_arm_shows_the_parts_of_its_cores_and_large_system_extensions() -> None:
    block = f"processor\t: {{}}\nBogoMIPS\t: 2000.00\nFeatures\t: {NEOVERSE_V2}\nCPU implementer\t: 0x41\n"
    block += "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 1\n\n"
    found = parse_cpuinfo("".join(block.format(cpu) for cpu in range(2)))
    assert (found.cpus, found.arm_parts, found.models, found.mhz) == (2, ("0x41/0xd4f",), (), ())
    assert (found.sockets, found.cores, found.cache_bytes) == (None, None, None)
    assert "atomics" in found.flags
