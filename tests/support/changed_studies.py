"""Studies of pages and of `studies/`, changed so that a test can run them, and run to their report."""

import re
from collections.abc import Iterable
from pathlib import Path

from nephoscope.store.folder import ResultsFolder
from tests.e2e.test_killed_on_emulated_hosts import finish
from tests.support.command_line import nephoscope

Changes = Iterable[tuple[str, str]]


def changed(text: str, changes: Changes) -> str:
    """The text after these changes, in this order: a pattern, and what becomes of every place that it matches.

    Raises:
        AssertionError: nothing matches a pattern, so the study is another one than the test was written for.
    """
    for pattern, becomes in changes:
        text, count = re.subn(pattern, becomes, text)
        assert count, f"the study has no {pattern}"
    return text


def run_to_report(text: str, tmp_path: Path, timeout_s: float = 3600) -> ResultsFolder:
    """The results of a study of which every trial finished and nothing is left."""
    study, folder = tmp_path / "study.toml", ResultsFolder(tmp_path / "out")
    study.write_text(text)
    finish(study, folder, timeout_s)
    reported = nephoscope("report", folder.path, timeout_s=600)
    assert reported.exit_code == 0, reported.stderr
    return folder
