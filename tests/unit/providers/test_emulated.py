"""What becomes of a machine type, and (as root) that it does."""

import asyncio
import hashlib
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.emulated import provider as emulated
from nephoscope.providers.emulated.limits import Write, disk_limits, limits, shaping
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.providers.emulated.scripts import ClusterPlan, hosts_of, up_script
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import Link, MachineType
from tests.support.real_parts import needs

SMALL = MachineType(
    name="small", vcpus=1, cpu_quota=0.5, memory_gib=0.25, disk_gib=0.25, disk_iops=200, network_gbps=0.1
)
LARGE = MachineType(name="large", vcpus=2, memory_gib=2)


def test_limits_of_both_versions() -> None:
    assert limits(2, "c0ffee", "db", SMALL, [1]) == [
        Write("/sys/fs/cgroup/nephoscope/c0ffee/db/cpuset.cpus", "1"),
        Write("/sys/fs/cgroup/nephoscope/c0ffee/db/memory.max", "268435456"),
        Write("/sys/fs/cgroup/nephoscope/c0ffee/db/cpu.max", "50000 100000"),
    ]
    first = limits(1, "c0ffee", "db", SMALL, [1])
    assert {write.file.rsplit("/", 1)[1]: write.value for write in first} == {
        "cpuset.mems": "0",
        "cpuset.cpus": "1",
        "memory.limit_in_bytes": "268435456",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "50000",
    }
    assert {write.file.split("/")[4] for write in first} == {"cpuset", "memory", "cpu"}
    assert [write.value for write in disk_limits(2, "c0ffee", "db", SMALL, "7:3")] == ["7:3 riops=200 wiops=200"]
    assert [write.value for write in disk_limits(1, "c0ffee", "db", SMALL, "7:3")] == ["7:3 200", "7:3 200"]
    assert "cpu" not in {write.file.split("/")[4] for write in limits(1, "c0ffee", "db", LARGE, [0, 1])}
    assert disk_limits(1, "c0ffee", "db", LARGE, "7:3") == disk_limits(2, "c0ffee", "db", LARGE, "7:3") == []
    assert shaping(LARGE, "eth0") is None
    shaped = shaping(SMALL, "eth0")
    assert shaped is not None
    assert "100000000bit" in shaped


def test_cpus_are_dealt_out_in_turn() -> None:
    hosts = hosts_of([("a", "z", SMALL), ("b", "z", SMALL), ("c", "z", LARGE), ("d", "z", SMALL)], [0, 1, 2])
    assert [host.cpus for host in hosts] == [(0,), (1,), (0, 2), (1,)]


@pytest.mark.parametrize("version", [1, 2])
def test_the_script_is_one_that_a_shell_can_read(version: int) -> None:
    script = up_script(plan_of(version, ("a", "zone")))
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert "ip -n nph-c0ffee-a address add 198.18.7.1/24 dev eth0" in script
    assert "tuntap" not in script


def plan_of(version: int, *hosts: tuple[str, str], links: tuple[Link, ...] = ()) -> ClusterPlan:
    """Hosts by name and zone."""
    placed = hosts_of([(name, zone, SMALL) for name, zone in hosts], [0])
    return ClusterPlan("c0ffee", 7, "/a folder/disks", placed, "/usr/sbin/sshd", version, "/bin/nephoscope-load", links)


@pytest.mark.parametrize("version", [1, 2])
def test_a_link_is_a_wire_and_zones_without_one_are_joined_by_the_kernel(version: int) -> None:
    link = Link(between=["east", "west"], round_trip_ms=2, jitter_ms=0.1, loss_percent=0.5)
    script = up_script(plan_of(version, ("a", "east"), ("b", "west"), ("c", "north"), links=(link,)))
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert "/bin/nephoscope-load wire --delay-us 1000 --jitter-us 100 --loss-percent 0.5" in script
    assert script.count("mode tap") == 2
    assert "veth peer name w0-2b" in script
    assert "veth peer name w1-2b" in script
    assert "veth peer name w0-1b" not in script
    assert "dev w0-1a isolated on" in script
    assert "port3 master zone2 up" in script


