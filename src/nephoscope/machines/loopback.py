"""The address at which this machine reaches itself: 127.0.0.1, or ::1 where there is no IPv4."""

import re
import socket
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

V4, V6 = "127.0.0.1", "::1"


@cache
def loopback() -> str:
    """The address; without either of them 127.0.0.1, so that binding it fails with the reason."""
    for address in (V4, V6):
        try:
            listening(address).close()
        except OSError:
            continue
        return address
    return V4


def listening(address: str, port: int = 0) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one.

    Raises:
        OSError: the address is not of this machine, or the port is taken or may not be used.
    """
    return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)


def free_port(address: str) -> int:
    """One that nothing listens at now."""
    with listening(address) as listener:
        return int(listener.getsockname()[1])


def user_of(connection: socket.socket) -> int | None:
    """Whose process has the other end of a connection on this machine; None: the kernel does not tell."""
    ours, theirs = (_in_table(*end[:2]) for end in (connection.getsockname(), connection.getpeername()))
    for table in TABLES:
        with suppress(OSError):
            sockets = _sockets(Path(table).read_text(encoding="ascii"))
            for one in sockets:
                if one.local.endswith(theirs) and one.remote.endswith(ours):
                    return one.user
    return None


TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
"""The kernel's; the second has IPv4 addresses, too, behind 24 digits, and is not there without IPv6."""


def listener_in(tables: str, address: str, port: int) -> int | None:
    """Whose process listens where a client of a machine comes who connects to an address of it; None: nobody's.

    Args:
        tables: what `TABLES` hold there.
        address: IPv4 or IPv6.
        port: of TCP.
    """
    exact, end = _in_table(address, port), f":{port:04X}"
    listening_there = [one for one in _sockets(tables) if one.state == _LISTENS and one.local.endswith(end)]
    for one in listening_there:
        if one.local.endswith(exact):
            return one.user
    return next((one.user for one in listening_there if not one.local.removesuffix(end).strip("0")), None)


class _Socket(NamedTuple):
    local: str
    remote: str
    state: str
    user: int


_LISTENS = "0A"
_ROW = re.compile(r"^ *\d+: ([0-9A-F:]+) ([0-9A-F:]+) ([0-9A-F]{2})(?: \S+){3} +(\d{1,10}) ", re.MULTILINE)


def _sockets(tables: str) -> list[_Socket]:
    return [_Socket(local, remote, state, int(user)) for local, remote, state, user in _ROW.findall(tables)]


def _in_table(address: str, port: int) -> str:
    """As proc(5) describes it: each four bytes as a number of this machine."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    words = (int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4))
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"


def in_url(address: str) -> str:
    """As a URL has it: an IPv6 address in brackets."""
    return f"[{address}]" if ":" in address else address
