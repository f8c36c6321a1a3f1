"""For all tests: property tests have no deadline, as a shared machine may be slow at any moment."""

import gc
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

WHOLES = tuple(Path(__file__).parent / folder for folder in ("browser", "e2e"))
"""Whole commands on real servers, and pages in a real browser: tests of `make test-whole`."""

settings.register_profile("nephoscope", deadline=None, print_blob=True)
settings.load_profile("nephoscope")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects tests without the garbage collector, and hides from it what collection made.

    All of that lives to the end. Looking through it again and again took a quarter of the time of collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the wholes."""
    for item in items:
        if any(folder in item.path.parents for folder in WHOLES):
            item.add_marker("whole")
