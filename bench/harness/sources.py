"""Commands of the sources that stand beside this, as an installed package would run them."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def compiled() -> Iterator[Mapping[str, str]]:
    """Variables of a process that keeps its bytecode until the end: what runs first compiles for all that follow."""
    with tempfile.TemporaryDirectory(prefix="nephoscope-bytecode-") as bytecode:
        yield {
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONPYCACHEPREFIX": bytecode,
            "PYTHONDONTWRITEBYTECODE": "",
        }
