"""The address at which this machine reaches itself: 127.0.0.1, or ::1 where there is no IPv4."""

import socket
from functools import cache

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


def in_url(address: str) -> str:
    """As a URL has it: an IPv6 address in brackets."""
    return f"[{address}]" if ":" in address else address
