"""Rejected trials are repeated by themselves and on request, by whichever controller holds them, and within bounds."""

import asyncio
import itertools
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, running, tracking
from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.benchmarks.fake import PROGRAM, Fake, fake_program
from nephoscope.machines.fake import Answer
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.control import State
from nephoscope.model.errors import InputError, MachineLost, ToolFailed
from nephoscope.model.records import Facts, ForeignProcess
from nephoscope.run.study import StudyOutcome, run_study
from nephoscope.store.attempt import CLEANUP_LOG
from nephoscope.store.folder import Trial
from tests.support.evidence import sample
from tests.support.fake_world import Rehearsal, observe_at_once, rehearsal

STUDY = """
name = "disturbed"
seed = 3
replicates = {replicates}
repeat_rejected = {most}
placement = "{placement}"

[[configurations]]
name = "small"
provider = "fake"
price_usd_per_hour = 360.0
database_machine = {{ cpus = "all" }}

[[benchmarks]]
uses = "fake"
parameters = {{ duration_s = 10.0 }}
"""

Disturbed = Callable[[int], bool]
"""Whether the machine is busy before the n-th measurement, counted from 0."""


def disturbed(
    path: Path,
    when: Disturbed,
    *,
    replicates: int = 4,
    most: int = 2,
    placement: str = "fresh",
    text: str = STUDY,
    failures: Collection[Exception | None] = (),
) -> Rehearsal:
    """A study on a machine that is busy before some of its measurements."""
    study = rehearsal(
        path,
        text=text.format(replicates=replicates, most=most, placement=placement),
        provider_failures=itertools.chain(failures, itertools.repeat(None)),  # type: ignore[arg-type]  # errors or None
    )
    measured = itertools.count()
    busy = {"now": when(0)}

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        answer = fake_program(argv, stdin)
        if argv[1:] != ["--version"]:
            busy["now"] = when(next(measured) + 1)
        return answer

    async def observe(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
        facts, verbatim = await observe_at_once(machine)
        return facts.model_copy(update={"busy_share": 0.5 if busy["now"] else 0.0}), verbatim

    study.provider.programs = {PROGRAM: program}
    return replace(study, world=replace(study.world, observe=observe))


def conducted(study: Rehearsal, options: CliOptions | None = None) -> StudyOutcome:
    conduct = run_options(study.folder, study.study, options or CliOptions())
    return asyncio.run(run_study(study.folder, study.world, conduct))


def verdicts(trial: Trial) -> list[bool | None]:
    """Of each attempt: valid, rejected, or not finished."""
    return [attempt.valid() if attempt.finished() else None for attempt in trial.attempts()]


def all_verdicts(study: Rehearsal) -> list[list[bool | None]]:
    return [verdicts(trial) for _, trial in study.folder.planned()]


def test_a_trial_rejected_twice_counts_once_it_is_quiet_and_every_attempt_is_kept(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1}, replicates=6)
    assert conducted(study) == StudyOutcome(finished=6, valid=6, failed=0)
    first, *others = all_verdicts(study)
    assert first == [False, False, True]
    assert others == [[True]] * 5
    _, trial = next(study.folder.planned())
    decisive = trial.decisive_attempt()
    assert decisive is not None
    assert decisive.number == 3
    states = [(record.state, record.attempt) for record in trial.states() if record.state in {"planned", "invalid"}]
    assert states == [("planned", 1), ("invalid", 1), ("planned", 1), ("invalid", 2), ("planned", 2)]
    assert tracking.state_of(trial) is State.DONE
    (row, *_) = evaluation.status(study.folder)
    assert (row.attempt, row.attempts, row.counts) == (3, 3, True)


def test_the_first_repeat_follows_its_block_and_the_second_the_study(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1})
    conducted(study)
    begun = sorted(
        (lease.begun_unix_ms, planned.intent.block, attempt.number)
        for planned, trial in study.folder.planned()
        for attempt in trial.attempts()
        if (lease := attempt.lease()) is not None
    )
    assert [(block, number) for _, block, number in begun] == [(1, 1), (1, 2), (2, 1), (3, 1), (4, 1), (1, 3)]


