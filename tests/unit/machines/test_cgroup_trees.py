"""Control groups of either version, as trees of the files that the kernel documents (admin-guide/cgroup-v1, cgroup-v2).

The commands are the real ones (`head`, `sh`); only the folder they look into is made here. In version 2 the root group
has neither `cpu.max` nor `memory.max`, every group has `cgroup.controllers`, and "max" means no limit.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from nephoscope.machines import facts_text as text
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.memory_limit import memory_limited
from nephoscope.machines.remote import Command
from nephoscope.model.errors import EnvironmentProblem
from nephoscope.model.units import GIB, MIB
from tests.support.local_remote import this_machine

UNIFIED = Path("/sys/fs/cgroup/unified")
ROOT_2 = {
    "cgroup.controllers": "cpuset cpu io memory pids",
    "cgroup.subtree_control": "cpu memory pids",
    "cpu.stat": "",
}
GROUP_2 = {"cgroup.controllers": "cpu memory", "cgroup.subtree_control": "", "memory.swap.max": "max"}
FREE_2 = {**GROUP_2, "cpu.max": "max 100000", "memory.max": "max"}
UNLIMITED_1 = "9223372036854771712"


def tree(root: Path, groups: Mapping[str, Mapping[str, str]]) -> None:
    for group, files in groups.items():
        (root / group).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (root / group / name).write_text(f"{content}\n")


def seen(root: Path, own: str) -> tuple[float | None, int | None, bool]:
    """CPUs, bytes and whether a limit would have been found, by the files that exist below `root`."""
    folders = text.cgroup_folders(own, str(root))
    paths = [f"{folder}/{name}" for folder in folders for name in text.CGROUP_FILES]
    machine = this_machine(root / "data")
    argv = ("head", "-v", "-c", "65536", "--", *paths)
    said = asyncio.run(machine.remote.execute(Command(argv, timeout_s=10))).stdout.decode()
    files = text.split_files(said)
    return text.cgroup_cpu_limit(files), text.cgroup_memory_limit_bytes(files), text.cgroups_seen(own, files)


@pytest.mark.parametrize(
    ("own", "groups", "expected"),
    [
        ("0::/", {"": ROOT_2}, (None, None, True)),
        ("0::/a/b", {"": ROOT_2, "a": FREE_2, "a/b": FREE_2}, (None, None, True)),
        ("0::/a/b", {"": ROOT_2, "a": {**FREE_2, "cpu.max": "150000 100000"}, "a/b": FREE_2}, (1.5, None, True)),
        (
            "0::/a/b",
            {"": ROOT_2, "a": {**FREE_2, "memory.max": str(2 * GIB)}, "a/b": {**FREE_2, "memory.max": str(GIB)}},
            (None, GIB, True),
        ),
        ("0::/", {"": {**FREE_2, "cpu.max": "50000 100000", "memory.max": str(GIB)}}, (0.5, GIB, True)),
        ("0::/../../elsewhere", {"": {**FREE_2, "cpu.max": "200000 100000"}}, (2.0, None, True)),
        ("0::/a", {}, (None, None, False)),
        (
            "4:memory:/m\n1:cpu,cpuacct:/c\n0::/x",
            {
                "cpu/c": {"cpu.cfs_quota_us": "150000", "cpu.cfs_period_us": "100000"},
                "cpu": {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
                "memory/m": {"memory.limit_in_bytes": str(GIB)},
                "memory": {"memory.limit_in_bytes": UNLIMITED_1},
                "unified": {"cgroup.controllers": ""},
            },
            (1.5, GIB, True),
        ),
        (
            "1:cpu,cpuacct:/a/b",
            {
                "cpu/a": {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"},
                "cpu/a/b": {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
            },
            (0.5, None, True),
        ),
    ],
    ids=[
        *("bare root", "no limit", "of a parent", "the lower of two", "container", "outside", "unreadable"),
        *("version 1", "of a parent in version 1"),
    ],
)
def test_limits_of_a_tree(
    tmp_path: Path, own: str, groups: Mapping[str, Mapping[str, str]], expected: tuple[float | None, int | None, bool]
) -> None:
    tree(tmp_path, groups)
    assert seen(tmp_path, own) == expected


def test_facts_look_where_they_are_told(tmp_path: Path) -> None:
    """Our own path is not below this tree, so only its root counts, as in a container."""
    tree(tmp_path, {"": {**FREE_2, "cpu.max": "75000 100000", "memory.max": str(64 * MIB)}})
    facts, _ = asyncio.run(gather_facts(this_machine(tmp_path / "data"), cgroups=str(tmp_path)))
    assert (facts.cgroup_cpu_limit, facts.memory_bytes, facts.cgroups_seen) == (0.75, 64 * MIB, True)


async def limits_of(machine_dir: Path, root: Path) -> tuple[Path, dict[str, str]]:
    async with memory_limited(this_machine(machine_dir), 64 * MIB, cgroups=str(root)) as group:
        found = {path.name: path.read_text().strip() for path in Path(group.path).iterdir()}
        return Path(group.path), found


@pytest.mark.parametrize(("enabled", "after"), [("cpu memory", "cpu memory"), ("cpu", "+memory")])
def test_a_memory_limit_by_version_2_lies_at_the_root_with_its_controller_on(
    tmp_path: Path, enabled: str, after: str
) -> None:
    tree(tmp_path, {"": {**ROOT_2, "cgroup.subtree_control": enabled}, "memory": {}})
    path, found = asyncio.run(limits_of(tmp_path / "data", tmp_path))
    assert path.parent == tmp_path, "a group that is called 'memory' is no version 1"
    assert found == {"memory.max": str(64 * MIB)}
    assert (tmp_path / "cgroup.subtree_control").read_text().strip() == after


def test_a_memory_limit_by_version_1_lies_below_the_memory_controller(tmp_path: Path) -> None:
    tree(tmp_path, {"memory": {"memory.limit_in_bytes": UNLIMITED_1}})
    path, found = asyncio.run(limits_of(tmp_path / "data", tmp_path))
    assert path.parent == tmp_path / "memory"
    assert found == {"memory.limit_in_bytes": str(64 * MIB)}


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(not (UNIFIED / "cgroup.controllers").exists(), reason="no version 2 beside version 1 here")
def test_a_real_version_2_without_the_memory_controller_says_no(tmp_path: Path) -> None:
    if "memory" in (UNIFIED / "cgroup.controllers").read_text().split():
        pytest.skip("it has the controller")
    with pytest.raises(EnvironmentProblem, match="does not allow creating a control group"):
        asyncio.run(limits_of(tmp_path, UNIFIED))
