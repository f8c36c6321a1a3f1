"""The network of emulated hosts as shell lines; pure.

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

from nephoscope.study.provisioning import Link

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