def test_a_trial_that_is_always_rejected_stops_after_its_repeats(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1, 7}, replicates=6)
    outcome = conducted(study)
    assert (outcome.finished, outcome.valid, outcome.failed, outcome.not_repeated) == (6, 5, 0, {})
    assert all_verdicts(study)[0] == [False] * 3
    _, trial = next(study.folder.planned())
    assert tracking.state_of(trial) is State.INVALID
    again = disturbed(tmp_path / "r", lambda _: False, replicates=6)
    assert conducted(again).valid == 5, "the same command does not go on for ever"


def test_no_repeat_is_made_where_the_study_wants_none(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda _: True, most=0)
    assert conducted(study).valid == 0
    assert all_verdicts(study) == [[False]] * 4


def test_repeats_end_within_twice_the_planned_time(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda _: True, replicates=6, most=100)
    outcome = conducted(study)
    took_s = study.clock.monotonic_s()
    assert took_s <= 2 * study.folder.plan().expected_duration_s
    assert sum(map(len, all_verdicts(study))) > 6
    assert len(outcome.not_repeated) == 6
    assert set(outcome.not_repeated.values()) == {
        "with more repeats the study could take over twice as long as planned"
    }


def test_a_repeat_waits_for_a_quiet_machine_but_not_for_ever(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1}, replicates=6)
    conducted(study)
    waits = [text for text in study.heard.values if text.startswith("waiting for quiet: fake-1")]
    assert waits[-1] == "waiting for quiet: fake-1 is 50% busy, for up to 1 s more"
    assert study.clock.monotonic_s() == pytest.approx(8 * 10 + 5, abs=0.5)


def test_three_disturbed_trials_in_a_row_make_the_next_one_wait_and_say_why(tmp_path: Path) -> None:
    text = STUDY + '[[benchmarks]]\nuses = "fake"\nname = "again"\nparameters = {{ duration_s = 10.0 }}\n'
    study = disturbed(tmp_path / "r", lambda n: n < 7, most=0, text=text)
    conducted(study, CliOptions(pause_s=20.0))
    why = "fake-1: was 50 % busy before the trial (limit 10 %)"
    assert study.heard.pauses == [(3, why, 10.0), (3, why, 10.0)]  # the streak is counted anew after a pause
    assert next(text for text in study.heard.values if "for up to" in text).endswith("for up to 10 s more")
    assert [row for trial in all_verdicts(study) for row in trial] == [False] * 7 + [True]
    quiet = disturbed(tmp_path / "q", lambda n: n in {0, 1, 3, 4}, most=0, text=text)
    conducted(quiet)
    assert quiet.heard.pauses == []


def test_the_end_of_a_run_names_programs_of_others_and_what_could_not_be_cleaned_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    burn = ForeignProcess(pid=7, name="python3 burn.py", cpu_s=0.9)
    monkeypatch.setattr(running, "parse_telemetry", lambda _: [sample(foreign_processes=[burn])] * 10)
    study = disturbed(tmp_path / "r", lambda n: n in {0, 2}, most=0)
    conducted(study)
    last = [trial.attempts()[-1] for _, trial in study.folder.planned()][-1]
    last.log_dir.mkdir(exist_ok=True)
    (last.log_dir / CLEANUP_LOG).write_text("stopping fake failed: DatabaseFailed('it was busy')\n")
    assert list(running.incident_lines(study.folder)) == [
        "programs of others that disturbed rejected trials: python3 burn.py (18 s of CPU time in 2 trials)",
        "warning: small · fake: stopping fake failed: DatabaseFailed('it was busy')",
    ]


def test_the_budget_ends_repeats_before_it_takes_trials_away(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1, 2}, replicates=4)
    outcome = conducted(study, CliOptions(max_usd=6.0))
    assert (outcome.finished, outcome.refused) == (4, {})
    spent = tracking.progress(study.folder, study.clock.unix_ms()).spent_usd
    assert spent is not None
    assert spent <= 6.0
    assert set(outcome.not_repeated.values()) == {"the budget does not allow it"}
    assert sum(map(len, all_verdicts(study))) == 5


def test_a_lost_machine_is_no_repeat(tmp_path: Path) -> None:
    lost = MachineLost("taken back")
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1}, replicates=6, failures=(None, lost, lost))
    assert conducted(study).valid == 6
    assert all_verdicts(study)[0] == [False, None, None, False, True]


