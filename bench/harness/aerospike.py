"""Gets on one Aerospike server: ours beside its own protocol's cheapest question, and beside the official client."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness.contenders import Done, read_ours
from bench.harness.measure import Ran, checked, run, tree_cpu_s
from nephoscope.databases.aerospike import info
from nephoscope.model.errors import OutputUnreadable

NAMESPACE = "test"
VALUE_BYTES = 1000
ROWS = 10_000
"""As the comparison with redis-benchmark has them."""
_START_TIMEOUT_S = 60
_SETTLE_S = 0.5
_FILL_CONNECTIONS = 8
_CONFIGURATION = """\
service {{
	cluster-name bench
	node-id a1
	proto-fd-max 1024
	work-directory {folder}
}}
logging {{
	console {{
		context any warning
	}}
}}
mod-lua {{
	user-path {folder}/lua
}}
network {{
	service {{
		address 127.0.0.1
		access-address 127.0.0.1
		port {service}
	}}
	fabric {{
		address 127.0.0.1
		port {fabric}
	}}
	heartbeat {{
		mode mesh
		port {heartbeat}
		interval 150
		timeout 10
	}}
	admin {{
		address 127.0.0.1
		port {admin}
	}}
}}
namespace test {{
	replication-factor 1
	indexes-memory-budget 256M
	index-stage-size 128M
	storage-engine memory {{
		data-size 512M
	}}
}}
"""
"""Of 8.1, in memory: no device takes part in what a client costs."""


@dataclass(frozen=True)
class Node:
    """A running server of one node."""

    port: int
    process: int

    @property
    def dsn(self) -> str:
        """For nephoscope-load."""
        return f"aerospike://127.0.0.1:{self.port}/{NAMESPACE}"

    def ask(self, command: str) -> str:
        """The answer to a command of the info protocol.

        Raises:
            OSError: nobody answers.
            OutputUnreadable: with something else.
        """
        with socket.create_connection(("127.0.0.1", self.port), _START_TIMEOUT_S) as connection:
            connection.sendall(info.request([command]))
            with connection.makefile("rb") as answer:
                head = answer.read(info.HEADER_BYTES)
                return info.answers(head + answer.read(int.from_bytes(head[2:], "big")), [command])[0]

    def gets(self) -> int:
        """Reads of clients that it has answered with a record."""
        return int(info.values(self.ask(f"namespace/{NAMESPACE}"))["client_read_success"])


@contextmanager
def node(program: str) -> Iterator[Node]:
    """A server with no data.

    Raises:
        RuntimeError: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="nephoscope-bench-") as folder:
        names = ("service", "fabric", "heartbeat", "admin")
        ports = dict(zip(names, _free_ports(len(names)), strict=True))
        config = Path(folder) / "aerospike.conf"
        config.write_text(_CONFIGURATION.format(folder=folder, **ports), encoding="utf-8")
        (Path(folder) / "smd").mkdir()
        (Path(folder) / "lua").mkdir()
        words = [program, "--foreground", "--cold-start", "--config-file", str(config)]
        log = Path(folder) / "log"
        with log.open("wb") as said:
            process = subprocess.Popen(words, stdout=said, stderr=said)
        try:
            running = Node(ports["service"], process.pid)
            _wait_for(running, process, log)
            yield running
        finally:
            process.terminate()
            process.wait()


def _free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in taken]
    for one in taken:
        one.close()
    return ports


def _wait_for(running: Node, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline, wanted = time.monotonic() + _START_TIMEOUT_S, info.stable_command(1, NAMESPACE)
    while True:
        try:
            if not info.refused(running.ask(wanted)):
                return
        except (OSError, OutputUnreadable):
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Aerospike does not start: {log.read_text(errors='replace')[-1000:]}")
        time.sleep(0.2)


def fill(running: Node, load: Path, official: str | None) -> None:
    """Both sides' rows, in sets of their own."""
    words = [str(load), "kv", "load", "--dsn", running.dsn, *_rows(), "--connections", str(_FILL_CONNECTIONS)]
    checked(run([*words, "--check", "none"]), "kv load")
    if official:
        checked(run([*_official(running, official, _FILL_CONNECTIONS), "-w", "I"]), Path(official).name)


def ours(running: Node, load: Path, connections: int, seconds: float) -> Done:
    """nephoscope-load reads rows."""
    return _of_ours(running, load, ["kv", "run", *_rows(), "--read-percent", "100"], connections, seconds)


def null(running: Node, load: Path, connections: int, seconds: float) -> Done:
    """The same program asks only the cheapest question of the protocol: what generator, wire and server cost alone."""
    return _of_ours(running, load, ["null", "run"], connections, seconds)


def official(running: Node, program: str, connections: int, seconds: float) -> Done:
    """asbench reads rows, with a thread for each connection; the server counts what it answered."""
    words = _official(running, program, connections)
    before, began = running.gets(), time.monotonic()
    ran, server_cpu_s = _costed(running, [*words, "-w", "RU,100", "-t", str(max(1, round(seconds)))])
    elapsed_s, count = time.monotonic() - began - _SETTLE_S, running.gets() - before
    if not count:
        raise ValueError(f"asbench read nothing: {(ran.stdout + ran.stderr)[-500:]}")
    return Done(count, elapsed_s, ran.cpu_s, ran.peak_bytes, server_cpu_s, count, lost=ran.lost)


def _rows() -> list[str]:
    return ["--rows", str(ROWS), "--min-block-bytes", str(VALUE_BYTES)]


def _official(running: Node, program: str, connections: int) -> list[str]:
    where = [program, "-h", "127.0.0.1", "-p", str(running.port), "-n", NAMESPACE, "-s", "asbench", "-b", "v"]
    return [*where, "-o", f"S{VALUE_BYTES}", "-k", str(ROWS), "-z", str(connections)]


def _of_ours(running: Node, load: Path, words: Sequence[str], connections: int, seconds: float) -> Done:
    length = ["--duration-s", str(seconds), "--check", "none", "--connections", str(connections)]
    return read_ours(*_costed(running, [str(load), *words, "--dsn", running.dsn, *length]))


def _costed(running: Node, argv: Sequence[str]) -> tuple[Ran, float]:
    before_s = tree_cpu_s(running.process)
    ran = checked(run(argv), Path(argv[0]).name)
    time.sleep(_SETTLE_S)
    return ran, tree_cpu_s(running.process) - before_s
