"""Control groups in which the kernel ends processes that need more memory than a limit. For root."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


@contextmanager
def limited_group(name: str, limit_bytes: int) -> Iterator[Path]:
    """A group of this machine, by either version of control groups; the file whose writers join it."""
    unified = (GROUPS / "cgroup.controllers").exists()
    group = (GROUPS if unified else GROUPS / "memory") / name
    if unified:
        (GROUPS / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    try:
        (group / ("memory.max" if unified else "memory.limit_in_bytes")).write_text(str(limit_bytes))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()
