"""Freezes a process as `docker pause` does; needs root."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.control_group import control_group


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """The process and what it started stand still until the end of the block."""
    with control_group("freezer", f"frozen-{pid}") as group:
        group.take(pid)
        group.set(("freezer.state", "FROZEN"), ("cgroup.freeze", 1))
        try:
            yield
        finally:
            group.set(("freezer.state", "THAWED"), ("cgroup.freeze", 0))
