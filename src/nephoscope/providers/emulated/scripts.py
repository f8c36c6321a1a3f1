"""How emulated hosts and their network come up and go away, as shell scripts; pure.

A host is a set of namespaces (network, mount, uts, pid, ipc) with a control group, a data disk on a loop device and an
sshd. Everything hangs on its first process: when that is killed, the kernel ends the others, unmounts the disk, frees
the loop device and the file behind it, which has no name any more.

Every zone is a bridge, in a namespace of the cluster's own. Two zones are joined by a wire: a pair of devices, or a
program that delays and loses what it passes on (`nephoscope-load wire`), where a link asks for that. Ports that lead to
other bridges are isolated from each other, so nothing travels in circles. The controller has ports to all zones, and is
never late.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath

from nephoscope.providers.emulated.limits import (
    Write,
    disk_limits,
    folders,
    limits,
    parents,
    shaping,
    without_disk_limits,
)
from nephoscope.study.provisioning import Link, MachineType

_OPEN_DEVICES = """
import fcntl, os, struct, sys
for number, name in enumerate(sys.argv[1:3]):
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1002))
    os.dup2(device, number)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""TUNSETIFF, IFF_TAP | IFF_NO_PI (kernel, include/uapi/linux/if_tun.h): one device becomes stdin, the other stdout."""


@dataclass(frozen=True)
class Port:
    """A host's place in the network."""

    number: int
    namespace: str
    zone: str
    address: str


@dataclass(frozen=True)
class Fabric:
    """The network of one cluster before it is there."""

    namespace: str
    """Of the bridges."""
    uplink: str
    """The controller's device."""
    gateway: str
    """The controller's address."""
    ports: tuple[Port, ...]
    links: tuple[Link, ...]
    load_program: str
    """nephoscope-load on this machine."""
    groups: tuple[str, ...]
    """Control groups in which wires run, so that they end with the cluster."""

    @property
    def zones(self) -> list[str]:
        """In order of their first host."""
        return list(dict.fromkeys(port.zone for port in self.ports))


def fabric_script(fabric: Fabric) -> list[str]:
    """Makes it. Control groups must be there."""
    inside, zones = fabric.namespace, fabric.zones
    lines = [
        f"ip netns add {inside}",
        f"ip link add {fabric.uplink} type veth peer name uplink netns {inside}",
        f"ip address add {fabric.gateway}/24 dev {fabric.uplink}",
        f"ip link set {fabric.uplink} up",
        *_bridge(inside, "bridge"),
        f"ip -n {inside} link set uplink master bridge up",
    ]
    if len(zones) > 1:
        for index in range(len(zones)):
            lines += [*_bridge(inside, f"zone{index}"), *_pair(inside, "bridge", f"zone{index}", f"c{index}")]
        for one, other in combinations(range(len(zones)), 2):
            lines += _joined(fabric, one, other)
    for port in fabric.ports:
        bridge = f"zone{zones.index(port.zone)}" if len(zones) > 1 else "bridge"
        lines += [
            f"ip netns add {port.namespace}",
            f"ip -n {inside} link add port{port.number} type veth peer name eth0 netns {port.namespace}",
            f"ip -n {inside} link set port{port.number} master {bridge} up",
            f"ip -n {port.namespace} address add {port.address}/24 dev eth0",
            f"ip -n {port.namespace} link set lo up",
            f"ip -n {port.namespace} link set eth0 up",
        ]
    return lines


def _bridge(inside: str, name: str) -> list[str]:
    return [f"ip -n {inside} link add {name} type bridge", f"ip -n {inside} link set {name} up"]


def _isolated(inside: str, device: str, bridge: str) -> list[str]:
    return [
        f"ip -n {inside} link set {device} master {bridge} up",
        f"bridge -n {inside} link set dev {device} isolated on",
    ]


def _pair(inside: str, one: str, other: str, name: str) -> list[str]:
    """Two bridges joined by the kernel's own pair of devices."""
    return [
        f"ip -n {inside} link add {name}a type veth peer name {name}b",
        *_isolated(inside, f"{name}a", one),
        *_isolated(inside, f"{name}b", other),
    ]


def _joined(fabric: Fabric, one: int, other: int) -> list[str]:
    inside, name = fabric.namespace, f"w{one}-{other}"
    zones = {fabric.zones[one], fabric.zones[other]}
    link = next((link for link in fabric.links if {*link.between} == zones), None)
    if link is None:
        return _pair(inside, f"zone{one}", f"zone{other}", name)
    ends = (f"{name}a", f"{name}b")
    made = [f"ip -n {inside} tuntap add dev {end} mode tap" for end in ends]
    isolated = [
        line for end, zone in zip(ends, (one, other), strict=True) for line in _isolated(inside, end, f"zone{zone}")
    ]
    groups = "; ".join(f"echo 0 >{group}/cgroup.procs" for group in fabric.groups)
    # Packets are late when their wire waits for a CPU.
    wire = [
        "nice",
        "-n",
        "-20",
        "ip",
        "netns",
        "exec",
        inside,
        sys.executable,
        "-I",
        "-c",
        _OPEN_DEVICES,
        *ends,
        *wire_argv(fabric, link),
    ]
    return [*made, f"( {groups}", f"exec setsid {shlex.join(wire)} </dev/null >/dev/null 2>&1 ) &", *isolated]


