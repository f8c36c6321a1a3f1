"""What is recorded of a client, and what is made of it."""

import socket
import threading

import pytest

from bench.harness import recording
from bench.harness.recording import Message, encode, recording_of, split

STARTUP = (8).to_bytes(4, "big") + b"\x00\x03\x00\x00"
SYNC = Message(b"S", b"")


def parse(name: bytes, sql: bytes) -> Message:
    return Message(b"P", name + b"\0" + sql + b"\0\0\0")


def bind(name: bytes) -> Message:
    return Message(b"B", b"\0" + name + b"\0" + b"\0\0\0\0\0\0")


EXECUTE = Message(b"E", b"\0\0\0\0\0")


def call(*names: bytes) -> list[Message]:
    return [message for name in names for message in (bind(name), EXECUTE)] + [SYNC]


def stream(*trips: list[Message]) -> bytes:
    return STARTUP + b"".join(encode(trip) for trip in trips)


def test_a_transaction_of_several_round_trips_ends_by_rollback() -> None:
    found = recording_of(stream([parse(b"s0", b"SELECT 1"), SYNC], call(b"begin"), call(b"s0"), call(b"commit")))
    assert found.startup == STARTUP
    assert found.setup == [encode([parse(b"s0", b"SELECT 1"), SYNC])]
    assert found.transactions == [[encode(call(b"begin")), encode(call(b"s0")), encode(call(b"rollback"))]]


def test_begin_and_commit_may_share_round_trips_with_statements() -> None:
    found = recording_of(stream(call(b"begin", b"s0"), call(b"s1", b"commit"), call(b"begin", b"s2", b"commit")))
    assert found.transactions == [
        [encode(call(b"begin", b"s0")), encode(call(b"s1", b"rollback"))],
        [encode(call(b"begin", b"s2", b"rollback"))],
    ]


def test_a_statement_without_begin_and_an_empty_sync_are_transactions() -> None:
    found = recording_of(stream(call(b"s0"), [SYNC], call(b"s0")))
    assert [len(trips) for trips in found.transactions] == [1, 1, 1]


def test_a_transaction_that_was_cut_off_is_left_out() -> None:
    whole = stream(call(b"s0"), call(b"begin"), call(b"s0"))
    for size in range(len(STARTUP) + len(encode(call(b"s0"))), len(whole) + 1):
        assert len(recording_of(whole[:size]).transactions) == 1


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ValueError, match="startup"):
        split(b"GET / HTTP/1.1\r\n\r\n")


def test_the_proxy_hands_on_both_ways_and_keeps_what_the_client_sent() -> None:
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = server.accept()
        connection.sendall(connection.recv(100).upper())
        connection.close()

    threading.Thread(target=answer, daemon=True).start()
    with (
        recording.proxy(server.getsockname()[1]) as (port, streams),
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        client.sendall(b"hello")
        assert client.recv(100) == b"HELLO"
    assert streams == [bytearray(b"hello")]
