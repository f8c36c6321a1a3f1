import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import pytest

from nephoscope.analysis import stored
from nephoscope.app import cli
from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import load, plan
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.fake import PROGRAM, Fake, fake_program
from nephoscope.databases.base import Endpoint
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.fake import Answer
from nephoscope.model.control import State, StateRecord
from nephoscope.model.errors import DatabaseFailed, InputError, StorageFailed, ToolMissing, ToolTimedOut
from nephoscope.model.records import Derived, PlanWarning, VerdictKind
from nephoscope.model.rows import MeasurementRow, Statistic
from nephoscope.model.seeds import derive_seed
from nephoscope.providers.base import Cluster
from nephoscope.run.derive import derive
from nephoscope.run.study import StudyOutcome, adopt_plan, run_study
from nephoscope.store import files
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import STUDY, Rehearsal, rehearsal
from tests.support.stored_anew import stored_anew

TRIALS = 24


def run(study: Rehearsal) -> StudyOutcome:
    return asyncio.run(run_study(study.folder, study.world))


def states(folder: ResultsFolder) -> list[str]:
    return [row.state for row in evaluation.status(folder)]


def test_a_study_of_fakes_runs_to_its_report(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    assert run(study) == StudyOutcome(finished=TRIALS, valid=TRIALS, failed=0)
    assert [verdict for _, _, verdict, _ in study.heard.ended] == [VerdictKind.VALID] * TRIALS
    analysed = evaluation.analyze(study.folder)
    assert {row.n for row in analysed[Statistic]} == {6}
    page = evaluation.report(study.folder).path
    assert page.read_text(encoding="utf-8").count("small") > 3
    assert not study.database.running
    assert not study.provider.existing
    assert not study.folder.scratch.exists()


def test_a_database_is_asked_once_its_data_set_is_there(tmp_path: Path) -> None:
    class Prepared(Fake):
        async def prepare(self, site: Site, parameters: Any) -> None:
            if isinstance(site.database, FakeDatabase):
                site.database.fixtures.add("the data set")

    class Telling(FakeDatabase):
        async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
            return {"data sets": ", ".join(self.fixtures)}

    study = rehearsal(tmp_path / "r")
    study.world = replace(study.world, benchmarks={"fake": Prepared()}, databases={"fake": Telling()})
    run(study)
    told = [attempt.database("before") for attempt in study.folder.every_attempt()]
    assert {(found or {}).get("data sets") for found in told} == {None, "the data set"}


def test_finished_trials_are_never_repeated(tmp_path: Path) -> None:
    run(rehearsal(tmp_path / "r"))
    again = rehearsal(tmp_path / "r")
    assert run(again).finished == TRIALS
    assert again.heard.ended == []
    assert again.heard.finished_before == TRIALS
    assert {row.attempts for row in evaluation.status(again.folder)} == {1}


def test_a_killed_attempt_stays_beside_its_successor(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    planned, trial = next(study.folder.planned())
    killed = trial.new_attempt(planned.intent)
    killed.raw_dir.mkdir()
    (killed.raw_dir / "half").write_text("half an output")
    assert states(study.folder)[0] == "interrupted"
    run(study)
    row = evaluation.status(study.folder)[0]
    assert (row.state, row.attempt, row.attempts) == ("finished", 2, 2)
    assert (killed.raw_dir / "half").read_text() == "half an output"
    assert killed.status() is None


def test_a_failed_trial_is_kept_with_class_and_hint_the_study_goes_on_and_the_next_run_tries_again(
    tmp_path: Path,
) -> None:
    failure = DatabaseFailed("it did not start", hint="read its log")
    study = rehearsal(tmp_path / "r", database_failures=chain([failure], repeat(None)))
    assert run(study) == StudyOutcome(finished=TRIALS - 1, valid=TRIALS - 1, failed=1)
    (failed,) = [row for row in evaluation.status(study.folder) if row.state == "failed"]
    assert [*map(str, failed.reasons)] == ["database_failed: it did not start; hint: read its log"]
    attempt = study.folder.trial(failed.trial).decisive_attempt()
    assert attempt is not None
    assert (attempt.log_dir / "fake.log").read_text() == "fake database starting\n"
    assert not study.database.running
    assert run(rehearsal(tmp_path / "r")).finished == TRIALS


def test_a_missing_tool_is_not_run_and_says_so(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r", programs={"other": fake_program})
    assert run(study).failed == TRIALS
    rows = evaluation.status(study.folder)
    assert {row.state for row in rows} == {"not run"}
    assert str(rows[0].reasons[0]).startswith(f"not run: {PROGRAM} is not installed; hint:")
    page = evaluation.report(study.folder).path.with_name("evidence.html").read_text(encoding="utf-8")
    assert "is not installed" in page


def test_garbage_with_exit_code_0_is_a_failed_trial_and_never_a_number(tmp_path: Path) -> None:
    """Each kind in some trials."""
    outputs = cycle([b"", b"garbage", b"{}", b'{"rate": 0}', b'{"rate": "NaN"}', b"\xff\xfe"])

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        return fake_program(argv, stdin) if argv[1] == "--version" else Answer(next(outputs))

    study = rehearsal(tmp_path / "r", programs={PROGRAM: program})
    assert run(study).finished == 0
    assert all(
        str(reason).startswith("output_unreadable") for row in evaluation.status(study.folder) for reason in row.reasons
    )
    assert evaluation.analyze(study.folder)[Statistic] == []


def test_parse_finishes_what_a_better_parser_can_read_and_leaves_raw_output_alone(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    _, trial = next(study.folder.planned())
    attempt = trial.decisive_attempt()
    assert attempt is not None
    raw = attempt.raw_dir / "fake.stdout"
    good = raw.read_bytes()
    raw.write_bytes(b"what an older parser could not read")
    stored_anew(attempt)
    outcome = evaluation.parse(study.folder, study.clock)
    assert (outcome.parsed, len(outcome.unreadable)) == (TRIALS - 1, 1)
    assert states(study.folder)[0] == "failed"
    raw.write_bytes(good)
    stored_anew(attempt)
    assert evaluation.parse(study.folder, study.clock).parsed == TRIALS
    assert set(states(study.folder)) == {"finished"}


def test_parse_and_analyze_twice_give_identical_bytes(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    names = ["statistics.parquet", "comparisons.parquet", "measurements.parquet", "trials.parquet", "analysis.json"]

    def bytes_after_all_stages() -> list[bytes]:
        evaluation.parse(study.folder, study.clock)
        evaluation.analyze(study.folder)
        page = evaluation.report(study.folder).path
        return [*((study.folder.path / name).read_bytes() for name in names), page.read_bytes()]

    assert bytes_after_all_stages() == bytes_after_all_stages()


def test_a_full_disk_ends_the_study_and_a_later_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rehearsal(tmp_path / "r")
    real = Attempt.write_derived
    calls = cycle([False, False, False, True])

    def full(self: Attempt, derived: Derived) -> None:
        if next(calls):
            raise StorageFailed("could not store it: No space left on device", hint="free some space")
        real(self, derived)

    monkeypatch.setattr(Attempt, "write_derived", full)
    with pytest.raises(StorageFailed):
        run(study)
    assert states(study.folder).count("finished") == 3
    assert states(study.folder).count("interrupted") == 1
    assert not study.database.running
    monkeypatch.undo()
    assert run(rehearsal(tmp_path / "r")).finished == TRIALS


def test_a_defect_in_a_benchmark_is_a_failed_trial_with_its_traceback(tmp_path: Path) -> None:
    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        raise ZeroDivisionError("in the program")

    study = rehearsal(tmp_path / "r", programs={PROGRAM: program})
    assert run(study).failed == TRIALS
    attempt = study.folder.trial(evaluation.status(study.folder)[0].trial).decisive_attempt()
    assert attempt is not None
    assert "ZeroDivisionError" in (attempt.log_dir / "defect.txt").read_text()


def test_a_cancelled_trial_is_marked_interrupted_and_everything_is_given_back(tmp_path: Path) -> None:
    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        if argv[1] == "--version":
            return fake_program(argv, stdin)
        raise asyncio.CancelledError

    study = rehearsal(tmp_path / "r", programs={PROGRAM: program})
    with pytest.raises(asyncio.CancelledError):
        run(study)
    assert states(study.folder) == ["interrupted"] + ["planned"] * (TRIALS - 1)
    assert not study.database.running
    assert not study.provider.existing


def test_a_timeout_names_itself(tmp_path: Path) -> None:
    failure = ToolTimedOut("no machine in time")
    study = rehearsal(tmp_path / "r", provider_failures=chain([failure], repeat(None)))
    run(study)
    assert [[*map(str, row.reasons)] for row in evaluation.status(study.folder) if row.state == "failed"] == [
        ["timeout: no machine in time"]
    ]


def test_a_plan_may_grow_freely_and_loses_trials_only_with_replan(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    text = STUDY.replace("replicates = 6", "replicates = 7")
    adopt_plan(study.folder, text, plan(load(text, "s.toml")), replan=False)
    assert states(study.folder).count("finished") == TRIALS
    assert states(study.folder).count("planned") == 4
    with pytest.raises(InputError, match="28 trials, of which 4 are not in the new plan") as caught:
        adopt_plan(study.folder, STUDY, plan(load(STUDY, "s.toml")), replan=False)
    assert "--replan" in caught.value.hint
    assert study.folder.study_text() == text
    looks = study.folder.path / "looks"
    looks.mkdir()
    adopt_plan(study.folder, text, plan(load(text, "s.toml")), replan=True)
    assert looks.exists()
    adopt_plan(study.folder, STUDY, plan(load(STUDY, "s.toml")), replan=True)
    assert set(states(study.folder)) == {"finished"}
    assert not looks.exists()


def test_what_no_trial_depends_on_may_change_and_is_stored(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    text = f'title = "new"\nequivalence_margin_percent = 3\n{STUDY}'
    later = PlanWarning(kind="other", text="of a later version")
    planned = plan(load(text, "s.toml")).model_copy(update={"warnings": [later]})
    adopt_plan(study.folder, text, planned, replan=False)
    assert study.folder.study_text() == text
    assert study.folder.plan().warnings == [later]


def test_a_report_made_during_a_run_is_not_taken_for_the_last_one(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    heard: list[bool] = []

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        if argv[1] != "--version" and not heard:
            evaluation.analyze(study.folder)
            heard.append(study.folder.analysis_path.exists())
        return fake_program(argv, stdin)

    study.provider.programs = {PROGRAM: program}
    run(study)
    assert heard == [True]
    assert not study.folder.analysis_path.exists()


def test_what_is_stored_is_the_contract(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    planned, trial = next(study.folder.planned())
    names = {path.relative_to(trial.folder).as_posix() for path in trial.folder.rglob("*") if path.is_file()}
    base = "attempts/1"
    assert {
        "trial.json",
        f"{base}/started.json",
        f"{base}/commands.jsonl",
        f"{base}/measurements.jsonl",
        f"{base}/verdict.json",
        f"{base}/status.json",
        f"{base}/raw/fake.stdout",
        f"{base}/raw/fake.stderr",
        f"{base}/raw/telemetry-fake-1.jsonl",
        f"{base}/facts/fake-1.json",
    } <= names
    intent = json.loads((trial.folder / "trial.json").read_text())
    assert intent["id"] == planned.intent.id == trial.folder.name


def test_draws_are_shared_by_configurations_and_differ_by_replicate() -> None:
    assert derive_seed(1, "tpcc", 1) == derive_seed(1, "tpcc", 1)
    assert len({derive_seed(seed, name, n) for seed in (1, 2) for name in ("a", "b") for n in (1, 2)}) == 8
    assert 0 <= derive_seed(2**63 - 1, "tpcc", 1000) < 2**63


def test_damaged_telemetry_makes_the_verdict_unknown_and_says_why(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    _, trial = next(study.folder.planned())
    attempt = trial.attempts()[0]
    (telemetry,) = attempt.raw_dir.glob("telemetry-*.jsonl")
    telemetry.write_text("garbage\n" + telemetry.read_text())
    evaluation.parse(study.folder, study.clock)
    (steal,) = [said for said in attempt.verdicts() if said.check == "steal"]
    assert steal.verdict is VerdictKind.UNKNOWN
    assert "telemetry line 1" in str(steal.reason)


def test_a_sampler_that_never_started_is_not_a_quiet_machine(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    attempt = next(study.folder.planned())[1].attempts()[0]
    for telemetry in attempt.raw_dir.glob("telemetry-*.jsonl"):
        telemetry.unlink()
    evaluation.parse(study.folder, study.clock)
    said = {row.check: row.verdict for row in attempt.verdicts()}
    assert (said["steal"], said["sampler-cost"]) == (VerdictKind.UNKNOWN, VerdictKind.UNKNOWN)


def test_a_sampler_that_cannot_start_ends_its_trial_at_once_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(*_: object, **__: object) -> object:
        raise ToolMissing("nephoscope-load is not installed")

    monkeypatch.setattr("nephoscope.machines.fake.FakeRemote.start", start)
    study = rehearsal(tmp_path / "r")
    run(study)
    attempt = next(study.folder.planned())[1].attempts()[0]
    assert _message(attempt) == (
        "the sampler did not start on fake-1, without which no trial counts: nephoscope-load is not installed"
    )
    assert attempt.commands() == []


def test_a_sampler_that_ends_at_once_ends_its_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephoscope.run.trial._LOOK_AT_SAMPLERS_S", 0.0)
    monkeypatch.setattr("nephoscope.machines.fake._FakeBackground.running", lambda _: False)
    monkeypatch.setattr("nephoscope.benchmarks.fake.Fake.run", lambda *_: asyncio.sleep(60))
    study = rehearsal(tmp_path / "r")
    run(study)
    attempt = next(study.folder.planned())[1].attempts()[0]
    assert _message(attempt) == "the sampler on fake-1 ended during the trial, with code 0"


def _message(attempt: Attempt) -> str:
    status = attempt.status()
    return "" if status is None else str(status.message)


@pytest.mark.parametrize(
    ("running", "exit_code", "said"), [(False, -9, "exited early with code -9"), (True, None, "hung")]
)
def test_a_sampler_that_ends_or_hangs_during_a_trial_does_not_vouch_for_the_rest_of_it(
    running: bool, exit_code: int | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(*_: object, **__: object) -> int | None:
        return exit_code

    monkeypatch.setattr("nephoscope.machines.fake._FakeBackground.running", lambda _: running)
    monkeypatch.setattr("nephoscope.machines.fake._FakeBackground.stop", stop)
    study = rehearsal(tmp_path / "r")
    run(study)
    attempt = next(study.folder.planned())[1].attempts()[0]
    assert {row.check: row.verdict for row in attempt.verdicts()}["sampler-cost"] is VerdictKind.UNKNOWN
    assert not attempt.valid()
    assert said in (attempt.log_dir / "teardown.txt").read_text()
    assert list(attempt.raw_dir.glob("incomplete-telemetry-*.jsonl"))


def test_an_attempt_without_an_end_is_running_while_somebody_works_on_the_folder(tmp_path: Path) -> None:
    """Several may run at once; one that a dead controller left runs once this one continues it."""
    study = rehearsal(tmp_path / "r")
    (first, killed), (second, trial), (third, another), *_ = study.folder.planned()
    os.utime(killed.new_attempt(first.intent).folder, (0, 0))
    assert states(study.folder)[:2] == ["interrupted", "planned"]
    with study.folder.lock():
        trial.new_attempt(second.intent)
        another.new_attempt(third.intent)
        assert states(study.folder)[:3] == ["interrupted", "running", "running"]
        assert str(evaluation.status(study.folder)[1].reasons[0]) == "running now"
        killed.add_state(StateRecord(state=State.PROVISIONING, at_unix_ms=0, attempt=1))
        assert states(study.folder)[0] == "running"
    assert states(study.folder)[:3] == ["interrupted"] * 3


@pytest.mark.parametrize("damage", [lambda said: {**said, "bounds": [{"n": 1}]}, lambda _: {}])
def test_an_analysis_that_cannot_be_read_is_made_again(tmp_path: Path, damage: Callable[[Any], Any]) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    evaluation.report(study.folder)
    whole = study.folder.analysis_path.read_bytes()
    study.folder.analysis_path.write_text(json.dumps(damage(json.loads(whole))), encoding="utf-8")
    evaluation.report(study.folder)
    assert study.folder.analysis_path.read_bytes() == whole


def test_a_report_is_never_of_other_trials_than_are_stored(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    evaluation.report(study.folder)
    written = study.folder.analysis_path.stat().st_mtime_ns
    evaluation.report(study.folder)
    assert study.folder.analysis_path.stat().st_mtime_ns == written, "nothing changed, nothing to analyse"
    attempt = next(study.folder.planned())[1].attempts()[0]
    first, *others = attempt.measurements()
    attempt.write_measurements([first.model_copy(update={"value": 12345.5}), *others])
    stored_anew(attempt)
    evaluation.report(study.folder)
    assert 12345.5 in {row.value for row in stored.read(study.folder, stored.document(study.folder))[MeasurementRow]}


def test_an_analysis_that_was_not_stored_whole_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    evaluation.analyze(study.folder)

    def full(name: str, content: bytes) -> Path:
        raise StorageFailed(f"{name}: {len(content)} bytes")

    monkeypatch.setattr(study.folder, "write_derived", full)
    with pytest.raises(StorageFailed):
        evaluation.analyze(study.folder)
    assert not study.folder.analysis_path.exists()


def test_a_parser_that_crashes_costs_one_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    (_, trial), *_ = study.folder.planned()
    crashing = trial.attempts()[0]

    def parse(attempt: Attempt, *rest: Any) -> object:
        if attempt.folder == crashing.folder:
            raise ZeroDivisionError("by nothing")
        return derive(attempt, *rest)

    monkeypatch.setattr(evaluation, "derive", parse)
    outcome = evaluation.parse(study.folder, study.clock)
    assert (outcome.parsed, len(outcome.unreadable)) == (TRIALS - 1, 1)
    assert "its parser crashed: ZeroDivisionError: by nothing" in outcome.unreadable[0]
    status = crashing.status()
    assert status is not None
    assert (status.state, status.failure_class) == ("failed", "output_unreadable")
    monkeypatch.undo()
    assert evaluation.parse(study.folder, study.clock).parsed == TRIALS, "a better parser reads it again"


def test_a_trial_of_another_version_of_its_benchmark_is_not_parsed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = rehearsal(tmp_path / "r")
    run(study)
    planned, trial = next(study.folder.planned())
    before = trial.attempts()[0].verdicts(), trial.attempts()[0].status()
    use = planned.intent.benchmark.model_copy(update={"version": 99})
    files.write(trial.folder / "trial.json", planned.intent.model_copy(update={"benchmark": use}))
    assert cli.main(["parse", str(study.folder.path)]) == 4
    assert "it was run with version 99 of the benchmark 'fake'" in capsys.readouterr().err
    assert (trial.attempts()[0].verdicts(), trial.attempts()[0].status()) == before


def test_a_kept_trial_has_the_place_at_which_it_was_run(tmp_path: Path) -> None:
    """A new plan may give it another; the order of execution is what explains a drift."""
    first = rehearsal(tmp_path / "r")
    run(first)
    ran = {row.trial: (row.position, row.block) for row in evaluation.status(first.folder)}
    moved = [
        row.model_copy(update={"intent": row.intent.model_copy(update={"position": 1 + index})})
        for index, row in enumerate(reversed(first.folder.plan().trials))
    ]
    plan_now = first.folder.plan().model_copy(update={"trials": moved})
    adopt_plan(first.folder, STUDY, plan_now, replan=True)
    assert {row.trial: (row.position, row.block) for row in evaluation.status(first.folder)} == ran