def wire_argv(fabric: Fabric, link: Link) -> Sequence[str]:
    """The program that is a link."""
    return (
        *(fabric.load_program, "wire", "--delay-us", f"{link.round_trip_ms * 500:.0f}"),
        *("--jitter-us", f"{link.jitter_ms * 1000:.0f}", "--loss-percent", f"{link.loss_percent:g}"),
    )


STATE = "/run/nephoscope/emulated"
LOCK = "/run/nephoscope/lock"
NETWORK = "198.18"
"""Of 198.18.0.0/15, which RFC 2544 sets aside for benchmarks: it is routed nowhere."""
GATEWAY = 254


@dataclass(frozen=True)
class HostPlan:
    """One host before it is there."""

    name: str
    number: int
    """From 1; the last part of its address."""
    machine: MachineType
    cpus: tuple[int, ...]
    zone: str = "zone"
    filesystem: str = "ext4"
    mount_options: tuple[str, ...] = ()
    """Besides those of its type."""

    @property
    def mounted(self) -> str:
        """Options of its data disk, as `mount -o` takes them."""
        return ",".join(["noatime", *([] if self.machine.disk_barriers else ["nobarrier"]), *self.mount_options])


@dataclass(frozen=True)
class ClusterPlan:
    """A cluster before it is there. `id` is six hexadecimal digits: an interface's name has room for no more."""

    id: str
    subnet: int
    images: str
    """A folder of this machine, for the files behind the data disks."""
    hosts: tuple[HostPlan, ...]
    sshd: str
    cgroup_version: int
    load_program: str
    links: tuple[Link, ...] = ()

    @property
    def state(self) -> str:
        """Its folder of keys, configurations and mount points."""
        return f"{STATE}/{self.id}"

    def address(self, host: HostPlan) -> str:
        """IPv4 address of a host."""
        return f"{NETWORK}.{self.subnet}.{host.number}"

    def namespace(self, host: HostPlan) -> str:
        """The name of a host's network."""
        return f"nph-{self.id}-{host.name}"

    @property
    def wires(self) -> tuple[str, ...]:
        """The control group of what delays packets; one is enough to find it by."""
        return tuple(folders(self.cgroup_version, self.id, "wires")[:1])


_SSHD = """\
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {state}/key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers root
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
LogLevel ERROR
"""

_MAKE_FILESYSTEM = {
    "ext4": "mkfs.ext4 -q -F -T largefile -E lazy_itable_init=0,lazy_journal_init=0",
    "xfs": "mkfs.xfs -q -f",
}

_FIRST_PROCESS = """
hostname "$1"
mount -o "$2" "$3" "$4"
losetup --detach "$3"
rm -f "$5"
mount --bind "$6/passwd" /etc/passwd
mount -t tmpfs -o mode=1777 nephoscope /dev/shm
export HOME="$6/home"
"$7" -D -e -f "$6/sshd_config" &
wait
"""
"""`losetup --detach` of a mounted disk frees it when it is unmounted. `wait` also takes in orphans."""


def up_script(plan: ClusterPlan) -> str:
    """Makes network, control groups and hosts of a cluster; its folder must be there and be empty."""
    lines = ["set -eu", f"mkdir -p {plan.state} {shlex.quote(plan.images)} /run/sshd", *_groups(plan)]
    lines += [*_network(plan), _key(f"{plan.state}/key")]
    for host in plan.hosts:
        lines += _host(plan, host)
    return "\n".join(lines) + "\n"


def limit_line(write: Write) -> str:
    """One write below /sys/fs/cgroup; its value may name a variable."""
    return f'echo "{write.value}" >{write.file}'


def down_script(cluster: str, images: str, cgroup_version: int) -> str:
    """Takes away whatever is there of a cluster, also of one that never came up or whose controller was killed."""
    processes = " ".join(f"{folder}/cgroup.procs" for folder in folders(cgroup_version, cluster, "*"))
    of_all, of_cluster = (" ".join(paths) for paths in zip(*parents(cgroup_version, cluster), strict=True))
    of_hosts = " ".join(folders(cgroup_version, cluster, "*"))
    image = shlex.quote(f"{images}/{cluster}-")
    return f"""
{without_disk_limits(cgroup_version, cluster)}
tries=500
while pids=$(cat {processes} 2>/dev/null); [ -n "$pids" ] && [ $tries -gt 0 ]; do
    kill -KILL $pids 2>/dev/null
    tries=$((tries - 1))
    sleep 0.02
done
for one in $(ip netns list | cut -d ' ' -f 1 | grep '^nph-{cluster}-'); do ip netns delete "$one" & done
wait
ip link delete nph{cluster} 2>/dev/null
losetup --noheadings --raw --output NAME,BACK-FILE | grep -F {image} | cut -d ' ' -f 1 |
    while read -r one; do losetup --detach "$one"; done
rm -f {image}*.img
flock {LOCK} rmdir {of_hosts} {of_cluster} {of_all} 2>/dev/null
rm -rf {STATE}/{cluster}
rmdir {STATE} 2>/dev/null
[ ! -e {STATE}/{cluster} ]
"""


