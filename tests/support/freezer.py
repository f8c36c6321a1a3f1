"""Freezes a process as `docker pause` does; needs root."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """The process stands still until the end of the block."""
    first = (_ROOT / "freezer").is_dir()
    hierarchy = _ROOT / "freezer" if first else _ROOT
    switch, freeze, thaw = ("freezer.state", "FROZEN", "THAWED") if first else ("cgroup.freeze", "1", "0")
    folder = hierarchy / f"nephoscope-tests-frozen-{pid}"
    folder.mkdir()
    try:
        (folder / "cgroup.procs").write_text(str(pid))
        (folder / switch).write_text(freeze)
        yield
    finally:
        (folder / switch).write_text(thaw)
        (hierarchy / "cgroup.procs").write_text(str(pid))
        folder.rmdir()
