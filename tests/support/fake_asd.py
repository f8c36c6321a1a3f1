"""A stand-in for the program `asd`: it reads its configuration file strictly and answers the info protocol.

It stores no records and speaks no other protocol. What it takes and says is what a real 8.1 was seen to take and say,
and for 6.0 to 8.0 by documentation and public sources. `python fake_asd.py STATE …`; all servers of a cluster share the
folder STATE, where a test also says what is wrong: a file `version` has another version, `migrating-looks` a number of
looks at which partitions are left to migrate, `uptime-ADDRESS` the seconds that a server has run, `stop-writes`,
`evicted` or `mute` is there or is not.
"""
# ruff: noqa: T201 - a program speaks on stdout

import hashlib
import os
import resource
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

VERSION = "8.1.2.0"
EDITION = "Community"
Tree = dict[str, Any]

_NAMESPACE = {"replication-factor", "default-ttl", "nsup-period", "index-stage-size", "storage-engine"}
_STORAGE = {"file", "filesize", "device", "direct-files", "defrag-lwm-pct", "defrag-sleep", "flush-max-ms"}
_REPEATED = {"mesh-seed-address-port", "file", "device", "context"}


def grammar(version: tuple[int, int]) -> dict[str, set[str]]:
    """Keys of each table that a version takes, as far as the tests need them."""
    storage = {"write-block-size", "post-write-queue"} if version < (7, 1) else {"flush-size", "post-write-cache"}
    storage |= {"min-avail-pct"} if version < (7, 0) else {"stop-writes-avail-pct", "evict-used-pct"}
    memory = {"memory-size"} if version < (7, 0) else {"indexes-memory-budget"} if version >= (7, 1) else set()
    return {
        "": {"service", "logging", "network", "namespace", "mod-lua"},
        "service": {"cluster-name", "node-id", "min-cluster-size", "proto-fd-max", "work-directory", "service-threads"},
        "logging": {"console"},
        "logging.console": {"context"},
        "mod-lua": {"user-path"},
        "network": {"service", "heartbeat", "fabric", "info" if version < (8, 1) else "admin"},
        "network.service": {"address", "port", "disable-localhost", "access-address"},
        "network.fabric": {"address", "port", "send-threads"},
        "network.admin": {"address", "port", "disable-localhost"},
        "network.heartbeat": {"mode", "port", "mesh-seed-address-port", "interval", "timeout"}
        | ({"address"} if version < (8, 1) else set()),  # taken there with a warning
        "namespace": _NAMESPACE | memory,
        "namespace.storage-engine": _STORAGE | storage,
    }


class Refused(Exception):
    """What it says before it ends with 1."""


def parse(text: str, version: tuple[int, int]) -> Tree:
    """The configuration file as tables.

    Raises:
        Refused: a key that this version does not take, or braces that do not match.
    """
    allowed, root = grammar(version), Tree()
    stack: list[tuple[str, Tree]] = [("", root)]
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        place, table = stack[-1]
        if words == ["}"]:
            stack.pop()
            if not stack:
                raise Refused(f"line {number} :: a brace too many")
            continue
        key = words[0]
        if key not in allowed[place]:
            raise Refused(f"line {number} :: unknown config parameter name '{key}'")
        if words[-1] == "{":
            inner = Tree({"": words[1]} if len(words) == 3 else {})
            table[key] = inner
            stack.append((f"{place}.{key}".strip("."), inner))
        elif len(words) < 2:
            raise Refused(f"line {number} :: missing value for '{key}'")
        elif key in _REPEATED:
            table.setdefault(key, []).append(" ".join(words[1:]))
        else:
            table[key] = words[1]
    if len(stack) != 1:
        raise Refused("a brace is missing at the end")
    return root


