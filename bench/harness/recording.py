"""The round trips that a client sends, recorded on their way and made fit to be repeated for ever."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BEGIN = b"begin"
COMMIT = b"commit"
ROLLBACK = b"rollback"
"""The names under which nephoscope-load prepares transaction control."""

_SYNC = b"S"
_QUERY = b"Q"
_TERMINATE = b"X"
_BIND = b"B"
_PARSE = b"P"


@dataclass(frozen=True)
class Message:
    """One message of the frontend, with its tag and length."""

    tag: bytes
    body: bytes

    def encode(self) -> bytes:
        """As it is sent."""
        return self.tag + (len(self.body) + 4).to_bytes(4, "big") + self.body


@dataclass(frozen=True)
class Recording:
    """A session: what it began with, what prepared it, what it did then."""

    startup: bytes
    setup: list[bytes]
    transactions: list[list[bytes]]


def split(stream: bytes) -> tuple[bytes, list[list[Message]]]:
    """The startup message, and the round trips after it; one that was cut off is left out.

    Raises:
        ValueError: this is not the stream of a PostgreSQL client.
    """
    length = int.from_bytes(stream[:4], "big")
    if not 8 <= length <= len(stream):
        raise ValueError("no startup message")
    startup, at = stream[:length], length
    trips: list[list[Message]] = []
    trip: list[Message] = []
    while at + 5 <= len(stream):
        end = at + 1 + int.from_bytes(stream[at + 1 : at + 5], "big")
        message = Message(stream[at : at + 1], stream[at + 5 : end])
        at = end
        if message.tag == _TERMINATE or at > len(stream):
            break
        trip.append(message)
        if message.tag in {_SYNC, _QUERY}:
            trips.append(trip)
            trip = []
    return startup, trips


def statement_of(message: Message) -> bytes | None:
    """The prepared statement that a Bind names: behind the portal's name, both ended by a zero."""
    return message.body.split(b"\0", 2)[1] if message.tag == _BIND else None


def transactions_of(trips: Sequence[list[Message]]) -> tuple[list[bytes], list[list[list[Message]]]]:
    """Setup, and transactions: from BEGIN to its end, or a round trip that has no BEGIN."""
    setup: list[bytes] = []
    transactions: list[list[list[Message]]] = []
    open_one: list[list[Message]] | None = None
    for trip in trips:
        names = {statement_of(message) for message in trip}
        if not any(names):
            if trip[0].tag in {_PARSE, _QUERY}:
                setup.append(encode(trip))
            else:
                transactions.append([trip])  # an empty Sync
            continue
        if BEGIN in names or open_one is None:
            open_one = []
        open_one.append(trip)
        inside = BEGIN in {statement_of(message) for message in open_one[0]}
        if not inside or names & {COMMIT, ROLLBACK}:
            transactions.append(open_one)
            open_one = None
    return setup, transactions


def encode(trip: Sequence[Message]) -> bytes:
    """A round trip as it is sent."""
    return b"".join(message.encode() for message in trip)


def without_effect(transaction: Sequence[Sequence[Message]]) -> list[bytes]:
    """The same round trips with ROLLBACK in the place of COMMIT: what they insert can be inserted again."""

    def turned(message: Message) -> Message:
        if statement_of(message) != COMMIT:
            return message
        portal, _, rest = message.body.split(b"\0", 2)
        return Message(message.tag, portal + b"\0" + ROLLBACK + b"\0" + rest)

    return [encode([turned(message) for message in trip]) for trip in transaction]


def recording_of(stream: bytes) -> Recording:
    """What a client sent on one connection, fit to be repeated."""
    startup, trips = split(stream)
    setup, transactions = transactions_of(trips)
    return Recording(startup, setup, [without_effect(transaction) for transaction in transactions])


@contextlib.contextmanager
def proxy(port: int) -> Iterator[tuple[int, list[bytearray]]]:
    """Hands every connection on to `port`; yields its own port, and what clients sent, a stream a connection."""
    streams: list[bytearray] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", port))
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = bytearray()
            streams.append(stream)
            threading.Thread(target=_pump, args=(client, server, stream), daemon=True).start()
            threading.Thread(target=_pump, args=(server, client, None), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1], streams
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _pump(source: socket.socket, sink: socket.socket, keep: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            if keep is not None:
                keep += data
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
