"""TCP's settings on both ends: records them, applies those of a method, and restores them."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from nephoscope.benchmarks.network.ends import Between
from nephoscope.benchmarks.presets import EditionParameters
from nephoscope.machines.remote import Command, MachineHandle, Tool
from nephoscope.model.errors import EnvironmentProblem

RECORD = "network.json"
_FOLDER = "/proc/sys/net/ipv4"
_KEYS = ("tcp_rmem", "tcp_wmem", "tcp_congestion_control")
_TIMEOUT_S = 10.0


@dataclass
class Record:
    """What `network.json` of the raw output holds: who took part, and the settings of each end."""

    clients: list[str]
    server: str
    server_argv: list[str]
    settings: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Machine -> 'before', 'in_force', 'after' -> name -> value."""
    more: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Into the raw output."""
        (folder / RECORD).write_text(json.dumps(vars(self), indent=2, sort_keys=True) + "\n", encoding="utf-8")


@asynccontextmanager
async def settings(
    machines: Sequence[MachineHandle], wanted: Mapping[str, str | None], record: Record, folder: Path
) -> AsyncIterator[None]:
    """Settings in force for the time of the block, put back afterwards; all of it is recorded.

    Args:
        machines: both ends.
        wanted: name below /proc/sys/net/ipv4 -> value; None: as it is.
        record: takes what was found.
        folder: of the raw output.

    Raises:
        EnvironmentProblem: a setting cannot be made or put back (it needs root, or the kernel does not know it).
    """
    asked = {name: _plain(value) for name, value in wanted.items() if value is not None}
    before = {machine.name: await _read(machine) for machine in machines}
    record.settings = {name: {"before": values} for name, values in before.items()}
    record.write(folder)
    try:
        for machine in machines:
            await _write(machine, asked)
            record.settings[machine.name]["in_force"] = await _read(machine)
        yield
    finally:
        try:
            for machine in machines:
                now = await _read(machine)
                await _write(machine, {name: was for name, was in before[machine.name].items() if now[name] != was})
                record.settings[machine.name]["after"] = await _read(machine)
        finally:
            record.write(folder)


async def _read(machine: MachineHandle) -> dict[str, str]:
    looked = await machine.remote.execute(
        Command(["head", "-n", "1", *(f"{_FOLDER}/{name}" for name in _KEYS)], timeout_s=_TIMEOUT_S, pinned=False)
    )
    lines = [line for line in looked.stdout.decode(errors="replace").splitlines() if line and "==>" not in line]
    if len(lines) != len(_KEYS):
        raise EnvironmentProblem(f"{machine.name} has no readable TCP settings under {_FOLDER}")
    return {name: _plain(line) for name, line in zip(_KEYS, lines, strict=True)}


async def _write(machine: MachineHandle, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        path = f"{_FOLDER}/{name}"
        done = await machine.remote.execute(
            Command(["tee", path], stdin=value.encode(), timeout_s=_TIMEOUT_S, pinned=False)
        )
        found = (await _read(machine))[name]
        if done.exit_code != 0 or found != value:
            said = done.stderr.decode(errors="replace").strip()[-200:]
            raise EnvironmentProblem(
                f"{machine.name}: net.ipv4.{name} is {found!r} and could not be set to {value!r}"
                f"{f': {said}' if said else ''}",
                hint=f"log in as root, or leave `{name.removeprefix('tcp_congestion_')}` as it is on the machine",
            )


def _plain(value: str) -> str:
    return " ".join(value.split())


IPERF = Tool("iperf", "iperf", version_exit_code=1)
IPERF3 = Tool("iperf3", "iperf3")
NETPERF = Tool(
    "netperf",
    version_argv=("-V",),
    hint="nephoscope does not install netperf: install it (Debian: section non-free), or choose another `tool`",
)
SOCKPERF = Tool("sockperf", "sockperf")

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in (IPERF, IPERF3, NETPERF, SOCKPERF)}


FIRST_PORT = 20_100


class NetworkParameters(EditionParameters):
    """Parameters of every network benchmark."""

    between: Between = Field(
        default="auto",
        description="which machines: database machines, or load machine and first database machine; auto: the former "
        "where there are several and the load machine is in the same region",
    )


class TcpParameters(NetworkParameters):
    """Further parameters of every TCP benchmark."""

    port: int = Field(default=FIRST_PORT, ge=1024, le=60_000, description="the first one used at the server")
    tcp_rmem: str | None = Field(
        default=None,
        pattern=r"^\d+ \d+ \d+$",
        description="net.ipv4.tcp_rmem of both ends during the measurement; default: unchanged",
    )
    tcp_wmem: str | None = Field(default=None, pattern=r"^\d+ \d+ \d+$", description="the same, for sending")
    congestion_control: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9_]{1,15}$",
        description="congestion control of both ends, such as 'cubic' or 'bbr'; default: unchanged",
    )

    @property
    def settings(self) -> dict[str, str | None]:
        """Name below net.ipv4 -> value."""
        return {
            "tcp_rmem": self.tcp_rmem,
            "tcp_wmem": self.tcp_wmem,
            "tcp_congestion_control": self.congestion_control,
        }
