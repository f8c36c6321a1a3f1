"""A results folder from anybody leads to no file outside of it, is no reason to wait, and starts nothing."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.stages import evaluation, verifying
from nephoscope.machines.fake import FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.control import Lease, State, StateRecord
from nephoscope.model.errors import DamagedFile, FolderInUse, NephoscopeError, StorageFailed
from nephoscope.providers.base import Cluster
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.clock import FakeClock
from nephoscope.run.conductor import Conductor, Rules, _Kept, open_attempt
from nephoscope.run.ledger import Limits, OwnLedger
from nephoscope.run.states import Patience
from nephoscope.store import files, plain
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import rehearsal
from tests.support.made_results import made_results
from tests.support.stored_anew import as_stored_without_digests

SECRET = "correct horse battery staple"
PLACES = (
    *("study.toml", "plan.json", "claims.toml", "lock", "index.json", "trials", "looks", "report", "scratch"),
    *("trials/*", "trials/*/attempts", "trials/*/attempts/1"),
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_results(tmp_path_factory.mktemp("good") / "r", {"slow": [100.0], "fast": [200.0]}).path


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "r"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A file of the reader's, outside of the results folder."""
    path = tmp_path / "home" / "secret"
    path.parent.mkdir()
    path.write_text(f"{SECRET}\n")
    return path


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def a_link(path: Path, elsewhere: Path) -> None:
    """To what was at the path, so that following it would do."""
    target = elsewhere.with_name("moved")
    if path.exists():
        path.rename(target)
    path.symlink_to(target if target.exists() else elsewhere)


def a_link_to_nothing(path: Path, elsewhere: Path) -> None:
    remove(path)
    path.symlink_to(elsewhere.with_name("nothing"))


def a_fifo(path: Path, _: Path) -> None:
    remove(path)
    os.mkfifo(path)


@pytest.mark.parametrize("odd", [a_link, a_link_to_nothing, a_fifo])
@pytest.mark.parametrize(
    "name",
    PLACES,
)
def test_what_is_neither_a_file_nor_a_folder_is_told_and_not_opened(
    folder: Path,
    elsewhere: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    odd: Callable[[Path, Path], None],
) -> None:
    path = min(folder.glob(name), default=folder / name)
    odd(path, elsewhere)
    for command in ("status", "report"):
        assert main([command, str(folder)]) == 2
        said = capsys.readouterr().err
        if name == "plan.json" and odd is a_link_to_nothing:
            assert "plan.json is missing" in said
        else:
            assert f"{path} is a {'FIFO' if odd is a_fifo else 'link'}, but" in said


def in_place_of_facts(attempt: Attempt, elsewhere: Path) -> str:
    (attempt.folder / "facts").rename(elsewhere.parent / "facts")
    (attempt.folder / "facts").symlink_to(elsewhere.parent / "facts")
    return "facts"


def beside_raw_output(attempt: Attempt, elsewhere: Path) -> str:
    (attempt.folder / "raw" / "notes.txt").symlink_to(elsewhere)
    return "raw/notes.txt"


def in_a_circle(attempt: Attempt, _: Path) -> str:
    for name in ("a", "b"):
        (attempt.folder / "raw" / name).symlink_to("..")
    return "raw/a"


def a_fifo_of_verdicts(attempt: Attempt, _: Path) -> str:
    (attempt.folder / "verdict.json").unlink()
    os.mkfifo(attempt.folder / "verdict.json")
    return "verdict.json"


def a_definition_elsewhere(attempt: Attempt, elsewhere: Path) -> str:
    path = attempt.folder.parents[1] / "trial.json"
    a_link(path, elsewhere)
    return "trial.json"


def a_file_of_holes(attempt: Attempt, _: Path) -> str:
    with (attempt.folder / "raw" / "notes.txt").open("wb") as file:
        file.truncate(1 << 42)
    return "raw/notes.txt"


@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize(
    "odd",
    [in_place_of_facts, beside_raw_output, in_a_circle, a_fifo_of_verdicts, a_definition_elsewhere, a_file_of_holes],
)
def test_a_trial_with_a_link_or_another_odd_file_is_altered(
    folder: Path, elsewhere: Path, odd: Callable[[Attempt, Path], str], digests: bool
) -> None:
    results = ResultsFolder(folder)
    attempt = next(results.every_attempt())
    if not digests:
        as_stored_without_digests(attempt)
    said = f"{odd(attempt, elsewhere)} is a link, a file of holes or another special file, and is not read"
    rows = {row.trial: row for row in evaluation.status(results)}
    assert any(said in str(reason) for reason in rows[attempt.folder.parents[1].name].reasons)
    assert sorted(row.state for row in rows.values()) == ["altered", "finished"]
    assert any(one.endswith(said) for one in verifying.verify(results).differences)


