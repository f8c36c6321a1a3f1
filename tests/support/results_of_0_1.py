"""The results folders of nephoscope 0.1 in tests/data/results-0.1."""

import tarfile
from pathlib import Path

from nephoscope.store.folder import ResultsFolder

STORED = Path(__file__).parents[1] / "data" / "results-0.1"
NAMES = ("imported", "rehearsed")


def unpacked(name: str, parent: Path) -> ResultsFolder:
    """One of them as a new folder below `parent`."""
    with tarfile.open(STORED / f"{name}.tar.xz") as archive:
        archive.extractall(parent, filter="data")
    return ResultsFolder(parent / name)
