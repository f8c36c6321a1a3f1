"""The address of this machine for itself, also where there is no IPv4."""

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from nephoscope.machines.loopback import TABLES, V4, V6, in_url, listener_in, listening, loopback


@pytest.mark.parametrize(("there", "expected"), [({V4, V6}, V4), ({V6}, V6), (set[str](), V4)])
def test_ipv4_is_taken_where_there_is_one(there: set[str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def create_server(address: tuple[str, int], **_: Any) -> socket.socket:
        if address[0] not in there:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return socket.socket()

    monkeypatch.setattr("nephoscope.machines.loopback.socket.create_server", create_server)
    loopback.cache_clear()
    try:
        assert loopback() == expected
    finally:
        loopback.cache_clear()


def test_a_free_port_and_its_place_in_a_url() -> None:
    with listening(V4) as one:
        assert one.getsockname()[1] > 0
    assert [in_url(address) for address in (V4, V6, "db.example")] == ["127.0.0.1", "[::1]", "db.example"]


def listener_of(address: str, port: int) -> int | None:
    return listener_in("".join(Path(table).read_text() for table in TABLES if Path(table).exists()), address, port)


def test_whose_process_listens() -> None:
    with listening("127.0.0.1") as ours:
        port = ours.getsockname()[1]
        assert listener_of("127.0.0.1", port) == os.geteuid()
        assert listener_of("127.0.0.2", port) is None, "at another address"
    with listening("0.0.0.0") as ours:  # noqa: S104 - at every address
        assert listener_of("127.0.0.2", ours.getsockname()[1]) == os.geteuid()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert listener_of("127.0.0.1", bound.getsockname()[1]) is None
