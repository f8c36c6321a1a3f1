"""The script that a cloud's machine runs as root at its first boot; pure.

It first sets the timer that ends the machine, as whatever follows may fail. Then a user with our key, the packages, the
disks, which may need some. `DONE` holds its outcome: `ready`, or what failed.
"""

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime

DATA = "/mnt/data"
DONE = "/var/lib/nephoscope/boot"
RAW = "/var/lib/nephoscope/raw"
"""Raw disks are linked as `raw-1`, `raw-2` …: volumes in the order of the study, then local SSDs."""
LOG = "/var/lib/nephoscope/boot.log"


@dataclass(frozen=True)
class BootPlan:
    """What the script does."""

    user: str
    public_key: str
    expires_unix_ms: int | None
    packages: tuple[str, ...] = ()
    volumes: int = 0
    """Disks that were attached; the data folder is on them."""
    local_ssds: int = 0
    """Disks that the machine has by itself; the data folder is on them, and there are no volumes."""
    raw_volumes_gib: tuple[int, ...] = ()
    """Sizes of further disks that were attached, which get no filesystem."""
    raw_local_ssds: int = 0
    """Disks that the machine has by itself and that get no filesystem."""
    apart: bool = False
    """Several disks are not striped: there is a data folder on each."""
    filesystem: str = "ext4"
    mount_options: tuple[str, ...] = ()
    """Besides noatime."""
    labelled: bool = False
    """The filesystems of volumes are labelled, as snapshots are made of them."""
    filled: bool = False
    """The volumes come from such snapshots, with their filesystems."""


def raw_devices(disks: int) -> tuple[str, ...]:
    """Paths of so many raw disks."""
    return tuple(f"{RAW}-{number}" for number in range(1, disks + 1))


def mounts(disks: int) -> list[str]:
    """Where so many disks are mounted that are apart: the first as a single one is."""
    return [DATA, *(f"{DATA}-{number}" for number in range(2, disks + 1))]


def boot_script(plan: BootPlan) -> str:
    """A POSIX shell script; started a second time, after a restart of the machine, it does nothing."""
    wanted, kind = (plan.local_ssds, "local") if plan.local_ssds else (plan.volumes, "volume")
    folders = [f"{mount}/nephoscope" for mount in mounts(wanted if plan.apart else 1)]
    parts = [
        _HEAD,
        _timer(plan.expires_unix_ms) if plan.expires_unix_ms is not None else "",
        _USER.format(user=plan.user, key=shlex.quote(plan.public_key)),
        _QUIET,
        _packages(plan, wanted),
        _empty_disks(plan, wanted, kind),
        _disks(plan, wanted, kind) if wanted else f"mkdir -p {DATA}\n",
        *(f"mkdir -p {folder}/data\nchown -R {plan.user}: {folder}\n" for folder in folders),
        f"trap - EXIT\necho ready >{DONE}\n",
    ]
    return "\n".join(part for part in parts if part)


def _empty_disks(plan: BootPlan, wanted: int, kind: str) -> str:
    """How empty disks are found; raw ones are taken before any gets a filesystem.

    Where raw volumes are beside others, only their sizes tell them apart.
    """
    raw = {"volume": plan.raw_volumes_gib, "local": (0,) * plan.raw_local_ssds}
    if not wanted and not any(raw.values()):
        return ""
    if not plan.volumes:
        raw["volume"] = (0,) * len(plan.raw_volumes_gib)
    number, parts = 1, [_TEMPORARY if kind == "local" or plan.raw_local_ssds else "", _EMPTY]
    for of_kind, sizes in raw.items():
        if sizes:
            there = len(sizes) + (wanted if of_kind == kind and not plan.filled else 0)
            link = _RAW.format(kind=of_kind, there=there, sizes=" ".join(map(str, sizes)), user=plan.user, first=number)
            parts.append(link)
            number += len(sizes)
    return "".join(parts)


