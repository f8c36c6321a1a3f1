"""Servers of ours that start, and what takes their place."""

import asyncio
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from nephoscope.databases.programs import until_up
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import listening
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import ToolFailed
from nephoscope.run.clock import SystemClock
from tests.support.local_remote import this_machine
from tests.support.sshd import sshd


class Starting:
    """A process that runs on."""

    def running(self) -> bool:
        return True

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:
        return 0


async def asked() -> str:
    return "it answered, with our password in its hands"


class AsSomebodyElse(LocalRemote):
    """A machine on which whoever holds a port now is not who asks."""

    @override
    async def execute(self, command: Command, *, save_as: Path | None = None) -> Completed:
        completed = await super().execute(command, save_as=save_as)
        _, _, tables = completed.stdout.partition(b"\n")
        return replace(completed, stdout=f"{os.getuid() + 1}\n".encode() + tables)


async def answer_of(machine: MachineHandle, port: int) -> str:
    return await until_up(asked, machine, f"redis://127.0.0.1:{port}", Starting(), lambda _: -1.0)


def answer(machine: MachineHandle, port: int) -> str:
    return asyncio.run(answer_of(machine, port))


def test_who_takes_a_servers_port_first_is_not_asked(tmp_path: Path) -> None:
    """Every user sees the port in the list of processes before the server has it."""
    here = this_machine(tmp_path)
    with listening("127.0.0.1") as impostor:
        port = impostor.getsockname()[1]
        assert answer(here, port) == asyncio.run(asked()), "ours"
        taken = rf"another user of here \(number {os.getuid()}\) took port {port}"
        with pytest.raises(ToolFailed, match=taken):
            answer(replace(here, remote=AsSomebodyElse(())), port)


def test_before_anything_listens_nothing_is_asked(tmp_path: Path) -> None:
    """Else somebody could take the port between the look and the question."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(ToolFailed, match=f"nothing listens on port {port} yet"):
            answer(this_machine(tmp_path), port)


def test_who_has_a_port_of_a_host_is_asked_there(tmp_path: Path) -> None:
    async def scenario(address: SshAddress, bound: socket.socket) -> None:
        remote = SshRemote("db", address, SystemClock(), folder=str(tmp_path / "ours"), session="t-1")
        host, port = replace(this_machine(tmp_path), remote=remote), bound.getsockname()[1]
        with pytest.raises(ToolFailed, match=f"nothing listens on port {port} yet"):
            await answer_of(host, port)
        bound.listen()
        assert await answer_of(host, port) == await asked()

    with sshd(tmp_path / "sshd") as running, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        asyncio.run(scenario(running.address, bound))
