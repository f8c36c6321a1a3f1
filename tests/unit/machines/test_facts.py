"""Facts: recorded answers, every shape of nothing, and this machine itself."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.machines import facts_text as text
from nephoscope.machines.facts import Looks, cpu_facts, facts_of, gather_facts
from nephoscope.model.records import Disk, Facts
from nephoscope.model.units import GIB, MIB
from nephoscope.parsers.lscpu import parse_lscpu
from tests.support.local_remote import this_machine

DATA = Path(__file__).resolve().parents[2] / "data" / "facts"


def recorded() -> Looks:
    return Looks(
        at_unix_ms=1,
        lscpu=(DATA / "lscpu-2.38.json").read_text(),
        findmnt=(DATA / "findmnt-2.38.json").read_text(),
        files_first=(DATA / "files-first.txt").read_text(),
        files_second=(DATA / "files-second.txt").read_text(),
    )


def with_look(looks: Looks, name: str, answer: str) -> Looks:
    return replace(looks, **{name: answer})  # type: ignore[arg-type]  # the names that are given are those of texts


def test_recorded_answers_become_facts() -> None:
    facts = facts_of(recorded())
    assert (facts.cpu_model, facts.cpu_vendor, facts.architecture) == ("AMD EPYC", "AuthenticAMD", "x86_64")
    assert (facts.cpus_online, facts.sockets, facts.cores_per_socket, facts.threads_per_core) == (2, 1, 2, 1)
    assert (facts.l2_bytes, facts.l3_bytes, facts.numa_nodes) == (2 * MIB, 32 * MIB, 1)
    assert facts.memory_bytes == 24684084 * 1024
    assert (facts.virtualization, facts.clock_source, facts.congestion_control) == ("KVM", "tsc", "bbr")
    assert facts.os == "Debian GNU/Linux 12 (bookworm)"
    assert facts.hostname is None, "the file was not among the answers"
    assert facts.disk.device == "/dev/vda"
    assert (facts.disk.filesystem, facts.disk.rotational, facts.disk.scheduler) == ("ext4", True, "mq-deadline")
    assert facts.busy_share is not None
    assert 0 <= facts.busy_share < 0.2
    assert facts.busy_share_by_cpu.keys() == {"cpu0", "cpu1"}
    assert sum(facts.busy_share_by_cpu.values()) / 2 == pytest.approx(facts.busy_share, abs=0.03)
    assert facts.steal_share == 0
    assert facts.observed_for_s == pytest.approx(0.2, abs=0.05)


def test_a_machine_that_says_nothing_has_no_facts() -> None:
    assert facts_of(Looks(7, "", "", "", "")) == Facts(at_unix_ms=7)


@given(st.text(), st.text(), st.text(), st.text())
def test_no_text_breaks_the_parsers(lscpu: str, findmnt: str, first: str, second: str) -> None:
    facts_of(Looks(1, lscpu, findmnt, "==> /proc/stat <==\n" + first, "==> /proc/stat <==\n" + second))


@given(st.data())
def test_a_cut_answer_never_breaks_the_parsers(data: st.DataObject) -> None:
    whole = recorded()
    looks = [whole.lscpu, whole.findmnt, whole.files_first, whole.files_second]
    facts = facts_of(Looks(1, *(look[: data.draw(st.integers(0, len(look)))] for look in looks)))
    assert facts.cpus_online in {None, 2}


@pytest.mark.parametrize("odd", ["9" * 19, "9" * 5_000, "0-999999999999", "7" * 400 + ".5", "[" * 20_000, "a/" * 9_000])
def test_whatever_stands_where_a_number_was_is_unknown_and_takes_no_memory(odd: str) -> None:
    whole = recorded()
    for name in ("lscpu", "findmnt", "files_first", "files_second"):
        look = getattr(whole, name)
        for number in sorted({*re.findall(r"[0-9]+(?:[.-][0-9]+)?", look)})[:9]:
            facts_of(with_look(whole, name, re.sub(rf"(?<![0-9.-]){re.escape(number)}(?![0-9.])", odd, look)))
        facts_of(with_look(whole, name, odd))
    assert len(text.cgroup_folders(f"0::/{odd}")) < 200


def test_this_machine(tmp_path: Path) -> None:
    facts, verbatim = asyncio.run(gather_facts(this_machine(tmp_path), observe_s=0.1))
    assert facts.cpus_online
    assert facts.memory_bytes
    assert facts.kernel
    assert facts.disk.free_bytes
    assert facts.cpus_allowed
    assert len(verbatim) == 4
    assert any(command.startswith("lscpu") for command in verbatim)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Hypervisor vendor": "KVM", "Flags": "fpu hypervisor"}, "KVM"),
        ({"Architecture": "x86_64", "Flags": "fpu hypervisor"}, None),
        ({"Architecture": "x86_64", "Flags": "fpu vme"}, "none"),
        ({"Architecture": "x86_64"}, None),
        ({"Flags": "fp asimd"}, None),
    ],
)
def test_virtualization(fields: dict[str, str], expected: str | None) -> None:
    lines = [f"{name}: {value}\n" for name, value in ({"Architecture": "aarch64", "CPU(s)": "2"} | fields).items()]
    assert cpu_facts(parse_lscpu("".join(lines)))["virtualization"] == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [("0-2,8", (0, 1, 2, 8)), ("5", (5,)), ("", None), (None, None), ("0-", None), ("a", None)],
)
def test_cpu_list(listed: str | None, expected: tuple[int, ...] | None) -> None:
    assert text.cpu_list(listed) == expected


@pytest.mark.parametrize(
    ("files", "cpus", "memory"),
    [
        ({}, None, None),
        ({"/sys/fs/cgroup/cpu.max": "max 100000"}, None, None),
        ({"/sys/fs/cgroup/a/cpu.max": "150000 100000", "/sys/fs/cgroup/cpu.max": "max 100000"}, 1.5, None),
        ({"/c/cpu.cfs_quota_us": "-1", "/c/cpu.cfs_period_us": "100000"}, None, None),
        ({"/c/cpu.cfs_quota_us": "50000", "/c/cpu.cfs_period_us": "100000"}, 0.5, None),
        ({"/c/cpu.cfs_quota_us": "50000"}, None, None),
        ({"/c/memory.max": "max"}, None, None),
        ({"/c/memory.max": str(GIB), "/c/d/memory.max": str(2 * GIB)}, None, GIB),
        ({"/c/memory.limit_in_bytes": "9223372036854771712"}, None, None),
        ({"/c/memory.limit_in_bytes": "9223372036854710272"}, None, None),  # pages of 64 KiB
    ],
)
def test_cgroup_limits(files: dict[str, str], cpus: float | None, memory: int | None) -> None:
    assert text.cgroup_cpu_limit(files) == cpus
    assert text.cgroup_memory_limit_bytes(files) == memory


@pytest.mark.parametrize(
    ("own", "files", "seen"),
    [
        ("0::/", {}, False),
        (None, {}, False),
        ("", {}, True),
        ("0::/", {"/sys/fs/cgroup/cgroup.controllers": "cpu memory"}, True),
        ("0::/a", {"/sys/fs/cgroup/a/cpu.max": "max 100000"}, True),
        ("1:cpu:/", {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"}, True),
        ("1:memory:/", {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1"}, False),
    ],
)
def test_no_limit_is_told_from_nothing_to_be_seen(own: str | None, files: dict[str, str], seen: bool) -> None:
    assert text.cgroups_seen(own, files) is seen


def test_cgroup_folders_go_from_the_process_up_to_the_root() -> None:
    folders = text.cgroup_folders("4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/x")
    assert folders == [
        "/sys/fs/cgroup/cpu/c",
        "/sys/fs/cgroup/cpu",
        "/sys/fs/cgroup/memory/a/b",
        "/sys/fs/cgroup/memory/a",
        "/sys/fs/cgroup/memory",
        "/sys/fs/cgroup/x",
        "/sys/fs/cgroup",
    ]
    assert "/sys/fs/cgroup" in text.cgroup_folders(None)


def test_steal_and_busy_shares_are_of_all_time() -> None:
    first = text.cpu_times("cpu  100 0 0 100 0 0 0 0 50 0\n")
    second = text.cpu_times("cpu  110 0 10 160 10 0 0 10 60 0\n")
    assert text.shares_between(first, second) == (0.2, 0.1)
    assert text.shares_between(first, first) == (None, None)
    assert text.cpu_times("cpu 1 2 3") is None


def test_one_busy_cpu_of_many_is_seen() -> None:
    first = "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 5 0 0 5 0 0 0 0\ncpu2 5 0 0 5 0 0 0 0\nintr 7"
    second = "cpu  20 0 0 20 0 0 0 0\ncpu0 19 0 0 1 0 0 0 0\ncpu1 5 0 0 25 0 0 0 0\ncpu10 1 0 0 1 0 0 0 0\nintr 7"
    assert text.busy_share_by_cpu(first, second) == {"cpu0": 0.95, "cpu1": 0.0}
    assert text.busy_share_by_cpu(None, second) == {}


def test_a_partition_takes_the_queue_of_its_disk() -> None:
    filesystem = {"source": "/dev/sda1", "maj:min": "8:1"}
    files = {
        "/sys/dev/block/8:1/../queue/rotational": "0",
        "/sys/dev/block/8:1/../queue/scheduler": "[none] mq-deadline",
    }
    assert text.disk_of(filesystem, files) == Disk(device="/dev/sda1", rotational=False, scheduler="none")
    assert text.queue_files({"maj:min": "../../etc"}) == []
