"""Real data of others, beside the project: never committed, so tests skip where it is not there."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    """A file of ../shared/data; skips the test that asks where there is none."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no ../shared/data/{name}")
    return path