def _network(plan: ClusterPlan) -> list[str]:
    middle = f"nph-{plan.id}-net"
    ports = [Port(host.number, plan.namespace(host), host.zone, plan.address(host)) for host in plan.hosts]
    gateway = f"{NETWORK}.{plan.subnet}.{GATEWAY}"
    fabric = Fabric(middle, f"nph{plan.id}", gateway, tuple(ports), plan.links, plan.load_program, plan.wires)
    lines = fabric_script(fabric)
    for host in plan.hosts:
        for where, device in ((plan.namespace(host), "eth0"), (middle, f"port{host.number}")):
            shaped = shaping(host.machine, device)
            if shaped is not None:
                lines.append(shlex.join(["tc", "-n", where, *shaped]))
    return lines


def _groups(plan: ClusterPlan) -> list[str]:
    """Under a lock: whoever takes the last cluster away removes the folder of all clusters."""
    lines = [f"exec 8>{LOCK}", "flock 8"]
    for folder in (path for pair in parents(plan.cgroup_version, plan.id) for path in pair):
        lines.append(f"mkdir -p {folder}")
        if plan.cgroup_version == 2:
            opened = (PurePosixPath(folder).parent, folder)
            lines += [f"echo '+cpu +cpuset +memory +io' >{each}/cgroup.subtree_control" for each in opened]
        elif "/cpuset/" in folder:
            above = PurePosixPath(folder).parent
            lines += [f"cat {above}/cpuset.{what} >{folder}/cpuset.{what}" for what in ("mems", "cpus")]
    lines += [f"mkdir -p {group}" for host in plan.hosts for group in folders(plan.cgroup_version, plan.id, host.name)]
    lines += [f"mkdir -p {group}" for group in plan.wires]
    return [*lines, "exec 8>&-"]


def _host(plan: ClusterPlan, host: HostPlan) -> list[str]:
    folder, image = f"{plan.state}/{host.name}", shlex.quote(f"{plan.images}/{plan.id}-{host.name}.img")
    version, machine = plan.cgroup_version, host.machine
    groups = folders(version, plan.id, host.name)
    config = _SSHD.format(address=plan.address(host), folder=folder, state=plan.state)
    enter = shlex.join(
        ["nsenter", f"--net=/run/netns/{plan.namespace(host)}", "unshare", "--mount", "--uts", "--pid", "--ipc",
         "--fork", "--kill-child", "--mount-proc", "sh", "-e", "-c", _FIRST_PROCESS, "host", host.name,
         host.mounted]
    )  # fmt: skip
    return [
        f"mkdir -p {folder}/data {folder}/home",
        f"sed 's|^root:.*|root:x:0:0:root:{folder}/home:/bin/sh|' /etc/passwd >{folder}/passwd",
        f"printf %s {shlex.quote(config)} >{folder}/sshd_config",
        _key(f"{folder}/host_key"),
        # Whoever could open it would go on reading the passwords of the databases on it.
        f"(umask 077; truncate -s {int(machine.disk_gib * 1024)}M {image})",
        f"{_MAKE_FILESYSTEM[host.filesystem]} {image}",
        f"loop=$(losetup --find --show --direct-io=on {image})",
        'device=$(lsblk --noheadings --output MAJ:MIN "$loop" | tr -d " ")',
        *(limit_line(write) for write in limits(version, plan.id, host.name, machine, host.cpus)),
        *(limit_line(write) for write in disk_limits(version, plan.id, host.name, machine, "$device")),
        f"( {'; '.join(f'echo 0 >{group}/cgroup.procs' for group in groups)}",
        f'exec setsid {enter} "$loop" {folder}/data {image} {folder} {plan.sshd} </dev/null >{folder}/log 2>&1 ) &',
    ]


def _key(path: str) -> str:
    return shlex.join(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path])


def hosts_of(types: Sequence[tuple[str, str, MachineType]], cpus: Sequence[int]) -> tuple[HostPlan, ...]:
    """Hosts by name, zone and type, with this machine's `cpus` dealt out in turn, so that few share one."""
    found: list[HostPlan] = []
    at = 0
    for number, (name, zone, machine) in enumerate(types, start=1):
        own = tuple(sorted(cpus[(at + offset) % len(cpus)] for offset in range(machine.vcpus)))
        at += machine.vcpus
        found.append(HostPlan(name, number, machine, own, zone))
    return tuple(found)
