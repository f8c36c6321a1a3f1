import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, repeat
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, tracking
from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.app.stages.stopping import margin_of
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.machines.fake import Answer
from nephoscope.model.control import State
from nephoscope.model.errors import (
    CapacityLacking,
    CleanupFailed,
    EnvironmentProblem,
    InputError,
    MachineLost,
    MachinePreempted,
    MachineUnsupported,
    NephoscopeError,
    QuotaReached,
    Throttled,
    ToolFailed,
)
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.cleaning import TRIES
from nephoscope.run.clock import FakeClock
from nephoscope.run.conductor import LOOK_AT_LEDGER_S, Rules
from nephoscope.run.ledger import Limits
from nephoscope.run.states import Patience
from nephoscope.run.study import Rest, StudyOutcome, run_study
from nephoscope.study.address import THIS_MACHINE, server_hosts
from nephoscope.study.model import Configuration, Study
from tests.support.fake_world import Rehearsal, rehearsal

TRIALS = 8
STUDY = """
name = "fleet"
seed = 3
replicates = {replicates}
placement = "{placement}"

[[configurations]]
name = "small"
provider = "fake"
region = "r"
zone = "a"
other_zones = ["b"]
price_usd_per_hour = 360.0
database_machine = {{ cpus = 2 }}
database = {{ system = "fake" }}

[[configurations]]
name = "large"
provider = "fake"
price_usd_per_hour = 720.0
database = {{ system = "fake" }}

[[benchmarks]]
uses = "fake"
parameters = {{ duration_s = 10.0, spread_percent = {spread} }}
"""


def fleet(
    path: Path,
    *failures: NephoscopeError | None,
    placement: str = "fresh",
    replicates: int = 4,
    spread: float = 0.5,
    program: object = None,
    database: str = 'system = "fake"',
) -> Rehearsal:
    text = STUDY.format(placement=placement, replicates=replicates, spread=spread)
    text = text.replace('system = "fake"', database)
    return rehearsal(
        path,
        text=text,
        provider_failures=chain(failures, repeat(None)),
        programs={PROGRAM: program or fake_program},  # type: ignore[dict-item]  # either is an answer
    )


def conducted(study: Rehearsal, wishes: CliOptions | None = None) -> StudyOutcome:
    conduct = run_options(study.folder, study.study, wishes or CliOptions())
    return asyncio.run(run_study(study.folder, study.world, conduct))


def attempts(study: Rehearsal) -> dict[str, list[tuple[str | None, ...]]]:
    """State, class and zone of every attempt of each trial with more than one."""
    found: dict[str, list[tuple[str | None, ...]]] = {}
    for planned, trial in study.folder.planned():
        rows = [(attempt.status(), attempt.lease()) for attempt in trial.attempts()]
        if len(rows) > 1:
            found[planned.intent.configuration_name] = [
                (status.state, status.failure_class, lease.zone) for status, lease in rows if status and lease
            ]
    return found


