"""Machines for tests that need a wire: network namespaces of this machine on one bridge. Root alone may make them."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def machines(count: int, data_dir: Path) -> Iterator[tuple[MachineHandle, ...]]:
    """So many machines that reach each other; names hold our process id, and all is gone afterwards."""
    prefix = f"nw{os.getpid()}"
    bridge, names = f"{prefix}b", [f"{prefix}-{number}" for number in range(1, count + 1)]
    made: list[str] = []
    try:
        for name in (bridge, *names):
            _ip("netns", "add", name)
            made.append(name)
        _ip("-n", bridge, "link", "add", "br0", "type", "bridge")
        _ip("-n", bridge, "link", "set", "br0", "up")
        for number, name in enumerate(names, 1):
            wire = f"v{number}"
            _ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", wire, "netns", bridge)
            _ip("-n", bridge, "link", "set", wire, "master", "br0", "up")
            _ip("-n", name, "addr", "add", f"10.213.7.{number}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip("-n", name, "link", "set", link, "up")
        inside = {name: LocalRemote((0,), ("ip", "netns", "exec", name)) for name in names}
        yield tuple(
            MachineHandle(f"machine-{number}", remote, f"10.213.7.{number}", (0,), str(data_dir))
            for number, remote in enumerate(inside.values(), 1)
        )
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
