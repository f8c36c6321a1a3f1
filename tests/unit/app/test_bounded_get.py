"""Servers that answer a download badly: each is told in one sentence, in time, and without anything stored."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from nephoscope.app.prices_download import Allowance, download, get_json, same_place
from nephoscope.model.errors import InputError, TargetUnreachable


@contextmanager
def answers(*pages: bytes, drip_s: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends these bytes, a connection after the other, and what it was asked; `BASE` is its address."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def serve() -> None:
            for page in pages:
                connection, _ = listener.accept()
                with connection:
                    asked.append(connection.recv(65536))
                    content = page.replace(b"BASE", base.encode())
                    step = 1 if drip_s else max(1, len(content))
                    try:
                        for at in range(0, len(content), step):
                            connection.sendall(content[at : at + step])
                            time.sleep(drip_s)
                    except OSError:
                        return

        Thread(target=serve, daemon=True).start()
        yield base, asked


def whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "was incomplete: IncompleteRead"),
        (CHUNKED + b"9\r\n{}", "was incomplete"),
        (CHUNKED + b"zz\r\n{}", "was incomplete"),
        (b"nonsense\r\n\r\n", "was incomplete"),
        (b"", "was incomplete"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000, "was incomplete"),
        (b"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n", "answered 500 no"),
        (b"HTTP/1.1 302 x\r\nLocation: http://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n", "to another server"),
        (b"HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", "is not allowed"),
        (whole(b"[" * 100_000), "nested too deeply"),
        (whole(b"9" * 5_000), "did not answer with JSON"),
        (whole(b"\xff"), "did not answer with JSON"),
    ],
)  # fmt: skip
def test_a_damaged_answer_is_told(answer: bytes, said: str) -> None:
    with answers(answer) as (base, _), pytest.raises(TargetUnreachable, match=said):
        get_json(f"{base}/list", {}, Allowance())


def test_an_answer_may_be_neither_endless_nor_slow() -> None:
    with (
        answers(whole(b" " * 3_000_000 + b"1")) as (base, _),
        pytest.raises(TargetUnreachable, match="sent more data than"),
    ):
        get_json(base, {}, Allowance(most_bytes=2_000_000))
    with answers(whole(b"[1, 2]"), drip_s=0.02) as (base, _), pytest.raises(TargetUnreachable, match="took longer"):
        get_json(base, {}, Allowance(most_s=0.05))


def test_a_redirection_on_the_same_server_is_followed() -> None:
    moved = b"HTTP/1.1 302 x\r\nLocation: BASE/there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with answers(moved, whole(b"[1]")) as (base, asked):
        assert get_json(base, {"X-Goog-Api-Key": "k"}, Allowance()) == [1]
        assert [b"x-goog-api-key: k" in request.lower() for request in asked] == [True, True]


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ([b'{"NextPageLink": "http://127.0.0.1.example/x"}'], "is on another server"),
        ([b'{"NextPageLink": "BASE/2"}', b'{"NextPageLink": "BASE/2"}'], "does not end"),
    ],
)
def test_paging_stays_on_the_server_and_ends(pages: list[bytes], said: str, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    with answers(*(head + page for page in pages)) as (base, _), pytest.raises(TargetUnreachable, match=said):
        download("azure", "eastus", tmp_path / "azure.json", base=base)
    assert not (tmp_path / "azure.json").exists()


def test_what_is_the_same_place() -> None:
    assert same_place("https://a.example/x", "https://A.example:443/y")
    others = ("http://a.example/x", "https://a.example.b/x", "https://a.example:444/x", "https://[a/x", "file:///x")
    assert not any(same_place("https://a.example/x", other) for other in others)
    for wrong in ("file:///etc/passwd", "ftp://a/b", "http://[::1", "http:///x"):
        with pytest.raises(InputError, match="not a web address"):
            get_json(wrong, {}, Allowance())
