"""Machines for tests that need a wire: network namespaces of this machine on one bridge. Root alone may make them."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Background, Completed, MachineHandle


class NamespaceRemote(LocalRemote):
    """This machine, with the network of a namespace."""

    def __init__(self, namespace: str, cpus: Sequence[int] = (0,)) -> None:
        super().__init__(cpus)
        self._inside = ("ip", "netns", "exec", namespace)

    async def execute(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        save_as: Path | None = None,
        on_line: Callable[[str], None] | None = None,
        pinned: bool = True,
    ) -> Completed:
        return await super().execute(
            [*self._inside, *argv],
            timeout_s=timeout_s,
            stdin=stdin,
            environment=environment,
            save_as=save_as,
            on_line=on_line,
            pinned=pinned,
        )

    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
    ) -> Background:
        return await super().start(
            [*self._inside, *argv], log=log, errors=errors, environment=environment, pinned=pinned
        )


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
        yield tuple(
            MachineHandle(f"machine-{number}", NamespaceRemote(name), f"10.213.7.{number}", (0,), str(data_dir))
            for number, name in enumerate(names, 1)
        )
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