class Server:
    """What one server knows."""

    def __init__(self, state: Path, config: Tree, version: tuple[int, int]) -> None:
        self.state, self.config, self.version = state, config, version
        self.began_s = time.monotonic()
        self.address = config["network"]["service"]["address"]
        self.namespace = config["namespace"]
        self.storage = self.namespace["storage-engine"]
        (state / "up").mkdir(parents=True, exist_ok=True)

    def take_storage(self) -> None:
        """Checks what a server checks before it answers."""
        for folder in (self.config["service"]["work-directory"], self.config["mod-lua"]["user-path"]):
            if not Path(folder).is_dir():
                raise Refused(f"directory '{folder}' is not set up properly: No such file or directory")
        if not Path(self.config["service"]["work-directory"], "smd").is_dir():
            raise Refused("system metadata directory is not set up properly: No such file or directory")
        limit, wanted = resource.getrlimit(resource.RLIMIT_NOFILE)[0], int(self.config["service"]["proto-fd-max"])
        if wanted > limit:
            raise Refused(f"{limit} system file descriptors not enough, config specified {wanted}")
        for device in self.storage.get("device", []):
            with Path(device).open("rb") as content:
                if content.read(8 << 20).strip(b"\0"):
                    raise Refused(f"{device}: not an Aerospike device but not erased - check config or erase device")
        for file in self.storage.get("file", []):
            with Path(file).open("ab") as content:
                os.ftruncate(content.fileno(), int(self.storage["filesize"]))

    @property
    def up(self) -> list[str]:
        return sorted(file.name for file in (self.state / "up").iterdir())

    @property
    def cluster_key(self) -> str:
        return hashlib.sha256(",".join(self.up).encode()).hexdigest()[:12].upper()

    def left_to_migrate(self) -> int:
        """So many looks long partitions are left; a test writes how many."""
        file = self.state / "migrating-looks"
        left = int(file.read_text()) if file.exists() else 0
        if left:
            fresh = file.with_name(f"migrating-of-{self.address}-{threading.get_ident()}")
            fresh.write_text(str(left - 1))
            fresh.replace(file)  # others read it at the same moment
        return left

    def flag(self, name: str) -> str:
        return str((self.state / name).exists()).lower()

    def statistics(self) -> str:
        said = self.state / f"uptime-{self.address}"
        uptime_s = int(said.read_text() if said.exists() else time.monotonic() - self.began_s)
        cluster = f"cluster_size={len(self.up)};cluster_key={self.cluster_key}"
        return f"failed_best_practices=true;{cluster};uptime={uptime_s}"

    def namespace_statistics(self) -> str:
        left, evicted = self.left_to_migrate(), 7 if (self.state / "evicted").exists() else 0
        kind = "file" if "file" in self.storage else "device"
        what = "device" if self.version < (7, 0) else "data"
        each = {
            "ns_cluster_size": len(self.up),
            "objects": 11,
            "dead_partitions": 0,
            "unavailable_partitions": 0,
            "clock_skew_stop_writes": "false",
            "stop_writes": self.flag("stop-writes"),
            "hwm_breached": "false",
            "evicted_objects": evicted,
            "migrate_tx_partitions_remaining": left,
            "migrate_rx_partitions_remaining": 0,
            f"{what}_total_bytes": 1 << 30,
            f"{what}_used_bytes": 1 << 20,
            f"storage-engine.{kind}[0].free_wblocks": 100,
            f"storage-engine.{kind}[0].write_q": 1,
            f"storage-engine.{kind}[0].defrag_q": 2,
        }
        return ";".join(f"{name}={value}" for name, value in each.items())

    def get_config(self, kwargs: dict[str, str]) -> str:
        if kwargs["context"] == "namespace":
            modern = self.version >= (8, 1)
            if kwargs.get("namespace" if modern and "id" not in kwargs else "id") != self.namespace[""]:
                return "Error::invalid id"
            if modern and "id" in kwargs:
                warn("INFO (deprecation): info parameter 'id' is deprecated - use 'namespace' instead")
            plain = {key: value for key, value in self.namespace.items() if isinstance(value, str) and key}
            least = "min-avail-pct" if self.version < (7, 0) else "stop-writes-avail-pct"
            storage = {f"storage-engine.{key}": value for key, value in {least: "5", **self.storage}.items() if key}
            found = {**plain, "storage-engine": "device", **storage}
            files = found.pop("storage-engine.file", None)
            if files:
                found["storage-engine.file[0]"] = files[0]
        elif kwargs["context"] == "network":
            found = {
                f"{part}.{key}": value for part, keys in self.config["network"].items() for key, value in keys.items()
            }
        else:
            found = self.config["service"]
        return ";".join(f"{name}={value}" for name, value in found.items())

    def answer(self, command: str) -> str:
        name, _, arguments = command.partition(":")
        kwargs = dict(pair.partition("=")[::2] for pair in arguments.split(";"))
        plain: dict[str, Callable[[], str]] = {
            "status": lambda: "ok",
            "node": lambda: self.config["service"].get("node-id", "BB9020011AC4202").upper(),
            "build": lambda: "8.1.2.0",
            "statistics": self.statistics,
            f"namespace/{self.namespace['']}": self.namespace_statistics,
            "get-config": lambda: self.get_config(kwargs),
        }
        if name in plain:
            return plain[name]()
        if name == "cluster-stable":
            if int(kwargs["size"]) != len(self.up):
                return "ERROR::cluster-not-specified-size"
            looks = self.state / "migrating-looks"
            return "ERROR::unstable-cluster" if looks.exists() and int(looks.read_text()) else self.cluster_key
        return "ERROR:4:unrecognized command"


