"""Every broken study ends `plan` with exit code 2, in time, and with the file and the line."""

import time
from itertools import islice
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.stages.planning import load
from nephoscope.model.errors import StudyError
from tests.support.broken_studies import MISTAKES, Broken, broken_studies, planned_ones

LONGEST_S = 20.0
ELSEWHERE = ("a date", "a list of lists", "misspelt key")
"""Mistakes that may show on another line first: of what gives a lost placeholder its value, or of the matrix that takes
over a key of the defaults."""


def require_told(broken: Broken, said: str) -> None:
    name, number = broken.name.split(":")
    places = [line.split(": ")[0] for line in said.splitlines()]
    assert places[0].startswith(f"{name}:"), said
    assert places[0].removeprefix(f"{name}:").isdigit(), said
    if broken.mistake not in ELSEWHERE:
        assert {f"{name}:{number}", f"{name}:{int(number) + 1}"} & {*places}, said


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_told_with_file_and_line(mistake: str) -> None:
    for broken in islice((one for one in broken_studies() if one.mistake == mistake), 2):
        with pytest.raises(StudyError) as told:
            load(broken.text, broken.name.split(":")[0])
        require_told(broken, str(told.value))


@pytest.mark.slow
def test_hundreds_of_broken_studies_end_plan_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for broken in planned_ones():
        file = tmp_path / broken.name.split(":")[0]
        file.write_text(broken.text)
        begun_s = time.process_time()
        assert main(["plan", str(file)]) == 2, broken
        assert time.process_time() - begun_s < LONGEST_S, broken
        said = capsys.readouterr().err.replace(f"{tmp_path}/", "").removeprefix("error: ")
        require_told(broken, said)
