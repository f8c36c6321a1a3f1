"""GET and SET on one Redis or Valkey: ours beside redis-benchmark, one or sixteen operations under way each."""

import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness import contenders as who
from bench.harness.contenders import Contender, Done, Setting
from bench.harness.measure import Ran, checked, run, tree_cpu_s
from bench.harness.server import Server

PIPELINES = (1, 16)
VALUE_BYTES = 1000
"""As the baseline has it."""
ROWS = 10_000
"""Few enough that redis-benchmark, which writes at random, leaves none out."""
_WRITES = 20 * ROWS
_GUESSED_PER_S = {1: 100_000, 16: 500_000}
"""redis-benchmark is told how many requests to send, and not how long; about so many take a second."""
_START_TIMEOUT_S = 20
_SERVERS = ("valkey-server", "redis-server")
_PEERS = ("valkey-benchmark", "redis-benchmark")


@dataclass(frozen=True)
class Store:
    """A running server."""

    port: int
    process: int
    peer: str
    """redis-benchmark, or Valkey's."""

    def url(self, number: int) -> str:
        """One of its databases: ours and the peer's have rows of different names."""
        return f"redis://127.0.0.1:{self.port}/{number}"

    def cpu_s(self) -> float:
        """CPU time of the server so far."""
        return tree_cpu_s(self.process)


def _installed(names: tuple[str, ...]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def is_installed() -> bool:
    """Whether there is a server and a peer."""
    return bool(_installed(_SERVERS) and _installed(_PEERS))


@contextmanager
def store(load: Path) -> Iterator[Store]:
    """A server with both sides' rows in it.

    Raises:
        RuntimeError: it does not start, or is not installed.
    """
    program, peer = _installed(_SERVERS), _installed(_PEERS)
    if program is None or peer is None:
        raise RuntimeError("neither Redis nor Valkey is installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="nephoscope-bench-") as folder:
        words = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        process = subprocess.Popen([*words, "--dir", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            running = Store(port, process.pid, peer)
            _fill(running, load)
            yield running
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError as error:
            if time.monotonic() > deadline:
                raise RuntimeError("the key-value server does not start") from error
            time.sleep(0.05)
        else:
            return


def _fill(running: Store, load: Path) -> None:
    words = [str(load), "kv", "load", "--dsn", running.url(0), *_rows(), "--check", "none"]
    checked(run(words), "kv load")
    checked(run(_peer_words(running, "set", 16, 16, _WRITES)), Path(running.peer).name)


def _rows() -> list[str]:
    return ["--rows", str(ROWS), "--min-block-bytes", str(VALUE_BYTES)]


def _peer_words(running: Store, command: str, connections: int, pipeline: int, count: int) -> list[str]:
    where = [running.peer, "-h", "127.0.0.1", "-p", str(running.port), "--dbnum", "1", "--csv"]
    size = ["-t", command, "-d", str(VALUE_BYTES), "-r", str(ROWS)]
    return [*where, *size, "-c", str(connections), "-P", str(pipeline), "-n", str(count)]


def contenders(running: Store) -> list[Contender]:
    """Rivals beside each other, so that they meet the same machine."""
    each = [(command, pipeline) for command in ("get", "set") for pipeline in PIPELINES]
    return [one for command, pipeline in each for one in (_ours(running, command, pipeline),
                                                          _peer(running, command, pipeline))]  # fmt: skip


def name(side: str, command: str, pipeline: int) -> str:
    """Of a contender."""
    return f"{side} {command.upper()}, {pipeline} under way"


OURS, PEER = "nephoscope-load", "redis-benchmark"


def get(running: Store, setting: Setting) -> Done:
    """nephoscope-load reads rows, one at a time on each connection."""
    return _driven(running, setting, "get", 1)


def _driven(running: Store, setting: Setting, command: str, pipeline: int) -> Done:
    share = {"get": "100", "set": "0"}[command]
    words = ["kv", "run", *_rows(), "--read-percent", share, "--pipeline", str(pipeline)]
    return who.read_ours(*_costed(running, who.our_words(running.url(0), setting, words)))


def _ours(running: Store, command: str, pipeline: int) -> Contender:
    def drive(server: Server, setting: Setting, database: str) -> Done:  # noqa: ARG001 - those of PostgreSQL
        return _driven(running, setting, command, pipeline)

    return Contender(name(OURS, command, pipeline), "", drive, reads_only=True)


def _peer(running: Store, command: str, pipeline: int) -> Contender:
    def drive(server: Server, setting: Setting, database: str) -> Done:  # noqa: ARG001 - those of PostgreSQL
        count = max(1, round(setting.seconds * _GUESSED_PER_S[pipeline]))
        words = _peer_words(running, command, setting.connections, pipeline, count)
        return read_peer(*_costed(running, words), count)

    return Contender(name(PEER, command, pipeline), "", drive, reads_only=True)


def _costed(running: Store, argv: list[str]) -> tuple[Ran, float]:
    before_s = running.cpu_s()
    ran = checked(run(argv), Path(argv[0]).name)
    return ran, running.cpu_s() - before_s


def read_peer(ran: Ran, server_cpu_s: float, count: int) -> Done:
    """What redis-benchmark prints: a line of a command and its rate.

    Raises:
        ValueError: it printed something else.
    """
    rate = re.search(r'^"(?:GET|SET)[^"]*","([\d.]+)"', ran.stdout, re.MULTILINE)
    if rate is None or float(rate[1]) <= 0:
        raise ValueError(f"redis-benchmark printed no rate: {(ran.stdout + ran.stderr)[-500:]}")
    return Done(count, count / float(rate[1]), ran.cpu_s, ran.peak_bytes, server_cpu_s, count, lost=ran.lost)