def warn(text: str) -> None:
    print(f"Nov 22 2026 03:00:00 GMT: {text}", file=sys.stderr, flush=True)


class Connection(socketserver.StreamRequestHandler):
    """Stays open after an answer, as the real one does."""

    def handle(self) -> None:
        asd: Server = self.server.asd  # type: ignore[attr-defined]
        while True:
            header = self.rfile.read(8)
            if len(header) < 8 or header[:2] != b"\x02\x01" or (asd.state / "mute").exists():
                return
            asked = self.rfile.read(int.from_bytes(header[2:], "big")).decode()
            body = "".join(f"{line}\t{asd.answer(line)}\n" for line in asked.split("\n")[:-1]).encode()
            self.wfile.write(b"\x02\x01" + len(body).to_bytes(6, "big") + body)


class Listener(socketserver.ThreadingTCPServer):
    """On the address and port of the configuration."""

    allow_reuse_address = True
    daemon_threads = True


def serve(asd: Server) -> None:
    mark = asd.state / "up" / asd.address

    def end(_signal: int, _frame: FrameType | None) -> None:
        mark.unlink(missing_ok=True)
        os._exit(0)

    with Listener((asd.address, int(asd.config["network"]["service"]["port"])), Connection) as listener:
        listener.asd = asd  # type: ignore[attr-defined]
        signal.signal(signal.SIGTERM, end)
        mark.touch()
        if asd.version >= (8, 1) and "admin" not in asd.config["network"]:
            warn("WARNING (config): failed admin-port check - admin section is not configured")
        print("service ready: soon there will be cake!", file=sys.stderr, flush=True)
        listener.serve_forever()


def main(state: Path, argv: list[str]) -> None:
    chosen = (state / "version").read_text() if (state / "version").exists() else f"{EDITION} {VERSION}"
    edition, version = chosen.split()
    if argv == ["--version"]:
        print(f"Aerospike {edition} Edition build {version}")
        return
    if argv[:3] != ["--foreground", "--cold-start", "--config-file"]:
        raise Refused(f"unknown command-line option in {argv}")
    major, minor = (int(part) for part in version.split(".")[:2])
    asd = Server(state, parse(Path(argv[3]).read_text(), (major, minor)), (major, minor))
    asd.take_storage()
    serve(asd)


def install(state: Path, program: Path) -> Path:
    """Writes `program`, a command without arguments that runs this stand-in on `state`."""
    state.mkdir(exist_ok=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {Path(__file__)} {state} "$@"\n')
    program.chmod(0o755)
    return program


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except Refused as refusal:
        print(f"Nov 22 2026 03:00:00 GMT: CRITICAL (config): (cfg.c:1720) {refusal}", file=sys.stderr)
        sys.exit(1)
