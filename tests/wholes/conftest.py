"""Whole things, each made once: a shipped study is rehearsed with all its configurations, and its report written."""

import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from website.examples import DOCS, with_author

from nephoscope.app.stages import evaluation
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import TrialIntent
from nephoscope.store.folder import ResultsFolder
from tests.browser.conftest import browser
from tests.support.reader import Reader

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parents[2]
LARGE = ("cloud-report-2022", "cloud-report-2026", "cloud-report-2020")
"""They take minutes, so they have fewer replicates: all configurations matter here. Slow tests have all."""
REPLICATES = 4
"""The fewest with a 95 % interval of the ratio."""
OTHERS = sorted({file.stem for file in (ROOT / "studies").glob("*.toml")} - {*LARGE})


@dataclass(frozen=True)
class Whole:
    """A rehearsed study and its report."""

    name: str
    results: Path
    said: str
    """What both commands said on stderr."""

    @property
    def report(self) -> Path:
        return self.results / "report"

    @cached_property
    def main(self) -> Reader:
        """index.html, read."""
        return Reader((self.report / "index.html").read_text(encoding="utf-8"))

    @cached_property
    def evidence(self) -> Reader:
        """evidence.html, read."""
        return Reader((self.report / "evidence.html").read_text(encoding="utf-8"))

    @cached_property
    def analysed(self) -> AnalysedStudy:
        """The stored analysis."""
        return evaluation.analysed(ResultsFolder(self.results))

    @cached_property
    def intents(self) -> dict[str, TrialIntent]:
        """By the id of the trial."""
        return {planned.intent.id: planned.intent for planned in self.analysed.plan.trials}

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a table beside the pages."""
        with (self.report / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are whole."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("whole")


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> Iterator[Whole]:
    """The study of the parameter. Its folder goes with the last test of it: the large ones take hundreds of MB."""
    name: str = request.param
    with tempfile.TemporaryDirectory(prefix="nephoscope-whole-") as place:
        results = Path(place) / name
        file = ROOT / "studies" / f"{name}.toml"
        if name in LARGE:
            text, changed = re.subn(r"(?m)^replicates = \d+", f"replicates = {REPLICATES}", file.read_text())
            assert changed == 1
            if (DOCS / name).exists():  # as the site has it: `report` fails where its text is not borne out
                text = with_author(name, text)
                results.mkdir()
                shutil.copy(DOCS / name / "claims.toml", results)
            file = Path(place) / file.name
            file.write_text(text)
        said = nephoscope("run", file, "--rehearse", "--out", results)
        said += nephoscope("report", results, "--strict")
        yield Whole(name, results, said)


def nephoscope(*arguments: str | Path) -> str:
    """Runs a command as its user does, and returns what it said on stderr."""
    command = [sys.executable, "-m", "nephoscope", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, f"{' '.join(command[2:])} ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return done.stderr
