"""The script that a machine runs when it comes up: read by a real shell, with programs of ours for those of root."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nephoscope.providers.cloud.boot import BootPlan, boot_script, raw_devices

KEY = "ssh-ed25519 AAAAC3 it's a key"
PLAN = BootPlan(user="nephoscope", public_key=KEY, expires_unix_ms=1_800_000_000_000)

PROGRAMS = {
    "lsblk": 'for disk; do :; done; case $* in *SIZE*) cat "$ROOT/size-${disk##*/}";; *--nodeps*) cat "$ROOT/disks";; '
    '*) cat "$ROOT/parts-${4##*/}" 2>/dev/null || echo 1;; esac',
    "blkid": 'test ! -e "$ROOT/used-${4##*/}" || echo ext4',
    "mountpoint": "exit 1",
    "id": "exit 1",
    "getent": 'echo "u:x:1:1::$ROOT/home:/bin/sh"',
    "sleep": "exit 0",
    **{name: f'echo "{name} $*" >>"$ROOT/done"' for name in ("systemctl", "useradd", "mkfs.ext4", "mdadm", "mount")},
    **{name: f'echo "{name} $*" >>"$ROOT/done"' for name in ("chown", "apt-get")},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return tmp_path


def booted(root: Path, plan: BootPlan) -> tuple[str, str]:
    """What stands in the mark of its end, and what it did: folders of the machine are below `root`."""
    script = re.sub(r"(?<![\w.$/\"}])/(etc|var|mnt)\b", rf"{root}/\1", boot_script(plan))
    path = f"{root}/bin:{os.environ['PATH']}"
    subprocess.run(["sh"], input=script, text=True, env={"PATH": path, "ROOT": str(root)}, check=False, timeout=60)
    done = root / "done"
    return (root / "var/lib/nephoscope/boot").read_text().strip(), done.read_text() if done.exists() else ""


def test_the_first_thing_is_the_timer_that_ends_the_machine(root: Path) -> None:
    said, done = booted(root, PLAN)
    assert said == "ready"
    timer = (root / "etc/systemd/system/nephoscope-expires.timer").read_text()
    assert "OnCalendar=2027-01-15 08:00:00 UTC" in timer
    assert "Persistent=true" in timer
    service = (root / "etc/systemd/system/nephoscope-expires.service").read_text()
    assert "poweroff" in service
    assert done.splitlines()[:2] == ["systemctl daemon-reload", "systemctl enable --now nephoscope-expires.timer"]


def test_our_key_is_let_in_once(root: Path) -> None:
    booted(root, PLAN)
    assert (root / "home/.ssh/authorized_keys").read_text() == f"{KEY}\n"
    assert (root / "home/.ssh").stat().st_mode & 0o777 == 0o700


def test_started_again_it_does_nothing(root: Path) -> None:
    booted(root, PLAN)
    before = (root / "done").read_text()
    assert booted(root, PLAN) == ("ready", before)


DISKS = """\
/dev/loop0 loop
/dev/fd0 disk
/dev/nvme0n1 disk Amazon Elastic Block Store
/dev/nvme1n1 disk Amazon Elastic Block Store
/dev/nvme2n1 disk Amazon EC2 NVMe Instance Storage
/dev/nvme3n1 disk Amazon EC2 NVMe Instance Storage
/dev/sdb disk PersistentDisk
"""


@pytest.mark.parametrize(
    ("plan", "device"),
    [
        ({"volumes": 1}, "/dev/nvme1n1"),
        ({"local_ssds": 2}, "/dev/md/nephoscope"),
    ],
)
def test_the_data_folder_is_on_the_disks_that_are_asked_for(root: Path, plan: dict[str, Any], device: str) -> None:
    (root / "disks").write_text(DISKS)
    (root / "parts-nvme0n1").write_text("nvme0n1\nnvme0n1p1\n")  # the image's own
    (root / "used-sdb").touch()  # something is on it
    said, done = booted(root, BootPlan("nephoscope", KEY, None, **plan))
    assert said == "ready"
    assert re.search(rf"^mkfs.ext4 .* {device}$", done, re.MULTILINE)
    assert f"mount -o noatime {device} {root}/mnt/data" in done
    if plan == {"local_ssds": 2}:
        assert "--level=0 --raid-devices=2 /dev/nvme2n1 /dev/nvme3n1" in done
    assert "/dev/fd0" not in done
    assert "/dev/sdb" not in done


@pytest.mark.parametrize("model", ["nvme_card1", "EphemeralDisk"])
def test_local_ssds_of_google_are_known_by_either_interface(root: Path, model: str) -> None:
    (root / "disks").write_text(f"/dev/sda disk PersistentDisk\n/dev/sdb disk {model}\n")
    said, done = booted(root, BootPlan("nephoscope", KEY, None, local_ssds=1))
    assert said == "ready"
    assert f"mount -o noatime /dev/sdb {root}/mnt/data" in done


def test_a_machine_type_may_have_more_local_ssds_than_the_study_uses(root: Path) -> None:
    (root / "disks").write_text(DISKS)
    said, done = booted(root, BootPlan("nephoscope", KEY, None, local_ssds=1))
    assert said == "ready"
    assert "mdadm" not in done
    assert f"mount -o noatime /dev/nvme2n1 {root}/mnt/data" in done


def test_the_temporary_disk_of_azure_is_taken_from_its_image(root: Path) -> None:
    (root / "disks").write_text("/dev/sda disk Virtual Disk\n/dev/sdb disk Virtual Disk\n")
    (root / "parts-sda").write_text("sda\nsda1\n")
    for name in ("wipefs", "umount", "blockdev"):
        (root / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"$ROOT/done"\n')
        (root / "bin" / name).chmod(0o755)
    (root / "bin/readlink").write_text("#!/bin/sh\necho /dev/sdb\n")
    (root / "bin/readlink").chmod(0o755)
    (root / "etc/fstab").write_text("/dev/sda1 /\n/dev/disk/cloud/azure_resource-part1 /mnt auto\n")
    said, done = booted(root, BootPlan("nephoscope", KEY, None, local_ssds=1, mount_options=("nobarrier",)))
    assert said == "ready"
    assert done.index("wipefs --all --force /dev/sdb\n") < done.index("mkfs.ext4")
    assert f"mount -o noatime,nobarrier /dev/sdb {root}/mnt/data" in done
    assert (root / "etc/fstab").read_text() == "/dev/sda1 /\n"


def test_disks_that_are_apart_have_a_filesystem_and_a_folder_each(root: Path) -> None:
    (root / "disks").write_text(DISKS)
    said, done = booted(root, BootPlan("nephoscope", KEY, None, local_ssds=2, apart=True))
    assert said == "ready"
    assert "mdadm" not in done
    for device, folder in (("/dev/nvme2n1", "mnt/data"), ("/dev/nvme3n1", "mnt/data-2")):
        assert re.search(rf"^mkfs.ext4 .* {device}$", done, re.MULTILINE)
        assert f"mount -o noatime {device} {root}/{folder}\n" in done
        assert f"chown -R nephoscope: {root}/{folder}/nephoscope\n" in done
        assert (root / folder / "nephoscope" / "data").is_dir()


def test_raw_disks_get_no_filesystem_and_are_linked_in_the_order_of_the_study(root: Path) -> None:
    """Two volumes are told apart by their size; which of them the kernel finds first does not matter."""
    (root / "disks").write_text(DISKS)
    (root / "used-sdb").touch()
    for name, gib in (("nvme0n1", 1000), ("nvme1n1", 100)):
        (root / f"size-{name}").write_text(f"  {gib << 30}\n")
    said, done = booted(root, BootPlan("nephoscope", KEY, None, volumes=1, raw_volumes_gib=(1000,), raw_local_ssds=2))
    assert said == "ready"
    assert [line.split()[-1] for line in done.splitlines() if line.startswith("mkfs")] == ["/dev/nvme1n1"]
    links = [(root / f"var/lib/nephoscope/raw-{number}").readlink() for number in (1, 2, 3)]
    assert links == [Path("/dev/nvme0n1"), Path("/dev/nvme2n1"), Path("/dev/nvme3n1")]
    for link in links:
        assert f"chown nephoscope: {link}\n" in done, "who measures it may open it"
    assert raw_devices(3)[-1] == "/var/lib/nephoscope/raw-3"


def test_raw_volumes_alone_need_no_sizes_and_the_data_folder_is_on_the_images_disk(root: Path) -> None:
    (root / "disks").write_text("/dev/nvme1n1 disk Amazon Elastic Block Store\n")
    (root / "size-nvme1n1").write_text("1000000000\n")
    said, done = booted(root, BootPlan("nephoscope", KEY, None, raw_volumes_gib=(1000,)))
    assert said == "ready"
    assert "mkfs" not in done
    assert "mount" not in done
    assert (root / "mnt/data/nephoscope/data").is_dir()
    assert (root / "var/lib/nephoscope/raw-1").readlink() == Path("/dev/nvme1n1")


def test_a_disk_that_carries_something_is_never_taken_for_a_raw_one(root: Path) -> None:
    (root / "disks").write_text("/dev/nvme1n1 disk Amazon Elastic Block Store\n")
    (root / "used-nvme1n1").touch()
    said, done = booted(root, BootPlan("nephoscope", KEY, None, raw_volumes_gib=(1000,)))
    assert "1 disks (volume) were requested, but 0 exist" in said
    assert not (root / "var/lib/nephoscope/raw-1").is_symlink()
    assert "mkfs" not in done


def test_a_disk_that_does_not_come_is_said_and_not_replaced_by_another(root: Path) -> None:
    (root / "disks").write_text(DISKS)
    said, done = booted(root, BootPlan("nephoscope", KEY, None, local_ssds=3))
    assert "3 disks (local) were requested, but 2 exist" in said
    assert "mkfs" not in done


def test_packages_are_installed_and_a_failure_is_told(root: Path) -> None:
    said, done = booted(root, BootPlan("nephoscope", KEY, None, packages=("fio", "stress-ng")))
    assert said == "ready"
    assert "install --yes --no-install-recommends fio stress-ng" in done
    (root / "var/lib/nephoscope/boot").unlink()
    (root / "bin/apt-get").write_text("#!/bin/sh\necho Unable to locate package\nexit 100\n")
    said, _ = booted(root, BootPlan("nephoscope", KEY, None, packages=("fio",)))
    assert "Unable to locate package" in said


def test_what_the_disks_need_is_installed_before_they_are_made_where_the_image_has_it_not(root: Path) -> None:
    (root / "disks").write_text(DISKS)
    (root / "used-nvme0n1").touch()
    (root / "bin/mdadm").unlink()
    for name in ("mdadm", "mkfs.xfs"):
        (root / f"{name}.new").write_text(f'#!/bin/sh\necho "{name} $*" >>"$ROOT/done"\n')
        (root / f"{name}.new").chmod(0o755)
    bring = 'echo "apt-get $*" >>"$ROOT/done"; cd "$ROOT"; for new in *.new; do mv "$new" "bin/${new%.new}"; done'
    (root / "bin/apt-get").write_text(f"#!/bin/sh\ncase $* in *install*) {bring};; esac\n")
    plan = BootPlan("nephoscope", KEY, None, packages=("fio",), local_ssds=2, filesystem="xfs")
    said, done = booted(root, plan)
    assert said == "ready"
    steps = [line.split()[0] for line in done.splitlines()]
    assert [step for step in steps if step in {"apt-get", "mdadm", "mkfs.xfs", "mount"}] == [
        *("apt-get", "mdadm", "mkfs.xfs", "mount")
    ]
    installed = done.partition("recommends ")[2].partition("\n")[0].split()
    assert installed[0] == "fio"
    assert {"mdadm", "xfsprogs"} >= set(installed[1:])


def test_nothing_is_asked_of_a_package_manager_where_all_is_there(root: Path) -> None:
    (root / "disks").write_text(DISKS)
    said, done = booted(root, BootPlan("nephoscope", KEY, None, local_ssds=2))
    assert said == "ready"
    assert "apt-get" not in done


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_the_filesystem_is_made_and_mounted_as_asked_for(root: Path, filesystem: str) -> None:
    (root / "disks").write_text("/dev/nvme1n1 disk Amazon Elastic Block Store\n")
    (root / "bin/mkfs.xfs").write_text('#!/bin/sh\necho "mkfs.xfs $*" >>"$ROOT/done"\n')
    (root / "bin/mkfs.xfs").chmod(0o755)
    plan = BootPlan(
        "nephoscope", KEY, None, volumes=1, filesystem=filesystem, mount_options=("discard", "data=ordered")
    )
    said, done = booted(root, plan)
    assert said == "ready"
    assert re.search(rf"^mkfs\.{filesystem} .* /dev/nvme1n1$", done, re.MULTILINE)
    assert f"mount -o noatime,discard,data=ordered /dev/nvme1n1 {root}/mnt/data" in done


def test_volumes_from_snapshots_are_mounted_by_their_labels_and_get_no_filesystem(root: Path) -> None:
    """Commands of the machine whose volume it was would pass for ours."""
    made, raw = {"volumes": 2, "apart": True, "labelled": True}, {"raw_volumes_gib": (50,)}
    (root / "disks").write_text("/dev/sdb disk PersistentDisk\n/dev/sdc disk PersistentDisk\n")
    said, done = booted(root, BootPlan("nephoscope", KEY, None, **made))  # type: ignore[arg-type]
    assert said == "ready"
    assert "-L data-set-1 /dev/sdb\n" in done
    assert "-L data-set-2 /dev/sdc\n" in done

    (root / "var/lib/nephoscope/boot").unlink()
    (root / "done").unlink()
    (root / "bin/blkid").write_text(
        '#!/bin/sh\ncase "$*" in *LABEL=data-set-1) echo /dev/sdc;; *LABEL=data-set-2) echo /dev/sdb;; esac\n'
        '[ "$*" != "-p -o value /dev/sdb" ] && [ "$*" != "-p -o value /dev/sdc" ] || echo ext4\n'
    )
    (root / "disks").write_text(
        "/dev/sdb disk PersistentDisk\n/dev/sdc disk PersistentDisk\n/dev/sdd disk PersistentDisk\n"
    )
    (root / "size-sdd").write_text(f"{50 << 30}\n")
    ours = root / "mnt/data/nephoscope/ours"
    ours.mkdir(parents=True)
    said, done = booted(root, BootPlan("nephoscope", KEY, None, filled=True, **made, **raw))  # type: ignore[arg-type]
    assert said == "ready"
    assert "mkfs" not in done
    assert f"mount -o noatime /dev/sdc {root}/mnt/data\n" in done
    assert f"mount -o noatime /dev/sdb {root}/mnt/data-2\n" in done
    assert not ours.exists()
    assert (root / "var/lib/nephoscope/raw-1").readlink() == Path("/dev/sdd")


def test_a_volume_without_the_filesystem_of_a_snapshot_is_an_error(root: Path) -> None:
    (root / "disks").write_text("/dev/sdb disk PersistentDisk\n")
    said, done = booted(root, BootPlan("nephoscope", KEY, None, volumes=1, labelled=True, filled=True))
    assert "no volume has the filesystem data-set-1 of a snapshot" in said
    assert "mkfs" not in done
