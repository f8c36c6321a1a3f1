"""What a source gives: facts of machine types, prices; and a git directory that is read without a work tree."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TypeRow:
    """Facts of one machine type. None: the source does not say."""

    provider: str
    type: str
    family: str
    generation: int | None
    category: str
    burstable: bool
    vcpus: int
    threads_per_core: int | None
    architecture: str
    cpu_vendor: str | None
    cpu_model: str | None
    memory_gib: float
    local_ssd_gb: int | None
    network_gbps: float | None
    volume_gbps: float | None
    source: str
    licence: str
    date: str


@dataclass(frozen=True)
class PriceRow:
    """US dollars an hour for one machine type in one region."""

    provider: str
    region: str
    type: str
    basis: str
    usd: float
    source: str
    licence: str
    date: str
    terms: str = ""
    """Of a commitment, or of a price that is no single offer."""


@dataclass(frozen=True)
class Snapshot:
    """A project's git directory; nothing of it is checked out."""

    name: str
    folder: Path
    commit: str = "HEAD"

    def text(self, path: str) -> str:
        """A file of the commit."""
        return self._git("show", f"{self.commit}:{path}")

    def files(self, folder: str) -> list[str]:
        """The paths in a folder, which ends with a slash."""
        return self._git("ls-tree", "--name-only", self.commit, folder).split()

    def day(self, path: str) -> str:
        """When the file last changed."""
        return self._git("log", "-1", "--format=%cs", self.commit, "--", path).strip()

    def cite(self, file: str) -> str:
        """'karpenter-provider-aws instance-types.md@1d927085d'."""
        return f"{self.name} {file}@{self._git('rev-parse', '--short=9', self.commit).strip()}"

    def last_with(self, path: str, max_bytes: int) -> "Snapshot":
        """The newest commit whose file is no larger: a snapshot lacks larger ones."""
        for commit in self._git("log", "--format=%h", "--", path).split():
            if 0 < self._size(f"{commit}:{path}") <= max_bytes:
                return Snapshot(self.name, self.folder, commit)
        raise ValueError(f"{self.name} has no {path} of at most {max_bytes} bytes")

    def _size(self, what: str) -> int:
        """0: it is not here."""
        done = subprocess.run(
            ["git", "-C", str(self.folder), "cat-file", "-s", what], check=False, capture_output=True, text=True
        )
        return int(done.stdout or 0)

    def _git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words], check=True, capture_output=True, text=True, encoding="utf-8"
        )
        return done.stdout