def test_who_is_not_root_or_asks_for_too_much_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = ClusterRequest("s-1", _configuration(tmp_path, vcpus=4096), tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentProblem, match="only root can emulate machines"):
        asyncio.run(EmulatedProvider("nephoscope-load", SystemClock()).create(request))
    with pytest.raises(InputError, match="requests machines with 4096 CPUs"):
        emulated._plan("c0ffee", request, emulated._types(request.configuration), set(), "")


def test_no_other_user_can_hold_the_lock_of_all_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may open a file may lock it, and every controller would wait."""
    monkeypatch.setattr(emulated, "LOCK", str(tmp_path / "run" / "lock"))
    with emulated._locked():
        assert (tmp_path / "run").stat().st_mode & 0o077 == 0


def test_what_does_not_end_on_this_machine_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated, "_SCRIPT_TIMEOUT_S", 0.2)
    began = time.monotonic()
    with pytest.raises(EnvironmentProblem, match="did not start or stop within 0 s"):
        asyncio.run(emulated._run("sleep 60; true"))
    assert time.monotonic() - began < 50  # also what the script waits for is ended


def _configuration(folder: Path, *, vcpus: int = 1) -> Configuration:
    small = SMALL.model_copy(update={"vcpus": vcpus})
    return Configuration.model_validate(
        {
            "name": "two-and-load",
            "provider": "emulated",
            "database_machine": {"count": 2, "emulated": small.model_dump(), "mount_options": ["discard"]},
            "load_machine": {"emulated": SMALL.model_copy(update={"cpu_quota": None}).model_dump()},
        }
    )


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    request = ClusterRequest(f"s-{tmp_path.name}", _configuration(tmp_path), tmp_path)
    assert _traces_of(request.key) == []
    yield
    assert _traces_of(request.key) == []


def _traces_of(key: str) -> list[str]:
    """What bears the cluster's id: namespaces, links, loop devices, control groups, state, processes."""
    identity = hashlib.sha256(key.encode()).hexdigest()[:6]
    looks = (
        "ip netns list | grep ^nph-",
        "ip -brief link | grep ^nph",
        "losetup --noheadings --output BACK-FILE | grep -E '/disks/[0-9a-f]{6}-'",
        "find /sys/fs/cgroup -path '*/nephoscope*' -type d",
        "find /run/nephoscope/emulated",
        "ps -eo args | grep /run/nephoscope/ | grep -v grep",
    )
    said = [subprocess.run(["sh", "-c", look], capture_output=True, text=True, check=False).stdout for look in looks]
    return [line for text in said for line in text.splitlines() if identity in line]


@pytest.mark.root
@pytest.mark.usefixtures("nothing_left")
def test_hosts_are_machines_of_their_own_with_their_limits(tmp_path: Path) -> None:
    request = ClusterRequest(f"s-{tmp_path.name}", _configuration(tmp_path), tmp_path)

    async def scenario() -> None:
        provider = EmulatedProvider("nephoscope-load", SystemClock())
        cluster = await provider.create(request)
        try:
            assert await provider.list(request.study) == [request.key]
            one, two, load = cluster.machines
            assert load is cluster.load

            async def said(*argv: str) -> str:
                return (await one.remote.execute(Command(argv, timeout_s=30))).require().stdout.decode().strip()

            assert await said("hostname") == "database-1"
            assert await said("nproc") == "1"
            assert await said("sh", "-c", "ls -d /proc/[0-9]* | wc -l") < "3"  # one or two digits: its own processes
            shown = await said("findmnt", "--noheadings", "--output", "FSTYPE,OPTIONS", "--target", one.data_dir)
            assert shown.split()[0] == "ext4"
            assert {"noatime", "discard"} <= set(shown.split()[1].split(","))
            await said("ping", "-c", "1", "-W", "2", two.address)
            cpu_s = await said("sh", "-c", "timeout 1 sh -c 'while :; do :; done'; cut -d ' ' -f 16 /proc/$$/stat")
            assert 5 <= int(cpu_s) <= 65  # ticks of 10 ms: half a CPU for a second
            await _writes_at_most_200_per_second(one)
            again = await provider.create(request)
            assert [machine.address for machine in again.machines] == [m.address for m in cluster.machines]
        finally:
            await provider.delete(request.key)
        assert await provider.list(request.study) == []
        await provider.delete(request.key)

    async def _writes_at_most_200_per_second(machine: MachineHandle) -> None:
        argv = ["dd", "if=/dev/zero", f"of={machine.data_dir}/f", "bs=4k", "count=400", "oflag=direct"]
        completed = (await machine.remote.execute(Command(argv, timeout_s=30))).require()
        assert completed.duration_s > 1.0  # 400 writes at 200/s, and a burst of the kernel's slice at most

    asyncio.run(scenario())


