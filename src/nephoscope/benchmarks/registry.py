"""Every benchmark by the name a study uses, and every tool they may run: what the modules of this package define.

To add a benchmark, add its module: nothing here changes.
"""

import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

import nephoscope.benchmarks
from nephoscope.benchmarks.base import Benchmark
from nephoscope.machines.tools import Tool

_FOLDERS = ("cpu", "memory", "storage", "network", "database")
"""The order in which benchmarks are listed; what stands in no such folder comes last."""
_MEMBERS = ("name", "version", "title", "parameters", "metrics", "needs", "run", "parse")


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(nephoscope.benchmarks.__path__, f"{nephoscope.benchmarks.__name__}."):
        if found.name != __name__:
            yield import_module(found.name)


def _benchmarks(modules: list[ModuleType]) -> Iterator[Benchmark]:
    """Of each class that is defined there, bears a name and is complete: one, in the order of the folders."""
    kinds: list[type[Any]] = [
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and _is_benchmark(kind)
    ]
    yield from (kind() for kind in sorted(kinds, key=_place))


def _is_benchmark(kind: type[Any]) -> bool:
    return isinstance(getattr(kind, "name", None), str) and all(hasattr(kind, member) for member in _MEMBERS)


def _place(kind: type[Any]) -> tuple[int, str]:
    folder = kind.__module__.removeprefix(f"{nephoscope.benchmarks.__name__}.").partition(".")[0]
    return (_FOLDERS.index(folder) if folder in _FOLDERS else len(_FOLDERS), kind.name)


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
