"""The report of a study that runs: when it is written, what it says, and that it never ends the run."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.app import redraw
from nephoscope.app.redraw import NICENESS, KeptReport, Phase, write_beside
from nephoscope.report.parts import Page
from nephoscope.run.clock import FakeClock, SystemClock
from nephoscope.run.ledger import Limits
from nephoscope.run.study import RunOptions, run_study
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import STUDY, Rehearsal, rehearsal
from tests.support.made_results import made_results


class Writer:
    """Writes nothing, and remembers when and how it was asked."""

    def __init__(self, clock: FakeClock, takes_s: float, problem: str = "") -> None:
        self.clock, self.takes_s, self.problem = clock, takes_s, problem
        self.calls: list[tuple[float, Phase, int]] = []
        self.warnings: list[str] = []

    async def write(self, phase: Phase, niceness: int) -> str:
        self.calls.append((self.clock.monotonic_s(), phase, niceness))
        self.clock.elapse(self.takes_s)
        return self.problem

    def report(self, *, outdated: bool = False, may_stop: bool = False) -> KeptReport:
        return KeptReport(self.write, self.clock, self.warnings.append, lambda: outdated, may_stop=may_stop)


def test_a_report_costs_a_small_part_of_the_time() -> None:
    clock = FakeClock()
    writer = Writer(clock, takes_s=10)
    report = writer.report()

    async def run() -> None:
        for _ in range(20):
            clock.elapse(30)
            await report.pause(alone=True)

    begun_s = clock.monotonic_s()
    asyncio.run(report.during(run()))
    assert [at_s - begun_s for at_s, _, _ in writer.calls] == [60, 280, 500, 630], "after 60 s, then after 200 s each"
    assert [phase for _, phase, _ in writer.calls] == [Phase.RUNNING] * 3 + [Phase.ENDED]


@pytest.mark.parametrize(("outdated", "phases"), [(False, []), (True, [Phase.ENDED])])
def test_a_short_run_writes_a_report_only_in_place_of_an_old_one(outdated: bool, phases: list[Phase]) -> None:
    writer = Writer(FakeClock(), takes_s=1)
    asyncio.run(writer.report(outdated=outdated).during(asyncio.sleep(0)))
    assert [phase for _, phase, _ in writer.calls] == phases


def test_a_report_that_cannot_be_written_is_a_warning_once() -> None:
    clock = FakeClock()
    writer = Writer(clock, takes_s=1, problem="disk full")
    report = writer.report()

    async def run() -> str:
        for _ in range(3):
            clock.elapse(1000)
            await report.pause(alone=True)
        return "measured"

    assert asyncio.run(report.during(run())) == "measured"
    assert len(writer.calls) == 3
    assert writer.warnings == ["the report could not be written, and the study goes on: disk full"]


def test_a_report_beside_other_trials_has_a_low_priority_and_nobody_waits_for_it() -> None:
    clock = FakeClock()
    ended = False

    async def endless(phase: Phase, niceness: int) -> str:
        nonlocal ended
        assert (phase, niceness) == (Phase.MAY_STOP, NICENESS)
        try:
            await asyncio.sleep(3600)
        finally:
            ended = True
        return ""

    report = KeptReport(endless, clock, lambda _: None, lambda: False, may_stop=True)

    async def run() -> None:
        for _ in range(3):
            clock.elapse(1000)
            await report.pause(alone=False)
            await asyncio.sleep(0)

    asyncio.run(report.during(run()))
    assert ended, "it does not outlive the run"


def paused(study: Rehearsal, options: RunOptions | None = None) -> list[tuple[int, bool, int]]:
    """Trials that have ended, whether nothing runs, and trials that run; at each pause of the study."""
    found: list[tuple[int, bool, int]] = []

    async def pause(*, alone: bool) -> None:
        trials = [trial for _, trial in study.folder.planned()]
        ended = sum(trial.finished() for trial in trials)
        found.append((ended, alone, sum(bool(trial.attempts()) for trial in trials) - ended))

    asyncio.run(run_study(study.folder, study.world, replace(options or RunOptions(), pause=pause)))
    return found


def test_a_run_pauses_between_its_blocks_when_nothing_runs(tmp_path: Path) -> None:
    study = rehearsal(tmp_path, text=STUDY)
    blocks = [planned.intent.block for planned, _ in study.folder.planned()]
    of_block = blocks.count(1)
    assert paused(study) == [(of_block * block, True, 0) for block in range(1, max(blocks))]


def test_a_run_of_several_clusters_is_shown_after_each_trial(tmp_path: Path) -> None:
    study = rehearsal(tmp_path, text=STUDY)
    found = paused(study, RunOptions(limits=Limits(max_clusters=2)))
    assert len(found) == len(list(study.folder.planned()))
    assert not any(alone for _, alone, _ in found)


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    return made_results(
        tmp_path / "study", {"a": [100.0, 101.0, None], "b": [200.0, "<i>postgres</i> used 1.3 CPUs", None]}
    )


def page_of(folder: ResultsFolder, phase: Phase) -> str:
    redraw.redraw(folder, SystemClock(), phase)
    return (folder.report_dir / Page.MAIN).read_text()


def test_the_page_of_a_running_study_says_how_far_it_is_and_reloads_itself(folder: ResultsFolder) -> None:
    with folder.lock():
        assert asyncio.run(write_beside(folder.path, Phase.RUNNING, 0)) == "", "by a process of its own, as a run does"
        page = (folder.report_dir / Page.MAIN).read_text()
    assert "<strong>4 of 6 trials ended.</strong> 2 of 3 blocks complete; about 20 s left." in page
    assert "b · fake · replicate 2: foreign-load: &lt;i&gt;postgres&lt;/i&gt; used 1.3 CPUs" in page
    assert "Written 20" in page
    assert 'id="follow"' in page
    assert "To repair it" not in page, "the run repeats it by itself"
    assert "; at most 20 s left" in page_of(folder, Phase.MAY_STOP)


def test_the_page_of_a_study_that_stands_still_does_not_reload_itself(folder: ResultsFolder) -> None:
    page = page_of(folder, Phase.ENDED)
    assert "<strong>4 of 6 trials ended.</strong> 2 of 3 blocks complete. The answers are provisional" in page
    assert 'id="follow"' not in page


def test_the_page_of_an_ended_study_says_nothing_of_it(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "study", {"a": [100.0, 101.0], "b": [200.0, "postgres used 1.3 CPUs"]})
    page = page_of(folder, Phase.RUNNING)
    assert 'aria-label="Progress"' not in page
    assert 'id="follow"' not in page


def test_only_the_report_changes_in_the_results_folder(folder: ResultsFolder) -> None:
    before = sorted(folder.path.rglob("*"))
    page_of(folder, Phase.RUNNING)
    after = [path for path in folder.path.rglob("*") if not path.is_relative_to(folder.report_dir)]
    assert sorted(after) == before
    assert redraw.written_ns(folder) > redraw.changed_ns(folder)


def damage_plan(folder: ResultsFolder) -> None:
    folder.plan_path.write_text("{")


def forbid_report(folder: ResultsFolder) -> None:
    folder.report_dir.write_text("a file")


@pytest.mark.parametrize(("spoil", "problem"), [(damage_plan, "plan.json is not JSON"), (forbid_report, "report")])
def test_why_a_report_cannot_be_written_is_one_line(
    folder: ResultsFolder, spoil: Callable[[ResultsFolder], None], problem: str
) -> None:
    spoil(folder)
    said = asyncio.run(write_beside(folder.path, Phase.ENDED, 0))
    assert problem in said
    assert "\n" not in said


def test_a_report_that_takes_too_long_is_given_up(folder: ResultsFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redraw, "LIMIT_S", 0.01)
    assert asyncio.run(write_beside(folder.path, Phase.ENDED, 0)).startswith("it took longer than")
    assert not folder.report_dir.exists()
