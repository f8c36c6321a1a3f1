"""A raw device is written over when nothing uses it, and never otherwise."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.app.stages.planning import load
from nephoscope.benchmarks.storage.fio import Fio
from nephoscope.benchmarks.storage.fio_jobs import FioJob, FioParameters
from nephoscope.benchmarks.storage.raw_device import reason_against, require_unused
from nephoscope.model.errors import InputError, StudyError
from nephoscope.model.units import MIB
from nephoscope.parsers.lsblk import parse_lsblk
from tests.support.loop_device import loop_device
from tests.support.site import raw_of, site_here

DISK: dict[str, Any] = {"name": "sdb", "type": "disk", "size": 1 << 30, "ro": False, "mountpoints": [None]}


def reason(**changes: Any) -> str:
    return reason_against(parse_lsblk(json.dumps({"blockdevices": [DISK | changes]})), "sdb")


def test_an_empty_disk_may_be_written_over() -> None:
    assert reason() == ""
    assert reason(type="loop", fstype="ext4") == "", "what udev saw may be old: the device itself is looked at"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "sdc"}, "no such block device"),
        ({"mountpoints": ["/mnt/data"]}, "mounted at /mnt/data"),
        ({"mountpoints": [None], "mountpoint": "/"}, "mounted at /"),
        ({"mountpoints": ["[SWAP]"]}, "swap space"),
        ({"children": [{"name": "sdb1", "type": "part"}]}, "has partitions"),
        ({"children": [{"name": "sdb1", "type": "part", "mountpoints": ["/"]}]}, "mounted at /"),
        ({"children": [{"name": "vg-lv", "type": "lvm"}]}, "in use by lvm"),
        ({"children": [{"name": "md0", "type": "raid1"}]}, "in use by raid1"),
        ({"children": [{"name": "secret", "type": "crypt"}]}, "in use by crypt"),
        ({"type": "part"}, "not a whole disk"),
        ({"type": "rom"}, "not a whole disk"),
        ({"ro": True}, "read-only"),
        ({"size": 0}, "no size"),
        ({"size": None}, "no size"),
        ({"fstype": "LVM2_member"}, "it contains LVM2_member"),
        ({"fstype": "swap"}, "it contains swap"),
    ],
)
def test_a_device_in_use_is_refused(changes: dict[str, Any], said: str) -> None:
    assert said in reason(**changes)


@pytest.mark.parametrize(
    "given",
    [
        {"raw_device": "/dev/sdb"},
        {"destroys_data_on": "/dev/sdb"},
        {"raw_device": "/dev/sdb", "destroys_data_on": "/dev/sdc"},
        {"raw_device": "/etc/passwd", "destroys_data_on": "/etc/passwd"},
        {"raw_device": "/dev/../etc/x", "destroys_data_on": "/dev/../etc/x"},
    ],
)
def test_a_device_must_be_named_twice(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        FioParameters.model_validate(given)


def test_a_raw_volume_is_nephoscopes_own_and_named_once(tmp_path: Path) -> None:
    asked = FioParameters(raw_device="volume", edition="cr2022")
    assert Fio().notes(asked)[-1] == "Measured on the raw volume, which was filled first."
    assert Fio().needs(asked).raw_device == "volume"
    with pytest.raises(ValidationError, match="must name the same device"):
        FioParameters(raw_device="volume", destroys_data_on="/dev/sdb")
    site, _ = site_here(tmp_path)
    with pytest.raises(InputError, match="nephoscope created none"):
        asyncio.run(Fio().prepare(site, asked))


def test_a_study_that_names_it_once_is_told_why() -> None:
    text = 'name = "s"\nconfigurations = [{ name = "a" }]\n[[benchmarks]]\nuses = "fio"\n'
    with pytest.raises(StudyError, match=r"parameters: `raw_device` and `destroys_data_on` must name the same device"):
        load(text + 'parameters.raw_device = "/dev/sdb"\n', "s.toml")


def test_a_fake_device_is_refused(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    with pytest.raises(InputError, match="no such block device"):
        asyncio.run(require_unused(site.cluster.database[0], "/dev/null"))


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    with loop_device(tmp_path / "image", 96 * MIB) as device:
        yield device


ROOT = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]


class TestOnALoopDevice:
    pytestmark = ROOT

    def test_it_is_filled_and_measured(self, tmp_path: Path, loop: str) -> None:
        site, recorder = site_here(tmp_path)
        jobs = (
            FioJob(name="writes", mode="write", block_size_kib=1024, threads=2, apart=True, duration_s=1),
            FioJob(name="reads", mode="randread", block_size_kib=4, queue_depth=4, duration_s=1),
        )
        asked = FioParameters(raw_device=loop, destroys_data_on=loop, jobs=jobs)

        async def trial() -> None:
            await Fio().prepare(site, asked)
            await Fio().run(site, asked)

        asyncio.run(trial())
        assert [name for name, _ in recorder.ran] == ["fio-fill", "fio-writes", "fio-reads"]
        values = {one.metric: one.value for one in Fio().parse(raw_of(site), asked)}
        assert values["reads.iops"] > 0
        assert Fio().observations(raw_of(site), asked).reads[0].files_bytes == 96 * MIB
        with Path(loop).open("rb") as device:
            assert any(device.read(4096)), "it was written over"

    def test_one_that_carries_a_filesystem_is_refused_unless_it_came_with_the_machine(
        self, tmp_path: Path, loop: str
    ) -> None:
        """Named by its path it may be anybody's; 'volume' is a disk that nobody else can have written to."""
        subprocess.run(["mkfs.ext4", "-q", loop], check=True)
        site, recorder = site_here(tmp_path)
        short = (FioJob(name="reads", mode="randread", block_size_kib=4, duration_s=1),)
        named = FioParameters(raw_device=loop, destroys_data_on=loop, jobs=short)
        with pytest.raises(InputError, match=f"it contains ext4; hint: if .* wipefs --all {loop}"):
            asyncio.run(Fio().prepare(site, named))
        assert recorder.ran == []
        link = tmp_path / "raw-1"
        link.symlink_to(loop)
        machine = replace(site.cluster.database[0], raw_devices=(str(link),))
        asyncio.run(
            Fio().prepare(
                replace(site, cluster=replace(site.cluster, database=(machine,))),
                FioParameters(raw_device="volume", jobs=short),
            )
        )
        assert [name for name, _ in recorder.ran] == ["fio-fill"]
        subprocess.run(["wipefs", "--all", "--quiet", loop], check=True)
        asyncio.run(require_unused(machine, loop))

    @pytest.mark.parametrize("namespace", [False, True])
    def test_a_mounted_one_is_refused(self, tmp_path: Path, loop: str, namespace: bool) -> None:
        subprocess.run(["mkfs.ext4", "-q", loop], check=True)
        place = tmp_path / "place"
        place.mkdir()
        mount = ["mount", loop, str(place)]
        held = None
        if namespace:
            argv = ["unshare", "--mount", "sh", "-c", '"$@" && echo mounted && cat', "sh", *mount]
            held = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert held.stdout is not None
            assert held.stdout.readline() == b"mounted\n"
        else:
            subprocess.run(mount, check=True)
        site, recorder = site_here(tmp_path)
        try:
            with pytest.raises(InputError, match="in use" if namespace else "mounted at"):
                asyncio.run(Fio().prepare(site, FioParameters(raw_device=loop, destroys_data_on=loop)))
        finally:
            if held is not None:
                held.communicate()
            else:
                subprocess.run(["umount", place], check=True)
        assert recorder.ran == []
