"""A control group of a test's own, by either version of control groups. For root."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class ControlGroup:
    """Its folder, and whether that is of version 1, where each controller has a hierarchy of its own."""

    folder: Path
    is_first: bool

    def set(self, first: tuple[str, object], second: tuple[str, object]) -> None:
        """Writes the file and value of this machine's version."""
        file, value = first if self.is_first else second
        (self.folder / file).write_text(str(value))

    def take(self, pid: int) -> None:
        """A process with all that it started, of which some end meanwhile, and others begin."""
        taken: set[int] = set()
        while new := [each for each in below(pid) if each not in taken]:
            for each in new:
                with suppress(ProcessLookupError):
                    (self.folder / "cgroup.procs").write_text(str(each))
            taken.update(new)

    def leave(self) -> None:
        """Removes it, and moves out what is in it: processes that began there, too."""
        deadline = time.monotonic() + 10
        while self.folder.is_dir():
            for pid in (self.folder / "cgroup.procs").read_text().split():
                with suppress(OSError):
                    (self.folder.parent / "cgroup.procs").write_text(pid)
            with suppress(OSError):
                self.folder.rmdir()
            assert time.monotonic() < deadline, f"something stays in {self.folder}"


def below(top: int) -> list[int]:
    """A process and everything that it started, parents before their children."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    tree = [top]
    for pid in tree:
        tree += [child for child, parent in parents.items() if parent == pid]
    return tree


@contextmanager
def control_group(controller: str, name: str) -> Iterator[ControlGroup]:
    """Without any process; whatever is in it at the end of the block goes on in the group above."""
    is_first = (_ROOT / controller).is_dir()
    if not is_first:
        with suppress(OSError):  # what every group has cannot be turned on
            (_ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
    group = ControlGroup((_ROOT / controller if is_first else _ROOT) / f"nephoscope-tests-{name}", is_first)
    group.folder.mkdir()
    try:
        yield group
    finally:
        group.leave()
