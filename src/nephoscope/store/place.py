"""Whether a results folder is still where it was when somebody began to write to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nephoscope.model.errors import StorageFailed


class Place:
    """The path of a results folder, and which folder it was when it was locked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: tuple[int, int] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """From here to the end of the block, only this folder is written to."""
        self._held = self._seen()
        try:
            yield
        finally:
            self._held = None

    def require(self) -> None:
        """Call this before each write.

        Raises:
            StorageFailed: the folder was moved or removed since it was locked; there may be another at its path.
        """
        if self._held is not None and self._held != self._seen():
            raise StorageFailed(
                f"{self._path} was moved or removed while nephoscope was working in it, so nothing more was stored",
                hint="run the same command again to resume; if the folder was moved, give its new path with --out",
            )

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