def test_a_trial_keeps_its_states_in_its_folder(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", replicates=1)
    conducted(study)
    life = ["planned", "leased", "provisioning", "preparing", "verified", "running", "collected", "destroying", "done"]
    for _, trial in study.folder.planned():
        assert [record.state for record in trial.states()] == life


def test_capacity_is_found_in_another_zone_and_every_try_is_kept(tmp_path: Path) -> None:
    lacking = CapacityLacking("none left")
    study = fleet(tmp_path / "r", lacking, lacking, lacking)
    assert conducted(study) == StudyOutcome(finished=TRIALS, valid=TRIALS, failed=0)
    ((name, tries),) = attempts(study).items()
    assert [state for state, _, _ in tries] == ["failed", "failed", "failed", "finished"]
    assert {failure for _, failure, _ in tries} == {"capacity", None}
    zones = ["a", "b", "a", "b"] if name == "small" else [None] * 4
    assert [zone for _, _, zone in tries] == zones
    assert len(study.heard.again) == 3


def test_a_lost_machine_is_replaced_and_a_fourth_loss_ends_the_trial(tmp_path: Path) -> None:
    lost = MachineLost("taken back")
    study = fleet(tmp_path / "r", lost, lost, lost, lost)
    assert conducted(study) == StudyOutcome(finished=TRIALS - 1, valid=TRIALS - 1, failed=1)
    (trial,) = [trial for _, trial in study.folder.planned() if len(trial.attempts()) > 1]
    assert len(trial.attempts()) == 4
    assert tracking.state_of(trial) is State.GAVE_UP
    again = fleet(tmp_path / "r", lost)
    assert conducted(again).finished == TRIALS
    assert len(trial.attempts()) == 6


def test_what_took_a_machine_is_asked_before_its_cluster_is_deleted_and_the_trial_gets_a_new_one(
    tmp_path: Path,
) -> None:
    class Spot(FakeProvider):
        async def why_lost(self, request: ClusterRequest) -> NephoscopeError | None:
            assert request.key in self.existing
            return MachinePreempted("taken back", hint="`spot = false`")

    lost = iter([False, True, *[False] * 99])

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        gone = argv[1:] != ["--version"] and next(lost)
        return Answer(error=MachineLost("no answer")) if gone else fake_program(argv, stdin)

    study = fleet(tmp_path / "r", program=program)
    provider = Spot({PROGRAM: program}, study.clock)
    conduct = run_options(study.folder, study.study, CliOptions())
    outcome = asyncio.run(run_study(study.folder, replace(study.world, providers={"fake": provider}), conduct))
    assert (outcome.finished, outcome.failed) == (TRIALS, 0)
    (rows,) = attempts(study).values()
    assert [row[:2] for row in rows] == [("failed", "preempted"), ("finished", None)]
    (told,) = study.heard.again
    assert told[1][0] == "taken back; hint: `spot = false`"


def test_a_cluster_that_was_never_complete_is_not_explained_by_its_own_deletion(tmp_path: Path) -> None:
    class Explains(FakeProvider):
        async def why_lost(self, request: ClusterRequest) -> NephoscopeError | None:
            return MachinePreempted("nephoscope deleted it")

    study = fleet(tmp_path / "r")
    provider = Explains({PROGRAM: fake_program}, study.clock, failures=chain([MachineLost("no sshd")], repeat(None)))
    conduct = run_options(study.folder, study.study, CliOptions())
    asyncio.run(run_study(study.folder, replace(study.world, providers={"fake": provider}), conduct))
    (rows,) = attempts(study).values()
    assert [row[:2] for row in rows] == [("failed", "machine_lost"), ("finished", None)]


def test_a_failed_tool_is_not_tried_again_and_an_unsupported_machine_is_invalid(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", MachineUnsupported("no such type"), ToolFailed("it broke"))
    assert conducted(study).failed == 2
    states = [tracking.state_of(trial) for _, trial in study.folder.planned()]
    assert states[:2] == [State.INVALID, State.GAVE_UP]
    assert not attempts(study)


def test_a_quota_is_waited_for_until_others_gave_back(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", None, QuotaReached("no more"))
    assert conducted(study, CliOptions(max_clusters=3)).valid == TRIALS


def test_the_budget_is_kept_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    quote = {"small": 1.0, "large": 2.0}
    study = fleet(tmp_path / "r")
    outcome = conducted(study, CliOptions(max_usd=5.0))
    progress = tracking.progress(study.folder, study.clock.unix_ms())
    assert outcome.finished + len(outcome.refused) == TRIALS
    assert outcome.refused
    assert progress.spent_usd is not None
    ended = [planned.intent.configuration_name for planned, trial in study.folder.planned() if trial.finished()]
    assert sum(quote[name] for name in ended) == pytest.approx(progress.spent_usd)
    assert progress.spent_usd <= 5.0 < progress.spent_usd + 2.0
    assert conducted(fleet(tmp_path / "r"), CliOptions(max_usd=100.0)).finished == TRIALS


class Counting(FakeProvider):
    """Counts what exists at once, and for which attempts."""

    most = 0

    async def create(self, request: ClusterRequest) -> Cluster:
        cluster = await super().create(request)
        self.most = max(self.most, len(self.existing))
        await asyncio.sleep(0.01)
        return cluster


def counting(study: Rehearsal) -> tuple[Rehearsal, Counting]:
    provider = Counting({PROGRAM: fake_program}, study.clock)
    return replace(study, world=replace(study.world, providers={"fake": provider})), provider


@pytest.mark.parametrize("clusters", [1, 3])
def test_as_many_clusters_as_allowed_and_a_new_one_for_each_trial(tmp_path: Path, clusters: int) -> None:
    study, provider = counting(fleet(tmp_path / "r"))
    assert conducted(study, CliOptions(max_clusters=clusters)).valid == TRIALS
    assert provider.most == clusters
    assert not provider.existing
    leases = [attempt.lease() for _, trial in study.folder.planned() for attempt in trial.attempts()]
    assert len({lease.cluster for lease in leases if lease}) == TRIALS
    begun = sorted(
        (lease.begun_unix_ms, planned.intent.block)
        for planned, lease in zip(study.folder.plan().trials, leases, strict=True)
        if lease
    )
    assert [block for _, block in begun] == sorted(block for _, block in begun)


def test_a_cluster_may_serve_all_trials_of_a_configuration(tmp_path: Path) -> None:
    study, provider = counting(fleet(tmp_path / "r", placement="per-configuration"))
    assert conducted(study, CliOptions(max_clusters=2)).valid == TRIALS
    assert provider.most == 2
    assert not provider.existing
    leases = [attempt.lease() for _, trial in study.folder.planned() for attempt in trial.attempts()]
    assert len({lease.cluster for lease in leases if lease}) == 2
    assert {lease.placement for lease in leases if lease} == {"per-configuration"}


class Listed(Counting):
    """Machines that are there before the study, by configuration."""

    machines: Mapping[str, Sequence[str]]

    def hosts(self, configuration: Configuration) -> Sequence[str]:
        return self.machines[configuration.name]

    async def create(self, request: ClusterRequest) -> Cluster:
        taken = [host for key in self.existing for host in self.machines[key.split("/")[1].split("-")[0]]]
        assert not set(taken) & set(self.machines[request.configuration.name]), "a host has one trial at a time"
        return await super().create(request)


@pytest.mark.parametrize(
    ("machines", "placement", "most"),
    [
        ({"small": ["a"], "large": ["b"]}, "fresh", 2),
        ({"small": ["a", "load"], "large": ["load", "b"]}, "fresh", 1),
        ({"small": ["a"], "large": ["b"]}, "per-replicate", 1),
    ],
    ids=["apart", "one load machine", "kept for a replicate"],
)
def test_hosts_of_the_study_work_at_the_same_time_unless_they_are_shared(
    tmp_path: Path, machines: dict[str, list[str]], placement: str, most: int
) -> None:
    study = fleet(tmp_path / "r", placement=placement)
    provider = Listed({PROGRAM: fake_program}, study.clock)
    provider.machines = machines
    study = replace(study, world=replace(study.world, providers={"fake": provider}))
    assert conducted(study, CliOptions(max_clusters=3)).valid == TRIALS
    assert provider.most == most


@pytest.mark.parametrize(("placement", "most"), [("fresh", 1), ("per-configuration", 2)])
def test_trials_on_one_server_of_the_users_run_one_after_the_other(tmp_path: Path, placement: str, most: int) -> None:
    database = 'system = "fake", dsn = "postgresql://me@db.example.com/x"'
    study, provider = counting(fleet(tmp_path / "r", placement=placement, database=database))
    assert conducted(study, CliOptions(max_clusters=3)).valid == TRIALS
    assert provider.most == most
    attempts = [attempt for _, trial in study.folder.planned() for attempt in trial.attempts()]
    both = [(attempt.started(), attempt.status()) for attempt in attempts]
    spans = sorted((began.at_unix_ms or 0, ended.at_unix_ms or 0) for began, ended in both if began and ended)
    assert len(spans) == TRIALS
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))


def test_kept_clusters_need_room_for_all_configurations(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="keeps 2 clusters at once, but only 1 is allowed"):
        conducted(fleet(tmp_path / "r", placement="per-configuration"))
    study = fleet(tmp_path / "s", placement="per-configuration")
    world = replace(study.world, providers={"fake": One({PROGRAM: fake_program}, study.clock)})
    conduct = run_options(study.folder, study.study, CliOptions(max_clusters=2))
    with pytest.raises(InputError, match="but only 1 is allowed"):
        asyncio.run(run_study(study.folder, world, conduct))


class One(FakeProvider):
    """Has one cluster, as one machine has."""

    at_once = 1


def test_it_is_enough_at_a_whole_block_and_not_before_there_is_an_interval(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", replicates=9)
    outcome = conducted(study, CliOptions(until="margin=5%"))
    assert outcome.finished == 12
    assert outcome.stopped.startswith("stopped after block 6 of 9: the 95 % interval of every headline median")
    assert {trial.finished() for planned, trial in study.folder.planned() if planned.intent.block <= 6} == {True}
    assert {trial.finished() for planned, trial in study.folder.planned() if planned.intent.block > 6} == {False}


def test_wide_intervals_are_never_enough(tmp_path: Path) -> None:
    outcome = conducted(fleet(tmp_path / "r", replicates=7, spread=30.0), CliOptions(until="margin=0.5%"))
    assert (outcome.finished, outcome.stopped) == (14, "")


@pytest.mark.parametrize("text", ["1.5%", "margin=0%", "margin=1.5", "width=2%"])
def test_until_says_what_it_understands(text: str) -> None:
    with pytest.raises(InputError, match="cannot read --until"):
        margin_of(text)


class Stubborn(FakeProvider):
    """Does not delete."""

    async def delete(self, key: str) -> None:
        raise MachineLost("the provider does not answer")


def test_a_study_does_not_end_well_while_machines_are_left_and_clean_finds_them(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", replicates=1)
    stubborn = Stubborn({PROGRAM: fake_program}, study.clock)
    world = replace(study.world, providers={"fake": stubborn})
    with pytest.raises(CleanupFailed, match="2 clusters"):
        asyncio.run(run_study(study.folder, world))
    assert {row.state for row in evaluation.status(study.folder)} == {"finished"}
    willing = FakeProvider({PROGRAM: fake_program}, study.clock, existing=dict(stubborn.existing))
    stranger = Cluster("fleet-00000000/small/000000000000-1", (), next(iter(stubborn.existing.values())).load)
    willing.existing[stranger.key] = stranger
    cleaned = asyncio.run(tracking.clean_up(study.folder, replace(study.world, providers={"fake": willing})))
    assert (len(cleaned.terminated), cleaned.left) == (2, [])
    assert list(willing.existing) == [stranger.key]
    assert tracking.created(study.folder) == 2


class Owned(FakeProvider):
    """Of an account."""

    owner: str | None = "123456789012"

    async def account(self) -> str | None:
        if self.owner == "":
            raise EnvironmentProblem("no credentials")
        return self.owner


@pytest.mark.parametrize(("owner", "elsewhere"), [("123456789012", 0), ("210987654321", 2), (None, 0), ("", 0)])
def test_clean_says_which_clusters_another_account_made(tmp_path: Path, owner: str | None, elsewhere: int) -> None:
    """Where an account cannot be told, neither can this."""
    study = fleet(tmp_path / "r", replicates=1)
    provider = Owned({PROGRAM: fake_program}, study.clock)
    world = replace(study.world, providers={"fake": provider})
    asyncio.run(run_study(study.folder, world))
    leases = [attempt.lease() for _, trial in study.folder.planned() for attempt in trial.attempts()]
    assert not any(provider.owner in lease.model_dump_json() for lease in leases if lease and provider.owner)
    provider.owner = owner
    cleaned = asyncio.run(tracking.clean_up(study.folder, world))
    assert (len(cleaned.elsewhere), cleaned.left) == (elsewhere, [])


class Throttling(FakeProvider):
    """Deletes no cluster the first time that somebody tries it as often as he does."""

    asked: tuple[str, ...] = ()

    async def delete(self, key: str) -> None:
        self.asked += (key,)
        if self.asked.count(key) <= TRIES:
            raise Throttled("later")
        await super().delete(key)


def test_a_kept_cluster_that_is_not_given_back_at_once_ends_neither_study_nor_trial(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", placement="per-configuration")
    provider = Throttling({PROGRAM: fake_program}, study.clock)
    world = replace(study.world, providers={"fake": provider})
    outcome = asyncio.run(
        run_study(study.folder, world, run_options(study.folder, study.study, CliOptions(max_clusters=2)))
    )
    assert outcome.valid == TRIALS
    assert not provider.existing
    assert {tracking.state_of(trial) for _, trial in study.folder.planned()} == {State.DONE}


def test_a_finished_trial_is_at_its_end_also_when_nobody_wrote_it_down(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", replicates=1)
    conducted(study)
    for _, trial in study.folder.planned():
        path = trial.folder / "states.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
        assert trial.states()[-1].state == State.DESTROYING
        assert tracking.state_of(trial) is State.DONE


def test_what_one_trial_meets_ends_the_study_when_results_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(argv: Sequence[str], stdin: bytes) -> Answer:
        raise OSError(28, "No space left on device", "somewhere")

    study = fleet(tmp_path / "r", program=full)
    with pytest.raises(NephoscopeError, match="could not store"):
        conducted(study, CliOptions(max_clusters=3))
    assert not study.provider.existing


def test_wishes_and_the_studys_budget_meet_in_the_lower_limit(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r")
    with_budget: Study = study.study.model_copy(
        update={"budget": study.study.budget.model_copy(update={"max_usd": 7.0})}
    )
    assert run_options(study.folder, with_budget, CliOptions(max_usd=9.0)).limits == Limits(max_usd=7.0, max_clusters=1)
    assert run_options(study.folder, study.study, CliOptions()).rules == Rules("fresh", Patience())
    with pytest.raises(InputError, match="--until"):
        run_options(study.folder, study.study, CliOptions(until="margin=2%", state_url="postgresql://x/y"))
    own = fleet(tmp_path / "own", database='system = "fake", dsn = "postgresql://me@db.example.com/x"')
    with pytest.raises(InputError, match="would measure your own server at the same time"):
        run_options(own.folder, own.study, CliOptions(state_url="postgresql://x/y"))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]:5433"])
def test_all_names_of_this_machine_are_one_server(host: str) -> None:
    assert server_hosts(f"postgresql://me@{host}/x") == {THIS_MACHINE}
    assert server_hosts("postgresql://me@db.example.com:5433/x") == {"db.example.com"}
    assert server_hosts(f"postgresql://me@a:1,{host}/x?target_session_attrs=primary") == {"a", THIS_MACHINE}
    assert server_hosts("postgresql:///x?host=/run/postgresql") == {THIS_MACHINE}


def killed(study: Rehearsal, trial_id: str, after: State, *names: str) -> None:
    """As if its controller had died just after a state of a trial's first attempt, and before it wrote these files."""
    trial = study.folder.trial(trial_id)
    (attempt,) = trial.attempts()
    for name in names:
        (attempt.folder / name).unlink()
    path = trial.folder / "states.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    last = [record.state for record in trial.states()].index(after)
    path.write_text("".join(lines[: last + 1]))


@pytest.mark.parametrize("max_usd", [None, 1000.0])
@pytest.mark.parametrize("placement", ["fresh", "per-configuration", "per-replicate"])
def test_output_that_a_dead_controller_collected_needs_no_second_cluster(
    tmp_path: Path, placement: str, max_usd: float | None
) -> None:
    study = fleet(tmp_path / "r", placement=placement, replicates=2)
    one = next(planned.intent.id for planned, _ in study.folder.planned())
    clusters = 2 if placement == "per-configuration" else 1
    conduct = run_options(study.folder, study.study, CliOptions(max_clusters=clusters, max_usd=max_usd))
    conduct = replace(conduct, look=lambda block: Rest("dead" if block else ""))
    asyncio.run(run_study(study.folder, study.world, conduct))
    killed(study, one, State.COLLECTED, "status.json")
    again = fleet(tmp_path / "r", placement=placement, replicates=2)

    async def sleep(seconds: float) -> None:
        assert seconds != LOOK_AT_LEDGER_S, "it waits for what it holds itself"
        await FakeClock.sleep(again.clock, seconds)

    again.clock.sleep = sleep  # type: ignore[method-assign]
    assert conducted(again, CliOptions(max_clusters=clusters, max_usd=max_usd)).valid == 4
    assert [len(trial.attempts()) for _, trial in again.folder.planned()] == [1] * 4


def test_a_trial_whose_failure_was_not_written_down_begins_in_the_first_zone(tmp_path: Path) -> None:
    study = fleet(tmp_path / "r", ToolFailed("no"), ToolFailed("no"), replicates=1)
    assert conducted(study).failed == 2
    for planned, _ in study.folder.planned():
        killed(study, planned.intent.id, State.DESTROYING)
    assert conducted(fleet(tmp_path / "r", replicates=1)).valid == 2
    assert attempts(study)["small"] == [("failed", "tool_failed", "a"), ("finished", None, "a")]
