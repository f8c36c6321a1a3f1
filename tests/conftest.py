"""For all tests: property tests have no deadline, as a shared machine may be slow at any moment."""

import gc
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.drawings import drawn_once
from tests.support.real_parts import prepare

WHOLES = tuple(Path(__file__).parent / folder for folder in ("browser", "e2e"))
"""Whole commands, and pages in a real browser: tests of `make test-whole`, as are those of real servers."""

settings.register_profile("nephoscope", deadline=None, print_blob=True, max_examples=40)
settings.register_profile("thorough", settings.get_profile("nephoscope"), max_examples=400)
settings.load_profile("nephoscope")
"""`make test-all` takes the thorough one; a test that has a number of its own says why."""

OBJECTS_BETWEEN_LOOKS = 50_000
"""Python looks for cycles after 700 objects by itself; a report makes a million, hardly one of them in a cycle."""


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
        gc.set_threshold(OBJECTS_BETWEEN_LOOKS, 20, 20)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the wholes, and what lacks a real part."""
    for item in items:
        prepare(item)
        if any(folder in item.path.parents for folder in WHOLES):
            item.add_marker("whole")


@pytest.fixture(autouse=True, scope="session")
def each_chart_is_drawn_once() -> Iterator[None]:
    """For tests of all folders."""
    with drawn_once():
        yield
