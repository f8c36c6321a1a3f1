"""Finds functions, classes and methods of the package that nothing in it uses: `python scripts/find_unused.py`.

A test does not count as a user: what only tests use belongs to tests/support. Functions and classes are looked up
through the imports, so one of the same name elsewhere hides nothing; a method is used when any attribute of its name is
read, in Python or in a template.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

SOURCES = Path(__file__).resolve().parents[1] / "src"
DECORATORS = frozenset(
    {
        "command",  # typer calls it
        "callback",  # typer, too
        "field_validator",  # pydantic calls it
        "model_validator",
        "model_serializer",
    }
)
"""Who decorates with these hands the function over to a library."""
REGISTERED = ("Benchmark",)
"""Endings of base classes whose subclasses a registry finds by itself: benchmarks/registry.py."""
ALLOWED: Mapping[str, str] = MappingProxyType(
    {
        "detached": "the protocol Detached is recognised by this name: isinstance looks for it",
        "do_HEAD": "http.server calls it",
        "format_commands": "typer calls it",
        "format_options": "typer calls it",
        "format_field": "string.Formatter calls it",
        "handle_error": "socketserver calls it",
        "log_message": "http.server calls it",
        "on_broken_pipe": "rich calls it",
        "register": "app/cli.py calls it on each module of COMMANDS",
        "send_error": "http.server calls it",
        "version_string": "http.server calls it",
        "validate_host_public_key": "asyncssh calls it",
    }
)
"""Function or method -> who calls it."""

Name = tuple[str, str]
"""Module and name in it."""


@dataclass
class _Module(ast.NodeVisitor):
    """What one module defines and uses."""

    name: str
    modules: frozenset[str]
    """All of the package."""
    defined: list[tuple[int, str, bool]] = field(default_factory=list)
    """Line, name, and whether it is a method."""
    used: set[Name] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    _aliases: dict[str, str] = field(default_factory=dict)
    _callable_here: list[str] = field(default_factory=list)
    """The functions and classes around this place; "" for a method, whose bare name means something else."""
    _in_class: bool = False

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = node.module or ""
        for one in node.names:
            self.used.add((source, one.name))
            if f"{source}.{one.name}" in self.modules:
                self._aliases[one.asname or one.name] = f"{source}.{one.name}"

    def visit_Name(self, node: ast.Name) -> None:
        if node.id not in self._callable_here:  # a function that only calls itself is unused
            self.used.add((self.name, node.id))

    def visit_Constant(self, node: ast.Constant) -> None:
        """A place such as 'providers.ssh:SshProvider', which `pkgutil.resolve_name` looks up."""
        module, colon, name = str(node.value).partition(":")
        if colon and name.isidentifier():
            self.used |= {(one, name) for one in self.modules if one.endswith(f".{module}")}

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            self.attributes.add(node.attr)
            if isinstance(node.value, ast.Name) and node.value.id in self._aliases:
                self.used.add((self._aliases[node.value.id], node.attr))
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        is_method, self._in_class = self._in_class, isinstance(node, ast.ClassDef)
        handed_over = DECORATORS & {_last_name(one) for one in node.decorator_list}
        bases = [_last_name(one) for one in node.bases] if isinstance(node, ast.ClassDef) else []
        registered = any(one.endswith(REGISTERED) for one in bases)
        if not handed_over and not registered and not node.name.startswith("__"):
            self.defined.append((node.lineno, node.name, is_method))
        self._callable_here.append("" if is_method else node.name)
        self.generic_visit(node)
        self._callable_here.pop()
        self._in_class = is_method

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # noqa: N815  # ast's names


def _last_name(decorator: ast.expr) -> str:
    bare = decorator.func if isinstance(decorator, ast.Call) else decorator
    return bare.attr if isinstance(bare, ast.Attribute) else getattr(bare, "id", "")


def _module_of(path: Path, sources: Path) -> str:
    return ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")


def unused(sources: Path) -> Iterator[str]:
    """A line for each function, class and method below `sources` that nothing there uses."""
    paths = {_module_of(path, sources): path for path in sorted(sources.rglob("*.py"))}
    found = [_Module(module, frozenset(paths)) for module in paths]
    for one in found:
        one.visit(ast.parse(paths[one.name].read_text(encoding="utf-8")))
    used = set().union(*(one.used for one in found))
    attributes: set[str] = set().union(*(one.attributes for one in found))
    for template in sources.rglob("*.j2"):
        attributes |= set(re.findall(r"\.(\w+)", template.read_text(encoding="utf-8")))
    for one in found:
        for line, name, is_method in one.defined:
            if name in ALLOWED:
                continue
            if name not in attributes if is_method else (one.name, name) not in used:
                yield f"{paths[one.name].relative_to(sources.parent)}:{line}: nothing uses {name}"


def main() -> int:
    """Prints what is unused; 1 when something is."""
    lines = list(unused(SOURCES))
    for line in lines:
        sys.stdout.write(f"{line}\n")
    if lines:
        sys.stdout.write("Delete it; if only tests use it, move it to tests/support.\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