def test_a_failed_repeat_leaves_the_trial_rejected_and_counts(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n == 0, replicates=6, most=1, failures=(None, ToolFailed("broke")))
    outcome = conducted(study)
    assert (outcome.finished, outcome.valid, outcome.failed) == (6, 5, 0)
    assert all_verdicts(study)[0] == [False, None]
    _, trial = next(study.folder.planned())
    assert tracking.state_of(trial) is State.INVALID


def test_kept_clusters_serve_repeats_too(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n in {0, 5}, replicates=6, placement="per-configuration")
    assert conducted(study).valid == 6
    assert not study.provider.existing


class Killed(BaseException):
    """As if by kill -9: nothing cleans up."""


@pytest.mark.parametrize(
    ("at_state", "number"),
    [
        ("destroying", 1),
        ("invalid", 1),
        ("planned", 2),
        ("leased", 2),
        ("running", 2),
        ("destroying", 2),
        ("planned", 3),
    ],
)
def test_a_controller_killed_at_any_state_of_a_repeat_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_state: str, number: int
) -> None:
    """Dies just after the n-th time that the first trial enters the state, then runs again on the same folder."""
    study = disturbed(tmp_path / "r", lambda n: n in {0, 1}, replicates=6)
    first = next(study.folder.planned())[0].intent.id
    seen = itertools.count(1)
    add_state = Trial.add_state

    def dying(trial: Trial, record: object) -> None:
        add_state(trial, record)  # type: ignore[arg-type]  # as it came
        if trial.folder.name == first and record.state == at_state and next(seen) == number:  # type: ignore[attr-defined]
            raise Killed

    monkeypatch.setattr(Trial, "add_state", dying)
    with suppress(Killed):
        conducted(study)
    monkeypatch.setattr(Trial, "add_state", add_state)
    again = disturbed(tmp_path / "r", lambda _: False, replicates=6)
    again = replace(again, world=replace(study.world, listener=again.heard))
    assert conducted(again).valid == 6
    trial = study.folder.trial(first)
    finished = [attempt.valid() for attempt in trial.finished_attempts()]
    assert finished.count(True) == 1
    assert len(finished) <= 3
    assert tracking.state_of(trial) is State.DONE
    assert not again.provider.existing


def test_trials_are_repeated_later_on_request(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n < 4, most=0)
    assert conducted(study).valid == 0
    later = disturbed(tmp_path / "r", lambda n: n == 0, most=0)
    assert conducted(later).valid == 0, "the study wants no repeats"
    outcome = conducted(later, CliOptions(retry_rejected=True, checks=("foreign-load",)))
    assert (outcome.valid, outcome.not_repeated) == (3, {})
    assert all_verdicts(study) == [[False, False], *[[False, True]] * 3]
    assert conducted(later, CliOptions(retry_rejected=True)).valid == 4
    assert all_verdicts(study)[0] == [False, False, True]


def test_a_trial_of_another_version_of_its_benchmark_is_not_repeated(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n < 2, most=0)
    conducted(study)
    later = disturbed(tmp_path / "r", lambda _: False)

    class Newer(Fake):
        version = 2

    world = replace(later.world, benchmarks={**later.world.benchmarks, "fake": Newer()})
    outcome = conducted(replace(later, world=world))
    assert set(outcome.not_repeated.values()) == {"this nephoscope has another version of the benchmark 'fake'"}
    assert all_verdicts(study) == [[False], [False], [True], [True]]


def test_on_request_only_those_of_one_check_are_repeated(tmp_path: Path) -> None:
    study = disturbed(tmp_path / "r", lambda n: n < 2, most=0)
    conducted(study)
    later = disturbed(tmp_path / "r", lambda _: False, most=0)
    assert conducted(later, CliOptions(retry_rejected=True, checks=("machine-unchanged",))).valid == 2
    assert sum(map(len, all_verdicts(study))) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (CliOptions(checks=("foreign-load",)), "--check needs --retry-rejected"),
        (CliOptions(retry_rejected=True, checks=("foreign",)), "there is no check 'foreign'"),
        (CliOptions(retry_rejected=True, checks=("generator-bound",)), "are not repeated: the load generator was the"),
        (CliOptions(retry_rejected=True, checks=("audit",)), "are not repeated: a wrong result is a defect"),
    ],
)
def test_a_request_that_selects_results_is_rejected(tmp_path: Path, options: CliOptions, said: str) -> None:
    study = disturbed(tmp_path / "r", lambda _: False)
    with pytest.raises(InputError, match=said):
        run_options(study.folder, study.study, options)