def test_no_table_of_holes_is_read(folder: Path) -> None:
    results = ResultsFolder(folder)
    results.write_derived("analysis.json", b"{}")
    results.write_derived("trials.parquet", b"")
    results.write_analysis_digests({"trials.parquet": "0" * 64})
    os.truncate(folder / "trials.parquet", 1 << 42)
    with pytest.raises(DamagedFile, match=r"trials\.parquet is a file of holes"):
        results.altered_analysis()


def test_nothing_behind_a_link_is_published(folder: Path, elsewhere: Path) -> None:
    results = ResultsFolder(folder)
    for attempt in results.every_attempt():
        beside_raw_output(attempt, elsewhere)
        as_stored_without_digests(attempt)
    evaluation.report(results)
    assert all(SECRET.encode() not in file.read_bytes() for file in (folder / "report").iterdir())
    evidence = (folder / "report" / "raw_files.csv").read_text()
    assert "notes.txt" not in evidence
    assert hashlib.sha256(elsewhere.read_bytes()).hexdigest() not in evidence


def test_nothing_is_written_through_a_link(folder: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = ResultsFolder(folder)
    monkeypatch.setattr(os, "getpid", lambda: 77)
    (folder / "report").mkdir()
    for name in ("report/.index.html.77.tmp", "report/index.html", ".analysis.json.77.tmp"):
        (folder / name).symlink_to(elsewhere)
    evaluation.report(results)
    assert (folder / "report" / "index.html").stat().st_size > 10_000
    trial = results.trial(min((folder / "trials").iterdir()).name)
    (trial.folder / "states.jsonl").unlink(missing_ok=True)
    (trial.folder / "states.jsonl").symlink_to(elsewhere)
    with pytest.raises(StorageFailed):
        trial.add_state(StateRecord(state=State.PLANNED, attempt=2, at_unix_ms=0))
    remove(folder / "lock")
    (folder / "lock").symlink_to(elsewhere)
    with pytest.raises((StorageFailed, FolderInUse)), results.lock():
        pytest.fail("it is locked")
    assert elsewhere.read_text() == f"{SECRET}\n"


def test_what_is_derived_again_is_stored_within_its_attempt(folder: Path, elsewhere: Path) -> None:
    """Whatever names the folder's own list of derived files has, and whatever lies where new ones are made."""
    attempt = next(ResultsFolder(folder).every_attempt())
    status = attempt.status()
    assert status is not None
    outside = os.path.relpath(elsewhere, attempt.folder / "derived")
    listed = {"verdict.json": "0", "authorized_keys": "0", outside: "0"}
    files.write(attempt.folder / "derived" / "status.json", status.model_copy(update={"files": listed}))
    for name in ("verdict.json", "authorized_keys"):
        (attempt.folder / "derived" / name).write_text("[]")
    for name in (".derived.new", ".derived.old"):
        (attempt.folder / name).symlink_to(elsewhere.parent)
    elsewhere.chmod(0o600)
    attempt.write_status_again(status.model_copy(update={"message": "judged again"}))
    assert sorted(path.name for path in (attempt.folder / "derived").iterdir()) == ["status.json", "verdict.json"]
    assert [path.name for path in attempt.folder.glob(".*")] == []
    assert [path.name for path in elsewhere.parent.iterdir()] == ["secret"]
    assert (elsewhere.read_text(), elsewhere.stat().st_mode & 0o777) == (f"{SECRET}\n", 0o600)
    a_link(attempt.folder / "derived", elsewhere)
    with pytest.raises(DamagedFile, match="derived is a link"):
        attempt.write_status_again(status)


def test_what_cannot_be_cleared_away_is_not_written_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = next(ResultsFolder(folder).every_attempt())
    status = attempt.status()
    assert status is not None
    (attempt.folder / ".derived.new").mkdir()
    monkeypatch.setattr(plain, "remove", lambda _: None)
    with pytest.raises(StorageFailed, match="File exists"):
        attempt.write_status_again(status.model_copy(update={"message": "judged again"}))
    assert attempt.status() == status


def test_an_attempt_with_links_is_not_continued(folder: Path, elsewhere: Path) -> None:
    planned, trial = next(ResultsFolder(folder).planned())
    stored = planned.intent.configuration
    attempt = trial.attempts()[0]
    (attempt.folder / "status.json").unlink()
    attempt.write_lease(lease_of("k"))
    trial.add_state(StateRecord(state=State.COLLECTED, attempt=1, at_unix_ms=0))
    provider = FakeProvider({}, FakeClock())
    assert asyncio.run(open_attempt(trial, stored, provider, "study")) is not None
    said = beside_raw_output(attempt, elsewhere)
    with pytest.raises(DamagedFile, match=f"{said} is a link"):
        asyncio.run(open_attempt(trial, stored, provider, "study"))


@pytest.mark.parametrize("more", [{"provider": "aws"}, {"region": "eu-west-1"}, {"zone": "eu-west-1a"}])
def test_a_lease_of_machines_that_its_trial_cannot_have_is_damage(folder: Path, more: dict[str, str]) -> None:
    planned, trial = next(ResultsFolder(folder).planned())
    attempt = trial.attempts()[0]
    (attempt.folder / "status.json").unlink()
    attempt.write_lease(lease_of("k").model_copy(update=more))
    with pytest.raises(DamagedFile, match=r"lease\.json is damaged: it names machines that configuration"):
        asyncio.run(open_attempt(trial, planned.intent.configuration, FakeProvider({}, FakeClock()), "study"))


@pytest.mark.parametrize(("study", "left"), [("payroll-0123abcd", True), (None, False)])
def test_a_cluster_of_another_study_that_a_lease_names_is_not_deleted(
    tmp_path: Path, study: str | None, left: bool
) -> None:
    made = rehearsal(tmp_path / "r")
    key = f"{study or made.folder.study_key()}/small"
    made.provider.existing[key] = Cluster(
        key, (), MachineHandle("db", FakeRemote({}, FakeClock()), "192.0.2.1", (), "/")
    )
    ledger = OwnLedger(Limits(), 0.0)
    conductor = Conductor(
        made.folder, made.folder.study_key(), made.world, ledger, Rules("per-configuration", Patience())
    )
    asyncio.run(conductor._end_kept(_Kept(), lease_of(key), "holder"))
    assert (key in made.provider.existing) is left


def lease_of(cluster: str) -> Lease:
    return Lease(
        cluster=cluster, placement="fresh", provider="fake", usd_per_hour=None, quoted_usd=None, begun_unix_ms=0
    )


def test_a_key_that_was_not_made_here_is_set_aside(tmp_path: Path, elsewhere: Path) -> None:
    folder = ResultsFolder(tmp_path / "r")
    ssh = folder.path / "scratch" / "ssh"
    (ssh / "host-keys").mkdir(parents=True)
    (ssh / "host-keys" / "i-1").write_text("of a machine")
    (ssh / "id_ed25519").write_text("theirs")
    for name in ("id_rsa", "host-keys/i-2"):
        (ssh / name).symlink_to(elsewhere)
    (ssh / "id_ed25519.half").write_text("of a killed controller")

    def files_of(scratch: Path) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(path for path in (scratch / "ssh").rglob("*") if not path.is_dir()):
            found.setdefault(path.parent.name, []).append(path.read_text())
        return found

    folder.claim_scratch()
    assert files_of(folder.scratch) == {"earlier-keys": ["theirs"], "host-keys": ["of a machine"]}
    (ssh / "id_ed25519").write_text("ours")
    folder.claim_scratch()
    assert (ssh / "id_ed25519").read_text() == "ours", "it was made here"
    copied = ResultsFolder(Path(shutil.copytree(folder.path, tmp_path / "copied")))
    copied.claim_scratch()
    assert sorted(files_of(copied.scratch)["earlier-keys"]) == ["ours", "theirs"]


def test_a_file_larger_than_any_of_ours_is_not_read_into_memory(folder: Path) -> None:
    with (folder / "plan.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(NephoscopeError, match=r"larger than 1 GiB|plan\.json is a file of holes"):
        ResultsFolder(folder).plan()


def test_data_of_a_database_that_was_not_made_here_is_deleted_before_a_run(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "r")
    data, key = Path("scratch", "here", "postgres", "initialised"), Path("scratch", "ssh", "id_ed25519")

    def lay(root: Path) -> None:
        for path in (data, key):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()

    lay(folder.path)
    assert folder.claim_scratch()
    assert not (folder.path / data).exists()
    lay(folder.path)
    assert not folder.claim_scratch(), "what was made since stays"
    moved = ResultsFolder(folder.path.rename(tmp_path / "moved"))
    assert not moved.claim_scratch()
    assert (moved.path / data).exists()
    copied = ResultsFolder(Path(shutil.copytree(moved.path, tmp_path / "copied")))
    assert copied.claim_scratch()
    assert not (copied.path / data).exists()
    assert (moved.path / data).exists()
    (moved.path / "scratch" / ".made-here").unlink()
    assert moved.claim_scratch()