ROUND_TRIP_MS = 2.0


@pytest.mark.root
@pytest.mark.usefixtures("nothing_left")
@needs("nephoscope-load", "ping")
def test_a_link_between_zones_is_as_long_as_was_asked(tmp_path: Path) -> None:
    """The lower quartile of 200 echoes, within a fifth: what else runs here can only make them late."""
    machine = {"emulated": SMALL.model_copy(update={"cpu_quota": None, "network_gbps": None}).model_dump()}
    configuration = Configuration.model_validate(
        {
            "name": "two-and-load",
            "provider": "emulated",
            "database_machine": {"count": 3, "zones": ["east", "west", "east"], **machine},
            "links": [{"between": ["east", "west"], "round_trip_ms": ROUND_TRIP_MS}],
        }
    )
    request = ClusterRequest(f"s-{tmp_path.name}", configuration, tmp_path)

    async def quartile_ms(one: MachineHandle, other: MachineHandle) -> float:
        argv = ["ping", "-c", "200", "-i", "0.01", other.address]
        said = (await one.remote.execute(Command(argv, timeout_s=60))).require().stdout.decode()
        return statistics.quantiles((float(found) for found in re.findall(r"time=([0-9.]+) ms", said)), n=4)[0]

    async def scenario() -> None:
        provider = EmulatedProvider(load_program(), SystemClock())
        cluster = await provider.create(request)
        try:
            east, west, also_east = cluster.database
            far, near = await quartile_ms(east, west), await quartile_ms(east, also_east)
            assert far == pytest.approx(ROUND_TRIP_MS, rel=0.2)
            assert near < 0.2 * ROUND_TRIP_MS
        finally:
            await provider.delete(request.key)

    asyncio.run(scenario())


_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from tests.unit.providers.test_emulated import _configuration

study, folder, moment = sys.argv[1:]
folder = Path(folder)

async def scenario():
    if moment != "up":
        asyncio.get_running_loop().call_later(float(moment), os.kill, os.getpid(), signal.SIGKILL)
    provider = EmulatedProvider("nephoscope-load", SystemClock())
    cluster = await provider.create(ClusterRequest(study, _configuration(folder), folder))
    await cluster.load.remote.start(["sleep", "600"], log=folder / "log")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(scenario())
"""


@pytest.mark.root
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("moment", ["up", "0.1", "0.3"])
def test_what_a_killed_controller_left_is_taken_away_by_its_key(tmp_path: Path, moment: str) -> None:
    study = f"s-{tmp_path.name}"
    killed = subprocess.run([sys.executable, "-c", _KILLED, study, str(tmp_path), moment], check=False, cwd=Path.cwd())
    assert killed.returncode == -9

    async def scenario() -> None:
        provider = EmulatedProvider("nephoscope-load", SystemClock())
        (key,) = await provider.list(study)
        await provider.delete(key)
        assert await provider.list(study) == []

    asyncio.run(scenario())
