"""The check for unused functions finds what it should, and nothing else."""

from pathlib import Path

from scripts.find_unused import unused

USED = """
from package.other import helper

class Used:
    def called(self):
        return helper()

def main():
    return Used().called()

main()
"""


def found(folder: Path, *, main: str = USED, other: str = "def helper():\n    return 1\n") -> list[str]:
    package = folder / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(main)
    (package / "other.py").write_text(other)
    return list(unused(folder / "src"))


def test_what_is_used_is_not_listed(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_a_function_that_nothing_calls_is_listed_with_its_place(tmp_path: Path) -> None:
    lines = found(tmp_path, other="def helper():\n    return 1\n\n\ndef planted():\n    return 2\n")
    assert lines == ["src/package/other.py:5: nothing uses planted"]


def test_a_function_of_the_same_name_elsewhere_hides_nothing(tmp_path: Path) -> None:
    lines = found(tmp_path, other="def helper():\n    return 1\n\n\ndef main():\n    return 2\n")
    assert lines == ["src/package/other.py:5: nothing uses main"]


def test_a_function_that_only_calls_itself_is_listed(tmp_path: Path) -> None:
    lines = found(tmp_path, main=USED + "\nasync def alone():\n    return await alone()\n")
    assert lines == ["src/package/main.py:13: nothing uses alone"]


def test_unused_methods_and_classes_are_listed_but_not_those_a_library_or_a_template_calls(tmp_path: Path) -> None:
    more = """
class Idle:
    def __len__(self):
        return 0

    def never(self):
        return 1

    def in_a_template(self):
        return 2

    @model_validator(mode="after")
    def _valid(self):
        return self
"""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "page.html.j2").write_text("{{ idle.in_a_template }}")
    lines = found(tmp_path, main=USED + more)
    assert lines == ["src/package/main.py:13: nothing uses Idle", "src/package/main.py:17: nothing uses never"]


def test_tests_are_no_users(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("from package.other import planted\n\nplanted()\n")
    assert found(tmp_path, other="def helper():\n    return 1\n\n\ndef planted():\n    return 2\n")
