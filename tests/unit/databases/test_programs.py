"""Servers of ours that start, and what takes their place."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from nephoscope.databases.programs import until_up
from nephoscope.machines.loopback import listening
from nephoscope.model.errors import ToolFailed
from tests.support.local_remote import this_machine


class Starting:
    """A process that runs on."""

    def running(self) -> bool:
        return True

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:
        return 0


async def asked() -> str:
    return "it answered, with our password in its hands"


def answer(folder: Path, port: int) -> str:
    dsn = f"redis://127.0.0.1:{port}"
    return asyncio.run(until_up(asked, this_machine(folder, cpus=(0,)), dsn, Starting(), lambda _: -1.0))


def test_who_takes_a_servers_port_first_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every user sees the port in the list of processes before the server has it."""
    with listening("127.0.0.1") as impostor:
        port = impostor.getsockname()[1]
        assert answer(tmp_path, port) == asyncio.run(asked()), "ours"
        monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
        with pytest.raises(
            ToolFailed, match=rf"another user of this machine \(number {os.getuid()}\) took port {port}"
        ):
            answer(tmp_path, port)


def test_before_anything_listens_nothing_is_asked(tmp_path: Path) -> None:
    """Else somebody could take the port between the look and the question."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(ToolFailed, match=f"nothing listens on port {port} yet"):
            answer(tmp_path, port)
