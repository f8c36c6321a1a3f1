"""A controller killed with -9 at any moment: every load ran once, everything was given back, nothing was overspent."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, tracking
from nephoscope.run.states import ENDS
from nephoscope.store import lock
from nephoscope.store.folder import ResultsFolder
from tests.support.fleet_controller import DISTURBED, cloud

STUDY = """
name = "fleet"
seed = 3
replicates = {replicates}

[[configurations]]
name = "small"
provider = "fake"
price_usd_per_hour = 360.0
database_machine = {{ cpus = 2, count = 3 }}
database = {{ system = "fake" }}

[[configurations]]
name = "large"
provider = "fake"
price_usd_per_hour = 720.0
database_machine = {{ count = 3 }}
database = {{ system = "fake" }}

[[benchmarks]]
uses = "fake"
parameters = {{ duration_s = {duration_s}, database = true }}
"""


@dataclass
class Fleet:
    """A study, its folder and its cloud, worked on by controllers that may die."""

    path: Path
    replicates: int
    duration_s: float
    max_usd: float = 0.0
    state_url: str = ""
    folder_name: str = "out"
    disturbed: float = 0.0
    """Share of clusters on which a trial is rejected for foreign load."""

    @property
    def folder(self) -> ResultsFolder:
        return ResultsFolder(self.path / self.folder_name)

    def start(self) -> subprocess.Popen[str]:
        file = self.path / "study.toml"
        file.write_text(STUDY.format(replicates=self.replicates, duration_s=self.duration_s))
        places = [str(file), str(self.folder.path), str(self.path / "cloud")]
        argv = [sys.executable, "-m", "tests.support.fleet_controller", *places, "2", str(self.max_usd), self.state_url]
        environment = {**os.environ, DISTURBED: str(self.disturbed)}
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def run(self) -> str:
        process = self.start()
        said, talk = process.communicate(timeout=300)
        assert process.returncode == 0, talk
        return said

    def killed_when(self, moment: Callable[[], bool]) -> None:
        process = self.start()
        while not moment():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.kill()
        process.communicate()

    def killed_after(self, seconds: float) -> None:
        """Seconds count from when it holds the folder: what it does before is start Python."""
        process = self.start()
        while not lock.held(self.folder.path / "lock"):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()
        process.communicate()

    def loads_going_on(self) -> int:
        if not self.folder.plan_path.exists():
            return 0
        open_attempts = (trial.open_attempt() for _, trial in self.folder.planned())
        return sum(attempt is not None and attempt.resumption() is not None for attempt in open_attempts)

    def loads_by_trial(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for key, begun in cloud(self.path / "cloud").begun("fake").items():
            counts[key.rpartition("/")[2].partition("-")[0]] += begun
        return counts


def require_all_is_well(fleet: Fleet) -> None:
    rows = evaluation.status(fleet.folder)
    assert {row.state for row in rows} == {"finished"}
    assert {row.verdict for row in rows} == {"valid"}
    assert fleet.loads_by_trial() == {row.trial: 1 for row in rows}
    assert set(tracking.progress(fleet.folder, 0).states.values()) <= ENDS
    there = cloud(fleet.path / "cloud")
    sys.stdout.write(f"created {there.created()} terminated {there.terminated()}\n")
    assert there.created() == there.terminated() >= len(rows)


@pytest.mark.slow
def test_loads_go_on_while_their_controller_is_dead_and_the_next_one_waits_for_them(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, replicates=2, duration_s=2.0)
    fleet.killed_when(lambda: fleet.loads_going_on() == 2)
    open_before = {
        trial.folder.name: found.number for _, trial in fleet.folder.planned() if (found := trial.open_attempt())
    }
    assert fleet.run() == "finished 4 valid 4 refused 0\n"
    require_all_is_well(fleet)
    attempts = {row.trial: row.attempt for row in evaluation.status(fleet.folder)}
    assert len(open_before) == 2
    assert open_before.items() <= attempts.items()


@pytest.mark.slow
def test_ten_kills_at_random_moments_and_machines_that_lack(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, replicates=4, duration_s=2.0, max_usd=100.0)
    draws = random.Random(5)
    for _ in range(10):
        fleet.killed_after(draws.uniform(0.0, 3.0))
    assert fleet.run() == "finished 8 valid 8 refused 0\n"
    require_all_is_well(fleet)
    spent = tracking.progress(fleet.folder, 0).spent_usd
    assert spent is not None
    assert 8 * 2.0 * 0.1 < spent < 100.0


def require_each_repeat_ran_once(fleet: Fleet) -> None:
    """Every load that was begun is a finished attempt, none was begun twice, and a valid trial was not repeated."""
    finished = {planned.intent.id: trial.finished_attempts() for planned, trial in fleet.folder.planned()}
    assert fleet.loads_by_trial() == {trial: len(attempts) for trial, attempts in finished.items() if attempts}
    for attempts in finished.values():
        assert len(attempts) <= 3
        assert not any(attempt.valid() for attempt in attempts[:-1])
    assert sum(len(attempts) > 1 for attempts in finished.values()) >= 2, "some trials were repeated"
    assert set(tracking.progress(fleet.folder, 0).states.values()) <= ENDS
    there = cloud(fleet.path / "cloud")
    assert there.created() == there.terminated()


@pytest.mark.slow
def test_repeats_of_rejected_trials_survive_kills_and_each_runs_once(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, replicates=4, duration_s=2.0, disturbed=0.4)
    draws = random.Random(6)
    for _ in range(8):
        fleet.killed_after(draws.uniform(0.0, 4.0))
    said = fleet.run()
    assert said.startswith("finished 8 valid ")
    require_each_repeat_ran_once(fleet)


@pytest.mark.slow
def test_of_two_controllers_of_one_folder_one_refuses_and_the_other_is_not_disturbed(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, replicates=2, duration_s=4.0)
    answers: dict[int, tuple[str, str]] = {}
    for process in [fleet.start(), fleet.start()]:
        said, talk = process.communicate(timeout=300)
        answers[process.returncode] = said, talk
    assert answers.keys() == {0, 5}, answers
    assert "another nephoscope" in answers[5][1]
    assert answers[0][0] == "finished 4 valid 4 refused 0\n"
    require_all_is_well(fleet)


@pytest.mark.slow
def test_ctrl_c_gives_everything_back_and_the_same_command_goes_on(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, replicates=2, duration_s=3.0)
    process = fleet.start()
    while fleet.loads_going_on() < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=60)
    assert process.returncode == 130, talk
    there = cloud(tmp_path / "cloud")
    assert there.created() == there.terminated() == 2
    assert sorted(row.state for row in evaluation.status(fleet.folder)) == [*["interrupted"] * 2, *["planned"] * 2]
    assert fleet.run() == "finished 4 valid 4 refused 0\n"
    assert there.created() == there.terminated() == 6
