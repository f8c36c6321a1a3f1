"""Every benchmark by the name a study uses, and every tool that they may run: all that this package defines.

To add a benchmark, add its module: nothing here changes.
"""

import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import TypeGuard

import nephoscope.benchmarks
from nephoscope.benchmarks.base import Benchmark
from nephoscope.machines.remote import Tool
from nephoscope.model.subjects import Subject

_FOLDERS = tuple(Subject)
"""The order in which benchmarks are listed; those outside these folders come last."""


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(nephoscope.benchmarks.__path__, f"{nephoscope.benchmarks.__name__}."):
        if found.name != __name__:
            yield import_module(found.name)


def _benchmarks(modules: list[ModuleType]) -> Iterator[Benchmark]:
    """One of each complete benchmark class that these modules define, in the order of the folders."""
    kinds: list[type[Benchmark]] = [
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and _is_complete(kind)
    ]
    yield from sorted((kind() for kind in kinds), key=_rank)


def _is_complete(kind: type) -> TypeGuard[type[Benchmark]]:
    return issubclass(kind, Benchmark) and not inspect.isabstract(kind) and "name" in vars(kind)


def _rank(benchmark: Benchmark) -> tuple[int, str]:
    module = type(benchmark).__module__
    folder = module.removeprefix(f"{nephoscope.benchmarks.__name__}.").partition(".")[0]
    return (_FOLDERS.index(Subject(folder)) if folder in _FOLDERS else len(_FOLDERS), benchmark.name)


def _by_name(benchmarks: Iterator[Benchmark]) -> Mapping[str, Benchmark]:
    found: dict[str, Benchmark] = {}
    for benchmark in benchmarks:
        if found.setdefault(benchmark.name, benchmark) is not benchmark:
            raise TypeError(f"two benchmarks are named {benchmark.name!r}: rename one")
    return MappingProxyType(found)


_MODULES = list(_modules())

BENCHMARKS: Mapping[str, Benchmark] = _by_name(_benchmarks(_MODULES))

TOOLS: tuple[Tool, ...] = tuple(
    sorted(
        {value for module in _MODULES for value in vars(module).values() if isinstance(value, Tool)},
        key=lambda tool: tool.name,
    )
)
"""Every tool that some benchmark runs, whatever its parameters."""
