"""A block device of its own for a test that overwrites one; needs root."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def loop_device(image: Path, size_bytes: int) -> Iterator[str]:
    """Its path; `image` is the file behind it."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
