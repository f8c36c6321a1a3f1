"""A study that grows: read again only where a file changed, with answers that become more certain."""

import asyncio
from pathlib import Path

import pytest

from nephoscope.app.live.answers import cards_of
from nephoscope.app.live.drawing import ReportDrawer, draw
from nephoscope.app.live.index import StudyIndex
from nephoscope.app.live.state import Studies
from nephoscope.app.stages import tracking
from nephoscope.model.control import Lease, StateRecord
from nephoscope.model.errors import DamagedFile
from nephoscope.run.clock import FakeClock
from nephoscope.run.study import run_study
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import STUDY as FAKE_STUDY
from tests.support.fake_world import rehearsal
from tests.support.made_results import Value, made_results, write_trial

NOTHING: list[Value] = [None] * 4


def grow(folder: ResultsFolder, *values: tuple[str, Value]) -> None:
    """The next planned trial of each named configuration ends."""
    for name, value in values:
        planned = next(
            row for row, trial in folder.planned() if row.intent.configuration_name == name and not trial.attempts()
        )
        write_trial(folder, planned.intent, value)


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    return made_results(tmp_path / "study", {"a": NOTHING, "b": NOTHING})


def test_only_what_changed_is_read_again(folder: ResultsFolder) -> None:
    index = StudyIndex(folder)
    assert (index.view(0).progress.words, index.reads) == ("8 planned", 8)
    grow(folder, ("a", 100.0), ("b", "postgres used 1.3 CPUs"))
    view = index.view(0)
    assert (view.progress.words, index.reads) == ("6 planned, 1 done, 1 invalid", 10)
    assert [[*map(str, known.row.reasons)] for known in view.ended if known.row] == [
        [],
        ["foreign-load: postgres used 1.3 CPUs"],
    ]
    assert index.view(0).ended == view.ended
    assert index.reads == 10


def test_the_costs_of_trials_that_did_not_change_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = rehearsal(
        tmp_path, text=FAKE_STUDY.replace('provider = "fake"', 'provider = "fake"\nprice_usd_per_hour = 3')
    )
    asyncio.run(run_study(study.folder, study.world))
    read: list[Path] = []
    lease = Attempt.lease

    def reading(attempt: Attempt) -> Lease | None:
        read.append(attempt.folder.parent.parent)
        return lease(attempt)

    index = StudyIndex(study.folder)
    now_unix_ms = study.clock.unix_ms() + 5_000
    spent_usd = index.view(now_unix_ms).progress.spent_usd
    assert spent_usd
    assert spent_usd == pytest.approx(tracking.progress(study.folder, now_unix_ms).spent_usd)
    monkeypatch.setattr(Attempt, "lease", reading)
    planned, trial = next(study.folder.planned())
    begun = lease(trial.new_attempt(planned.intent)) or lease(trial.attempts()[0])
    assert begun is not None
    trial.attempts()[-1].write_lease(begun.model_copy(update={"begun_unix_ms": now_unix_ms - 3_600_000}))
    assert index.view(now_unix_ms).progress.spent_usd == pytest.approx(spent_usd + 3)
    assert {*read} == {trial.folder}


def test_a_trial_that_runs_and_its_end(folder: ResultsFolder) -> None:
    index = StudyIndex(folder)
    planned, trial = next(folder.planned())
    for at, state in enumerate(("planned", "leased", "running")):
        trial.add_state(StateRecord(state=state, at_unix_ms=at, attempt=1))
    view = index.view(0)
    assert [known.progress.state for known in view.running] == ["running"]
    assert not view.in_use
    write_trial(folder, planned.intent, 5.0)
    trial.add_state(StateRecord(state="destroying", at_unix_ms=8, attempt=1))
    trial.add_state(StateRecord(state="done", at_unix_ms=9, attempt=1))
    with folder.lock():
        view = index.view(0)
    assert (view.running, len(view.ended), view.in_use) == ([], 1, True)


def test_an_unknown_state_is_told_as_damage(folder: ResultsFolder) -> None:
    _, trial = next(folder.planned())
    trial.folder.mkdir(parents=True)
    (trial.folder / "states.jsonl").write_text('{"state":"paused","at_unix_ms":1,"attempt":1}\n')
    with pytest.raises(DamagedFile, match=r"states\.jsonl:1 is damaged: state: Input should be 'planned'"):
        StudyIndex(folder).view(0)