def _disks(plan: BootPlan, wanted: int, kind: str) -> str:
    options = shlex.quote(",".join(["noatime", *plan.mount_options]))
    if plan.filled:
        return _FILLED.format(wanted=wanted, options=options)
    label = f' -L "{_LABEL}-${{number:-1}}"' if plan.labelled else ""
    make = f"{_MAKE_FILESYSTEM[plan.filesystem]}{label}"
    use = (_APART if plan.apart else _STRIPED).format(make=make, options=options)
    return _DISKS.format(wanted=wanted, kind=kind, use=use)


def _packages(plan: BootPlan, wanted: int) -> str:
    """The study's packages, and those that the disks need but the image lacks."""
    tools = {"mdadm": "mdadm"} if wanted > 1 and not plan.apart else {}
    tools |= {"mkfs.xfs": "xfsprogs"} if wanted and plan.filesystem == "xfs" else {}
    if not (plan.packages or tools):
        return ""
    names = " ".join(map(shlex.quote, plan.packages))
    missing = "".join(_WHERE_MISSING.format(tool=tool, package=package) for tool, package in tools.items())
    return f"set -- {names}\n{missing}{_PACKAGES}"


def _timer(expires_unix_ms: int) -> str:
    moment = datetime.fromtimestamp(expires_unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _TIMER.format(moment=moment)


_MAKE_FILESYSTEM = {
    "ext4": "mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0",
    "xfs": "mkfs.xfs -q -f -K",
}

_LABEL = "data-set"
"""Of filesystems in snapshots, followed by the number of the volume; XFS takes twelve characters."""

_HEAD = f"""\
#!/bin/sh
mkdir -p {DONE.rpartition("/")[0]}
[ ! -e {DONE} ] || exit 0
exec >>{LOG} 2>&1
set -eux
trap 'tail -n 6 {LOG} >{DONE}.failed; mv {DONE}.failed {DONE}' EXIT
"""

# A unit and not `shutdown +60`: it is there again after a restart, and acts at once when its moment has passed.
_TIMER = """\
cat >/etc/systemd/system/nephoscope-expires.service <<'END'
[Service]
Type=oneshot
ExecStart=/bin/systemctl poweroff --force
END
cat >/etc/systemd/system/nephoscope-expires.timer <<'END'
[Timer]
OnCalendar={moment}
Persistent=true
AccuracySec=1s
[Install]
WantedBy=timers.target
END
systemctl daemon-reload
systemctl enable --now nephoscope-expires.timer
"""

_USER = """\
id -u {user} || useradd --create-home --shell /bin/sh {user}
home=$(getent passwd {user} | cut -d: -f6)
mkdir -p "$home/.ssh"
grep -qxF {key} "$home/.ssh/authorized_keys" || printf '%s\\n' {key} >>"$home/.ssh/authorized_keys"
chmod 700 "$home/.ssh"
chmod 600 "$home/.ssh/authorized_keys"
chown -R {user}: "$home/.ssh"
"""

# Azure's machines without NVMe have one local SSD, the temporary disk, which their image formats and mounts on /mnt.
_TEMPORARY = """\
temporary=$(readlink -e /dev/disk/cloud/azure_resource || true)
case "$(lsblk --noheadings --nodeps --output NAME,TYPE,MODEL)" in *"Direct Disk"*) temporary= ;; esac
if [ -n "$temporary" ] && ! mountpoint -q /mnt/data; then
    for part in "$temporary"?*; do
        umount "$part" || true
        wipefs --all --force "$part" || true
    done
    wipefs --all --force "$temporary"
    blockdev --rereadpt "$temporary" || true
    sed -i '\\|azure_resource|d' /etc/fstab
fi
"""

# Whole disks that nothing is on. Local SSDs are known by their model: AWS "Amazon EC2 NVMe Instance Storage", GCP
# "nvme_card…" or by SCSI "EphemeralDisk" (its volumes are "nvme_card-pd" or "PersistentDisk"), Azure "Microsoft NVMe
# Direct Disk". A machine type may have more of them than the study uses.
_EMPTY = """\
taken=" "
empty() {
    lsblk --noheadings --nodeps --paths --output NAME,TYPE,MODEL | while read -r disk type model; do
        case "$type $disk" in "disk /dev/fd"*|"disk /dev/zram"*) continue ;; "disk "*) ;; *) continue ;; esac
        case "$model" in
            "nvme_card-pd"*) kind=volume ;;
            *"Instance Storage"*|"nvme_card"*|"EphemeralDisk"*|*"Direct Disk"*) kind=local ;;
            *) kind=volume ;;
        esac
        [ "$disk" != "${temporary:-}" ] || kind=local
        [ "$kind" = "$1" ] || continue
        case "$taken" in *" $disk "*) continue ;; esac
        [ "$(lsblk --noheadings --output NAME "$disk" | wc -l)" -eq 1 ] || continue
        [ -z "$(blkid -p -o value "$disk" || true)" ] || continue
        echo "$disk"
    done
}
found() {
    tries=0
    while [ "$(empty "$1" | wc -l)" -lt "$2" ] && [ $tries -lt 120 ]; do tries=$((tries + 1)); sleep 1; done
    disks=$(empty "$1")
    there=$(echo $disks | wc -w)
    [ $there -eq "$2" ] || { [ "$1" = local ] && [ $there -gt "$2" ]; } ||
        { echo "$2 disks ($1) were requested, but $there exist:" $disks; exit 1; }
    disks=$(echo $disks | cut -d " " -f "1-$2")
}
"""
_RAW = """\
found {kind} {there}
number={first}
for gib in {sizes}; do
    raw=
    for disk in $(empty {kind}); do
        [ $gib -eq 0 ] || size=$(lsblk --noheadings --nodeps --bytes --output SIZE "$disk")
        [ $gib -eq 0 ] || [ $size -eq $((gib << 30)) ] || continue
        raw=$disk
        break
    done
    [ -n "$raw" ] || {{ echo "a raw disk of $gib GiB was requested, but there are only:" $disks; exit 1; }}
    taken="$taken$raw "
    ln -sfn "$raw" /var/lib/nephoscope/raw-$number
    chown {user}: "$raw"
    number=$((number + 1))
done
"""
_DISKS = """\
if ! mountpoint -q /mnt/data; then
    found {kind} {wanted}
    set -- $disks
{use}fi
"""
_STRIPED = """\
    device=$1
    if [ $# -gt 1 ]; then
        device=/dev/md/nephoscope
        mdadm --create "$device" --run --level=0 --raid-devices=$# "$@"
    fi
    {make} "$device"
    mkdir -p /mnt/data
    mount -o {options} "$device" /mnt/data
"""
_APART = """\
    number=1
    for device; do
        folder=/mnt/data
        [ $number -eq 1 ] || folder=/mnt/data-$number
        {make} "$device"
        mkdir -p "$folder"
        mount -o {options} "$device" "$folder"
        number=$((number + 1))
    done
"""

# Commands of the cluster whose volume it was are not ours.
_FILLED = f"""\
if ! mountpoint -q /mnt/data; then
    number=1
    while [ $number -le {{wanted}} ]; do
        tries=0
        device=
        while [ -z "$device" ] && [ $tries -lt 120 ]; do
            device=$(blkid -c /dev/null -l -o device -t LABEL={_LABEL}-$number || true)
            [ -n "$device" ] || sleep 1
            tries=$((tries + 1))
        done
        [ -n "$device" ] || {{{{ echo "no volume has the filesystem {_LABEL}-$number of a snapshot"; exit 1; }}}}
        folder=/mnt/data
        [ $number -eq 1 ] || folder=/mnt/data-$number
        mkdir -p "$folder"
        mount -o {{options}} "$device" "$folder"
        rm -rf "$folder/nephoscope/ours"
        number=$((number + 1))
    done
fi
"""

# What images do by themselves once a day would be foreign load.
_QUIET = """\
systemctl stop apt-daily.timer apt-daily-upgrade.timer unattended-upgrades.service 2>/dev/null || true
"""

_WHERE_MISSING = 'command -v {tool} || set -- "$@" {package}\n'
_PACKAGES = """\
if [ $# -eq 0 ]; then
    echo "no package is needed"
elif command -v apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=300 update
    apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends "$@"
else
    dnf install --assumeyes "$@"
fi
"""
