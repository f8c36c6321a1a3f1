"""For all tests: property tests have no deadline, as a shared machine may be slow at any moment."""

import gc
from collections.abc import Generator

import pytest
from hypothesis import settings

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