@pytest.mark.parametrize(("extra", "left"), [("", "about "), ('stop = "decided"', "at most ")])
def test_the_time_left_of_a_study_that_may_stop_early_is_the_most(tmp_path: Path, extra: str, left: str) -> None:
    folder = made_results(tmp_path / "study", {"a": NOTHING, "b": NOTHING}, extra=extra)
    studies = Studies([folder], tmp_path / "out", FakeClock(), every_s=None)
    with folder.lock():
        (study,) = studies.state()["studies"]
    assert study["left"].startswith(left)


def test_cards_become_more_certain(folder: ResultsFolder) -> None:
    index = StudyIndex(folder)
    assert cards_of(index.view(0), margin_percent=1.5) == []
    grow(folder, ("a", 100.0))
    (card,) = cards_of(index.view(0), margin_percent=1.5)
    assert card.text == "Only a has a value so far."
    grow(folder, ("b", 200.0))
    (card,) = cards_of(index.view(0), margin_percent=1.5)
    assert card.text.startswith("Which of 2 configurations")
    assert "cannot be decided: each was measured once" in card.text
    grow(folder, ("a", 101.0), ("b", 203.0), ("a", 99.0), ("b", 201.0))
    (card,) = cards_of(index.view(0), margin_percent=1.5)
    assert card.text.startswith("b has the best ")
    assert [(bar.name, bar.n, bar.value) for bar in card.bars] == [("b", 3, "201.0/s"), ("a", 3, "100.0/s")]
    assert card.bars[0].low < card.bars[0].at < card.bars[0].high == 1


def test_a_report_is_drawn_when_trials_have_ended_and_not_too_often(folder: ResultsFolder, tmp_path: Path) -> None:
    begun: list[int] = []

    class Counting(ReportDrawer):
        def _begin(self, ended: int, now_s: float) -> None:
            begun.append(ended)
            self._begun_s, self._begun_with = now_s, ended

    drawer = Counting(folder, tmp_path / "out", every_s=30)
    for ended, now_s, hold in ((0, 0, False), (1, 1, False), (2, 5, False), (2, 29, False), (2, 31, True)):
        drawer.poll(ended, now_s, hold=hold)
    assert begun == [1], "at once, and then not before 30 s, nor while it is held"
    drawer.poll(2, 40, hold=False)
    drawer.poll(2, 90, hold=False)
    assert begun == [1, 2], "and not again without a new trial"


def test_no_report_is_drawn_while_trials_run_on_this_machine(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "here", {"a": [1.0, None]}, machines={"a": {"provider": '"local"'}})
    studies = Studies([folder], tmp_path / "out", FakeClock(), every_s=None)
    with folder.lock():
        (study,) = studies.state()["studies"]
    assert (study["in_use"], study["report"]["held"], study["report"]["drawing"]) == (True, True, False)
    asked = Studies([folder], tmp_path / "asked", FakeClock(), every_s=60)
    with folder.lock():
        (study,) = asked.state()["studies"]
    assert (study["report"]["held"], study["report"]["drawing"]) == (False, True)
    asked.stop()


def test_drawing_changes_nothing_in_the_results_folder(folder: ResultsFolder, tmp_path: Path) -> None:
    grow(folder, ("a", 100.0), ("b", 200.0))
    before = sorted(folder.path.rglob("*"))
    draw(folder.path, tmp_path / "out")
    assert sorted(folder.path.rglob("*")) == before
    assert "<title>" in (tmp_path / "out" / "index.html").read_text()


def test_a_study_that_cannot_be_read_is_told_beside_the_others(folder: ResultsFolder, tmp_path: Path) -> None:
    other = made_results(tmp_path / "other", {"c": [1.0]})
    clock = FakeClock()
    studies = Studies([folder, other], tmp_path / "out", clock, every_s=1e9)
    folder.plan_path.write_text("{")
    first, second = studies.state()["studies"]
    assert "plan.json is not JSON" in first["problem"]
    assert (second["name"], second["problem"], second["ended_count"]) == (str(other.path), "", 1)
    assert studies.state() is studies.state(), "asked again within a second"
    studies.stop()
