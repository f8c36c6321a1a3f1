"""Which cells lost trials, and what repairs them, in words."""

from pathlib import Path

import pytest

from nephoscope.analysis.usable import DIR, Unusable, usable_cells
from nephoscope.app.stages.evaluation import named
from nephoscope.app.usable import lines
from nephoscope.checks.verdicts import invalid, unknown
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import trial

REJECTED = {"verdict": VerdictKind.INVALID}


def study(provider: str = "local") -> Study:
    return Study(name="s", configurations=[{"name": "a", "provider": provider}], benchmarks=[{"uses": "tpcc"}])


def said(verdict: Verdict, provider: str = "local") -> list[str]:
    rows = [trial("1", "a"), trial("2", "a", 2, verdict=verdict.verdict)]
    return lines(usable_cells(study(provider), rows, {"2": [verdict]}), "x")


@pytest.mark.parametrize(
    ("verdict", "provider", "text"),
    [
        (
            invalid("foreign-load", "busy"),
            "local",
            "rejected by foreign-load). Repeat: `nephoscope run x --retry-rejected --check foreign-load`.",
        ),
        (
            invalid("steal", "stolen"),
            "aws",
            (
                "rejected by steal). It is never repeated: lost CPU time is an accident on your own machine, and a "
                "part of what you pay for on a rented one."
            ),
        ),
        (
            invalid("generator-bound", "busy"),
            "aws",
            (
                "rejected by generator-bound). A repeat would select results: the load generator was the limit, and "
                "would be again. Give the load machine more CPUs, or use more load machines."
            ),
        ),
        (
            invalid("cgroup-limit", "1 CPU"),
            "local",
            (
                "rejected by cgroup-limit). Lift the limit of the cgroup; then repeat: `nephoscope run x "
                "--retry-rejected --check cgroup-limit`."
            ),
        ),
        (
            unknown("steal", "not recorded"),
            "local",
            (
                "without evidence for steal). Make sure that it can be observed; then repeat: `nephoscope run x "
                "--retry-rejected --check steal`."
            ),
        ),
    ],
)
def test_a_line_says_what_repairs_a_cell_or_why_nothing_does(verdict: Verdict, provider: str, text: str) -> None:
    cell, total = said(verdict, provider)
    assert cell.startswith(f"tpcc on a: 1 of 2 usable (1 {text}")
    assert total == "usable: 1 of 2 trials"


def test_trials_that_failed_or_have_not_started_continue_by_the_same_command() -> None:
    rows = [trial("1", "a", state="failed", verdict=None), trial("2", "a", 2, state="planned", verdict=None)]
    cells = usable_cells(study(), rows, {})
    assert lines(cells, "x")[0] == ("tpcc on a: 0 of 2 usable (1 failed, 1 not started). Continue: `nephoscope run x`.")
    assert lines(cells, "x", waiting=True)[0].startswith("tpcc on a: 0 of 2 usable (1 failed). Continue")


def test_an_earlier_file_has_the_whole_command() -> None:
    old = {"trials": ["1"], "why": "failed", "advice": "Repeat", "command": "nephoscope run DIR --retry-rejected"}
    assert Unusable.model_validate(old).command("results/x") == "nephoscope run results/x --retry-rejected"
    assert Unusable.model_validate(old | {"command": None}).command() is None


@pytest.mark.parametrize(("path", "said"), [("results/x", "results/x"), ("/home/bob/x", DIR), ("../bob/x", DIR)])
def test_a_report_names_the_folder_that_its_owner_types_and_no_place_of_a_machine(path: str, said: str) -> None:
    assert named(ResultsFolder(Path(path))) == said


def test_of_many_cells_the_worst_are_told_and_the_others_counted() -> None:
    rows = [trial(str(number), f"c{number}", verdict=VerdictKind.INVALID) for number in range(12)]
    found = lines(usable_cells(study(), rows, {}), "x")
    assert len(found) == 12
    assert found[-2:] == ["2 more cells lost trials: see the report", "usable: 0 of 12 trials"]
