"""The drawing of the packages is what the code is, and no function grows past what one sees at once."""

import ast
import re
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "nephoscope"
FLOOR, TOP = "model", "app"
PACKAGES = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
PAGE = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LINES_OF_A_SCREEN = 80
FILES = sorted((ROOT / "src").rglob("*.py"))


def documented() -> dict[str, set[str]]:
    """Package -> what the table of the architecture page says it imports."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", PAGE.partition("## Ports")[0], re.MULTILINE)
    return {package: set(re.findall(r"`(\w+)`", cell)) - {FLOOR, "units"} for package, cell in rows}


def imported() -> dict[str, set[str]]:
    """Package -> the other packages that its modules import directly."""
    graph = grimp.build_graph("nephoscope")
    found: dict[str, set[str]] = {package: set() for package in PACKAGES}
    for module in graph.modules:
        package = module.split(".")[1:2]
        if package and package[0] in PACKAGES:
            targets = {
                target.split(".")[1] for target in graph.find_modules_directly_imported_by(module) if "." in target
            }
            found[package[0]] |= targets - {package[0], FLOOR}
    return found


def drawn_folders() -> set[str]:
    """Folders of the drawing, as paths below the package."""
    drawing = PAGE.partition("src/nephoscope/\n")[2].partition("```")[0]
    found, package = set(), ""
    for line in drawing.splitlines():
        names = re.findall(r"(?<=\s)(\w+)/", line)
        inside = line.startswith("    ")
        package = package if inside else names[0]
        found |= {f"{package}/{name}" if inside else name for name in names}
    return found


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others; imports for type checking count, too."""
    left = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while ends := {module for module, targets in left.items() if not targets & left.keys()}:
        left = {module: targets for module, targets in left.items() if module not in ends}
    found = []
    while left:
        first = min(left)
        circle = {module for module in left if _reaches(left, first, module) and _reaches(left, module, first)}
        found += [sorted(circle)] if len(circle) > 1 else []
        left = {module: targets for module, targets in left.items() if module not in circle}
    return found


def _reaches(imports: dict[str, set[str]], start: str, end: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        new = (imports[waiting.pop()] & imports.keys()) - seen
        seen |= new
        waiting += new
    return end in seen


def test_no_modules_import_each_other() -> None:
    assert circles(grimp.build_graph("nephoscope")) == []


def test_a_circle_of_modules_is_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "a")):
        graph.add_import(importer=importer, imported=imported)
    assert circles(graph) == [["b", "c"]]


def test_the_drawing_shows_every_folder() -> None:
    folders = {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*") if path.is_dir()}
    assert drawn_folders() == {path for path in folders if "__pycache__" not in path}


def test_at_the_root_there_is_nothing_but_the_entry() -> None:
    assert {path.name for path in SOURCES.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_the_table_says_what_is_imported() -> None:
    assert documented() == {package: targets for package, targets in imported().items() if package not in {FLOOR, TOP}}


@pytest.mark.parametrize("package", sorted(PACKAGES - {FLOOR, TOP}))
def test_a_contract_forbids_what_the_table_does_not_name(package: str) -> None:
    (contract,) = (one for one in CONTRACTS if one["source_modules"] == [f"nephoscope.{package}"])
    forbidden = {name.removeprefix("nephoscope.") for name in contract["forbidden_modules"] if name.count(".") == 1}
    assert PACKAGES - forbidden - {package, FLOOR, TOP} == documented()[package]


def test_a_function_fits_a_screen() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [
        (path, node) for path in FILES for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)
    ]
    assert functions
    long = {
        f"{path.relative_to(ROOT)}:{node.name}": lines
        for path, node in functions
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > LINES_OF_A_SCREEN
    }
    assert long == {}
