"""The README's commands in fresh clones on odd systems: `python -m bench.soak.systems blanks+no-root@python3.12`.

Each argument is a clone: conditions joined by `+`, then the interpreter. In each clone `make report DEMO=--quick`
builds everything and measures; then it measures once more on a network that has only `::1`, so offline. `--test` also
runs `make test`, with a few of pytest's tests, and once more without a network but 127.0.0.1, where the servers of
tests listen. What passed is added to `systems.json`, from which docs/concepts/proofs.md is made. Needs root, to
take rights and networks away, and a network for the first build.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.harness.sources import ROOT

PATH = Path(__file__).with_name("systems.json")
CONDITIONS: Mapping[str, str] = {
    "blanks": "a path with blanks and letters outside ASCII",
    "c-locale": "`LANG=C`, where the environment turns Python's UTF-8 mode off",
    "noexec": "`TMPDIR` on a file system where nothing may be executed",
    "no-root": "a user without root, sudo and capabilities",
}
OFFLINE = "the second time: no network (in `make report`, no 127.0.0.1 either, but `::1`)"
FEW_TESTS = "-k test_units -p no:cacheprovider"
_NOBODY = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "setpriv", "--no-new-privs")
_OFFLINE = ("unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")
_ONLY_IPV6 = (*_OFFLINE, "sh", "-c", 'ip addr del 127.0.0.1/8 dev lo; exec "$@"', "sh")
_C_LOCALE = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@dataclass
class Clone:
    """A clone with what surrounds it."""

    folder: Path
    python: str
    environment: dict[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()

    def make(self, *arguments: str, outside: Sequence[str] = ()) -> None:
        """Runs make.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        sys.stdout.write(f"== {self.folder}: make {' '.join(arguments)}\n")
        sys.stdout.flush()
        subprocess.run(
            [*outside, *self.inside, "make", f"PYTHON={self.python}", *arguments],
            cwd=self.folder,
            check=True,
            env={**os.environ, "PYTHON": self.python, **self.environment},
            stdin=subprocess.DEVNULL,
        )

    def require_report(self, results: str) -> None:
        """Every trial was measured to its end, whether or not other load had it rejected, and there is a report.

        Raises:
            RuntimeError: a trial was not, or there is none.
        """
        said = subprocess.run(
            [".venv/bin/nephoscope", "status", "--json", results], cwd=self.folder, check=True, capture_output=True
        )
        states = [row["state"] for row in json.loads(said.stdout)]
        if {*states} != {"finished"} or not (self.folder / results / "report" / "index.html").exists():
            raise RuntimeError(f"{self.folder / results}: {states}")


@contextmanager
def clone(conditions: Sequence[str], python: str) -> Iterator[Clone]:
    """A fresh clone of what is committed, surrounded by the conditions; deleted at the end."""
    with ExitStack() as leave:
        place = Path(leave.enter_context(tempfile.TemporaryDirectory(prefix="systems-", ignore_cleanup_errors=True)))
        folder = place / ("two words, größer" if "blanks" in conditions else "clone")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        found = Clone(folder, python)
        if "c-locale" in conditions:
            found.environment |= _C_LOCALE
        if "noexec" in conditions:
            temporary = place / "tmp"
            temporary.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=2g", "tmpfs", str(temporary)], check=True)
            leave.callback(subprocess.run, ["umount", "--lazy", str(temporary)], check=True)
            found.environment["TMPDIR"] = str(temporary)
        if "no-root" in conditions:
            found.inside = _NOBODY
        yield found


def try_one(conditions: Sequence[str], python: str, *, test: bool) -> None:
    """Both commands in one clone; adds to the stored file what passed."""
    about = "import platform; print('.'.join(platform.python_version_tuple()[:2]))"
    version = subprocess.run([python, "-c", about], check=True, capture_output=True, text=True).stdout.strip()
    with clone(conditions, python) as found:
        found.make("report", "DEMO=--quick")
        found.require_report("results/laptop")
        add([f"Python {version}", *conditions], "report")
        found.make("report", "DEMO=--quick", "RESULTS=results/again", outside=_ONLY_IPV6)
        found.require_report("results/again")
        add(["offline"], "report")
        if test:
            found.make("test", f"PYTEST={FEW_TESTS}")
            add([f"Python {version}", *conditions], "test")
            found.make("test", f"PYTEST={FEW_TESTS}", outside=_OFFLINE)
            add(["offline"], "test")


def add(systems: Sequence[str], command: str) -> None:
    """Notes that a command passed on some systems."""
    stored = load()
    for system in systems:
        stored[system] = sorted({*stored.get(system, ()), command})
    PATH.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load() -> dict[str, list[str]]:
    """System -> the commands that passed on it."""
    found: dict[str, list[str]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return found


def table() -> str:
    """What passed, for docs/concepts/proofs.md."""
    stored = load()
    versions = sorted((one for one in stored if one.startswith("Python ")), key=lambda one: int(one.rpartition(".")[2]))
    names = {**CONDITIONS, "offline": OFFLINE, **{one: one for one in versions}}
    lines = ["| fresh clone | `make report` | `make test` |", "|---|---|---|"]
    for name, words in names.items():
        cells = ("yes" if command in stored.get(name, ()) else "not tried" for command in ("report", "test"))
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Tries each clone in turn, and ends at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", nargs="+", metavar="CONDITIONS@PYTHON", help="such as `blanks+no-root@python3.12`")
    parser.add_argument("--test", action="store_true", help="run a few tests, too: it compiles all of cargo's")
    asked = parser.parse_args()
    for one in asked.clones:
        conditions, _, python = one.rpartition("@")
        chosen = [name for name in conditions.split("+") if name]
        if unknown := {*chosen} - {*CONDITIONS}:
            parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(CONDITIONS)}")
        try_one(chosen, python, test=asked.test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
