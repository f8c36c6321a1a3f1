"""Prints the tests to run while one works: the files that changed, and those that import a module that did.

Call: python scripts/tests_of_changes.py COMMIT, with which the working tree is compared.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def affected_by(changes: Iterable[str], tests: Iterable[Path]) -> list[Path]:
    """Those of the test files that changed or name a changed module in an import.

    Args:
        changes: paths of changed files, from the root of the repository.
        tests: paths of test files, from there too.
    """
    paths = {Path(change) for change in changes}
    modules = [path.with_suffix("").parts[path.parts[0] == "src" :] for path in paths if path.suffix == ".py"]
    names = [
        re.escape(".".join(module[:-1])) + rf"(\.| import (\([^)]*|[^\n]*)\b){re.escape(module[-1])}\b"
        for module in modules
    ]
    imports = re.compile("|".join(names))
    return [test for test in tests if test in paths or (names and imports.search(test.read_text(encoding="utf-8")))]


def main(commit: str) -> None:
    """Reads what changed from git; prints one path per line."""
    commands = (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"])
    listed = [subprocess.run(["git", *command], check=True, capture_output=True, text=True) for command in commands]
    changes = [line for listing in listed for line in listing.stdout.splitlines()]
    sys.stdout.writelines(f"{test}\n" for test in affected_by(changes, sorted(Path("tests").rglob("test_*.py"))))


if __name__ == "__main__":
    main(sys.argv[1])
