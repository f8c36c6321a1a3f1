"""Control groups in which the kernel ends processes that need more memory than a limit. For root."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.control_group import control_group


@contextmanager
def limited_group(name: str, limit_bytes: int) -> Iterator[Path]:
    """A group of this machine; the file whose writers join it."""
    with control_group("memory", name) as group:
        group.set(("memory.limit_in_bytes", limit_bytes), ("memory.max", limit_bytes))
        yield group.folder / "cgroup.procs"
