"""Tools that were built elsewhere. Their command lines are data: `bench/peers`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness.contenders import Contender, Done, Setting, costed
from bench.harness.measure import Ran, checked, run
from bench.harness.server import USER, Server

FOLDER = Path(__file__).parent.parent / "peers"


@dataclass(frozen=True)
class Peer:
    """A tool that is there, and its file."""

    path: Path
    commands: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Of the tool."""
        return str(self.commands["name"])

    @property
    def template(self) -> str:
        """The database with its data set."""
        return "peer_" + re.sub(r"\W", "_", self.name.lower())

    @property
    def beside(self) -> str:
        """Which of ours does the same work."""
        return str(self.commands["beside"])

    def words(self, argv: Sequence[str], server: Server, setting: Setting, database: str) -> list[str]:
        """A command line with all placeholders filled in."""
        return [word.format(**self._values(server, setting, database)) for word in argv]

    def run_words(self, key: str, server: Server, setting: Setting, database: str) -> list[list[str]]:
        """The command lines under `key`, with the script beside it, if any, written to a file."""
        lines: list[list[str]] = self.commands[key]
        script = self.commands.get(f"{key}_script")
        if script is None:
            return [self.words(argv, server, setting, database) for argv in lines]
        file = server.folder / f"{self.template}-{key}.tcl"
        file.write_text(script.format(**self._values(server, setting, database)), encoding="utf-8")
        return [
            self.words([word.replace("{script}", str(file)) for word in argv], server, setting, database)
            for argv in lines
        ]

    def _values(self, server: Server, setting: Setting, database: str) -> dict[str, object]:
        seconds = max(1, round(setting.seconds))
        return {
            "path": self.path, "folder": self.path.parent, "host": "127.0.0.1", "port": server.port, "user": USER,
            "database": database, "warehouses": setting.warehouses, "connections": setting.connections,
            "rows": setting.rows, "seconds": seconds, "minutes": minutes_of(seconds),
        }  # fmt: skip

    def load(self, server: Server, setting: Setting) -> None:
        """Makes its own data set."""
        server.psql(f"CREATE DATABASE {self.template}")
        for argv in self.run_words("prepare", server, setting, self.template):
            checked(run(argv), f"{self.name} prepare")
        # Not all of them leave statistics behind, as our own load does, and nobody else makes them here.
        server.psql("VACUUM (FREEZE, ANALYZE)", self.template)

    def contender(self) -> Contender:
        """The tool as one of the compared."""

        def drive(server: Server, setting: Setting, database: str) -> Done:
            (argv,) = self.run_words("run", server, setting, database)
            ran, server_cpu_s = costed(server, argv)
            return read(ran, server_cpu_s, self.commands, setting.seconds)

        return Contender(self.name, self.template, drive)


def found(given: str) -> Peer:
    """The peer at PATH, known by the name of its program; or FILE=PATH.

    Raises:
        ValueError: no file in `bench/peers` is for this program.
    """
    file, separator, path = given.rpartition("=")
    if separator:
        return Peer(Path(path), tomllib.loads(Path(file).read_text(encoding="utf-8")))
    program, known = Path(given).name, []
    for one in sorted(FOLDER.glob("*.toml")):
        commands = tomllib.loads(one.read_text(encoding="utf-8"))
        if commands["program"] == program:
            return Peer(Path(given), commands)
        known.append(commands["program"])
    raise ValueError(f"--peer {given}: {program} is none of {', '.join(known)}; to add it, write a file in bench/peers")


def read(ran: Ran, server_cpu_s: float, commands: Mapping[str, Any], seconds: float) -> Done:
    """The sum of all numbers that the pattern finds, of the text after the last line that `after` matches.

    Raises:
        ValueError: it finds none, or the line is missing.
    """
    text = ran.stdout + ran.stderr
    after = commands.get("after")
    if after is not None:
        *_, text = ["", *re.split(after, text, flags=re.MULTILINE)[1:]]
    counts = [float(count) for count in re.findall(commands["transactions"], text, re.MULTILINE)]
    if not counts:
        raise ValueError(f"no transactions in the output: {(ran.stdout + ran.stderr)[-500:]}")
    transactions, elapsed_s = round(sum(counts)), seconds
    if commands.get("per_minute"):
        minutes = minutes_of(seconds)
        transactions, elapsed_s = transactions * minutes, 60.0 * minutes
    return Done(transactions, elapsed_s, ran.cpu_s, ran.peak_bytes, server_cpu_s, lost=ran.lost)


def minutes_of(seconds: float) -> int:
    """For tools that run whole minutes."""
    return max(1, round(seconds / 60))
