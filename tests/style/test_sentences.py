"""Facts travel as values: no code reads what was written for people."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/nephoscope").rglob("*.py"))
SPOKEN = {"reason", "reasons", "note", "why", "advice", "hint"}
"""Fields of stored models with such a name are text for people."""
READERS = {"startswith", "endswith", "split", "rsplit", "partition", "rpartition", "find", "index", "removeprefix"}
READS = {
    "row.reason == 'a tie'": "comparison-overlap",
    "'tie' in row.reason": "operator",
    "row.reason in {'a tie', 'none'}": "comparison-overlap",
    "row.reason.startswith('a')": "attr-defined",
    "row.reason.partition(':')": "attr-defined",
    "row.reason[:1]": "index",
    "len(row.reason)": "arg-type",
    "re.search('tie', row.reason)": "call-overload",
    "{'a tie': 1}[row.reason]": "index",
    "any(one.startswith('steal:') for one in trial.reasons)": "attr-defined",
    "sorted(trial.reasons)": "type-var",
    "'autocorrelation' in insight.text": "operator",
}
"""A read of a sentence -> the error of the type checker."""


def test_the_type_checker_refuses_each_way_to_read_a_sentence(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    head = "import re\n\nfrom nephoscope.model.rows import Comparison, Insight, TrialRow\n\n\n"
    of = "row: Comparison, trial: TrialRow, insight: Insight"
    lines = [f"def f{at}({of}) -> object: return {read}\n" for at, read in enumerate(READS)]
    fine = "def fine(row: Comparison) -> str: return f'{row.reason}, {row.note}' if row.reason else str(row.note)\n"
    planted.write_text(head + "".join(lines) + fine)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(planted)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    first = head.count("\n") + 1
    errors = [line for line in found.stdout.splitlines() if ": error: " in line]
    assert {int(line.split(":")[1]) - first: line.rpartition("[")[2].rstrip("]") for line in errors} == dict(
        enumerate(READS.values())
    ), found.stdout + found.stderr


def told(node: ast.AST) -> bool:
    """`str(row.reason)`, or an f-string of nothing else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return bool(node.args) and isinstance(node.args[0], ast.Attribute) and node.args[0].attr in {*SPOKEN, "text"}
    return (
        isinstance(node, ast.JoinedStr)
        and len(node.values) == 1
        and any(isinstance(one, ast.Attribute) and one.attr in {*SPOKEN, "text"} for one in ast.walk(node))
    )


def reads(tree: ast.AST) -> list[int]:
    """Lines that turn a sentence into a text only to read it."""
    found = []
    for node in ast.walk(tree):
        method = isinstance(node, ast.Attribute) and node.attr in READERS and told(node.value)
        compared = isinstance(node, ast.Compare) and any(map(told, [node.left, *node.comparators]))
        searched = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and any(map(told, node.args))
        )
        if method or compared or searched:
            found.append(getattr(node, "lineno", 0))
    return found


@pytest.mark.parametrize(
    "read", ["str(row.reason).startswith('a')", "'a' in f'{row.note}'", "re.match('a', str(row.why))"]
)
def test_a_detour_by_way_of_a_text_is_found(read: str) -> None:
    assert reads(ast.parse(read)) == [1]


def test_no_code_reads_a_sentence_by_way_of_a_text() -> None:
    assert SOURCES
    assert [(path, line) for path in SOURCES for line in reads(ast.parse(path.read_text()))] == []


def test_what_stored_models_hold_for_people_is_a_sentence() -> None:
    fields = [
        (path.name, node.name, field.target.id, ast.unparse(field.annotation))
        for path in (ROOT / "src/nephoscope/model").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in {"Frozen", "Written"} for base in node.bases)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id in SPOKEN
    ]
    assert fields
    assert [field for field in fields if "Sentence" not in field[3]] == []
