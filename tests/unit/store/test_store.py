import errno
import hashlib
import multiprocessing
import os
import resource
from pathlib import Path

import pytest

from nephoscope.model.errors import DamagedFile, FolderInUse, InputError, NewerSchema, StorageFailed
from nephoscope.model.records import (
    CommandRecord,
    Facts,
    FactsRecord,
    MachineKind,
    Measurement,
    Plan,
    Status,
    Verdict,
    VerdictKind,
)
from nephoscope.store import atomic, digests, files, lock
from nephoscope.store.attempt import Attempt, ReadOnce
from nephoscope.store.folder import ResultsFolder, Trial

REJECTED = Verdict(check="steal", verdict=VerdictKind.INVALID, reason="lost 5 %")
FINISHED = Status(state="finished", at_unix_ms=1, duration_s=2.5)
COMMAND = CommandRecord(argv=["fio"], machine="local", started_unix_ms=1, duration_s=1, exit_code=0)


def test_write_replaces_the_whole_file_and_leaves_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.json"
    atomic.write_text(path, "old, and longer than the new text")
    atomic.write_text(path, "new")
    assert path.read_text() == "new"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_full_disk_is_a_storage_failure_with_a_hint_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "file.json"
    atomic.write_text(path, "old")

    def full(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailed) as caught:
        atomic.write_text(path, "new")
    assert caught.value.exit_code == 6
    assert os.strerror(number) in caught.value.message
    assert caught.value.hint
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_status_survives_the_way_through_its_file(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    attempt.write_status(FINISHED)
    assert attempt.status() == FINISHED.model_copy(update={"files": {}})


def test_a_file_of_a_newer_schema_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    path.write_text(files.dump(FINISHED).replace("nephoscope/status/1", "nephoscope/status/2"))
    with pytest.raises(NewerSchema, match=r"status\.json was written by a newer nephoscope"):
        files.read(path, Status)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "nephoscope/plan/1"}', '{"state": "finished"}', "null"])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "status.json"
    path.write_text(content)
    with pytest.raises(DamagedFile, match=r"status\.json"):
        files.read(path, Status)


def test_a_line_cut_by_a_crash_is_left_out_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    attempt.add_command(COMMAND)
    attempt.add_command(COMMAND)
    path = tmp_path / "commands.jsonl"
    path.write_text(path.read_text() + '{"argv": ["cut')
    assert attempt.commands() == [COMMAND, COMMAND]
    path.write_text("garbage\n" + path.read_text())
    with pytest.raises(DamagedFile, match=r"commands\.jsonl:1"):
        attempt.commands()


def test_a_value_that_a_newline_divides_is_damage(tmp_path: Path) -> None:
    """Lines are read at once, as a list: a comma between the halves of a text would make it whole again."""
    attempt = Attempt(tmp_path)
    attempt.add_command(COMMAND.model_copy(update={"argv": ["one,two"]}))
    path = tmp_path / "commands.jsonl"
    whole = path.read_text()
    halves = whole.replace("one,two", "one\ntwo")
    for damaged in (halves, halves.replace("one\ntwo", "one,\ntwo"), whole.strip() + "," + halves):
        path.write_text(damaged)
        with pytest.raises(DamagedFile, match=r"commands\.jsonl:1"):
            attempt.commands()


def test_after_a_line_was_cut_at_any_byte_what_is_added_can_be_read(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    attempt.add_command(COMMAND)
    path = tmp_path / "commands.jsonl"
    line = path.read_bytes()
    later = COMMAND.model_copy(update={"argv": ["später"]})
    for cut in range(2 * len(line) + 1):
        path.write_bytes((line + line)[:cut])
        attempt.add_command(later)
        attempt.add_command(later)
        assert attempt.commands() == [COMMAND] * (cut // len(line)) + [later, later]


def test_a_disk_that_fills_within_a_line_costs_that_line_alone(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    attempt.add_command(COMMAND)
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "commands.jsonl").stat().st_size + 20, kept[1]))
    try:
        with pytest.raises(StorageFailed, match=r"commands\.jsonl"):
            attempt.add_command(COMMAND)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert attempt.commands() == [COMMAND]
    attempt.add_command(COMMAND)
    assert attempt.commands() == [COMMAND, COMMAND]


def test_measurements_verdicts_and_settings_survive_the_way_through_their_files(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    measurements = [Measurement(metric="iops", unit="1/s", value=0.1 + 0.2), Measurement(metric="a", unit="s", value=0)]
    verdicts = [Verdict(check="steal", verdict=VerdictKind.UNKNOWN, reason='said "no"\n')]
    attempt.write_measurements(measurements)
    attempt.write_verdicts(verdicts)
    settings = {"fsync": "on", "b": "with\ttab", "c": "two\nlines", "d": "C:\\new\\table\\", "e": ""}
    attempt.write_settings(settings)
    assert attempt.measurements() == measurements
    assert attempt.verdicts() == verdicts
    assert attempt.settings() == settings


def test_every_raw_file_has_its_digest(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path)
    assert attempt.raw_digests() == []
    attempt.log_dir.mkdir(parents=True)
    (attempt.raw_dir / "out.json").write_bytes(b"{}")
    (attempt.log_dir / "server.log").write_bytes(b"")
    assert [(name, size) for name, size, _ in attempt.raw_digests()] == [("logs/server.log", 0), ("out.json", 2)]
    assert attempt.raw_digests()[1][2] == hashlib.sha256(b"{}").hexdigest()


def test_of_several_finished_attempts_the_first_valid_one_counts_else_the_last(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    verdicts = {1: VerdictKind.INVALID, 2: VerdictKind.UNKNOWN, 3: VerdictKind.VALID, 4: VerdictKind.VALID}
    for number, used in zip(verdicts, (1, 2, 3, 3), strict=True):
        (tmp_path / "attempts" / str(number)).mkdir(parents=True)
        attempt = Attempt(tmp_path / "attempts" / str(number))
        attempt.write_verdicts([Verdict(check="steal", verdict=verdicts[number], reason="so")])
        attempt.write_status(FINISHED)
        decisive = trial.decisive_attempt()
        assert decisive is not None
        assert decisive.number == used


def test_the_first_finished_attempt_counts_else_the_last(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    for number in (1, 2, 10):
        (tmp_path / "attempts" / str(number)).mkdir(parents=True)
    assert [attempt.number for attempt in trial.attempts()] == [1, 2, 10]
    last = trial.decisive_attempt()
    assert last is not None
    assert last.number == 10
    assert not trial.finished()
    Attempt(tmp_path / "attempts" / "2").write_status(FINISHED)
    decisive = trial.decisive_attempt()
    assert decisive is not None
    assert decisive.number == 2
    assert trial.finished()


def _hold(path: Path, held: "multiprocessing.synchronize.Event", leave: "multiprocessing.synchronize.Event") -> None:
    with lock.exclusive(path):
        held.set()
        leave.wait(30)


def test_a_second_process_is_refused_and_a_dead_one_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    context = multiprocessing.get_context("spawn")
    held, leave = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(path, held, leave))
    holder.start()
    assert held.wait(30)
    with pytest.raises(FolderInUse, match=f"process {holder.pid}") as caught, lock.exclusive(path):
        pass
    assert caught.value.exit_code == 5
    holder.kill()
    holder.join()
    with lock.exclusive(path):
        assert path.read_text() == f"{os.getpid()}\n"


def test_a_folder_without_a_plan_is_no_results_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no plan\.json"):
        ResultsFolder.existing(tmp_path)


def test_a_trial_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ResultsFolder(tmp_path).trial("../../etc")


def test_no_other_user_can_hold_a_lock_and_each_can_see_that_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, really_open = tmp_path / "lock", os.open
    path.touch(mode=0o644)

    def may_not(name: Path, flags: int, *mode: int) -> int:
        if name == path and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return really_open(name, flags, *mode)

    monkeypatch.setattr(os, "open", may_not)
    assert not lock.held(path)
    with lock.exclusive(path):
        assert path.stat().st_mode & 0o077 == 0
        assert lock.held(path)
    assert not lock.held(path)


def test_to_ask_whether_a_lock_is_held_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not lock.held(path)
    assert not path.exists()
    with lock.exclusive(path):
        assert lock.held(path)
    assert not lock.held(path)
    with lock.exclusive(path):
        pass


def test_a_plan_is_read_again_only_when_it_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    read = files.read

    def counted(path: Path, model: type[Plan], *, mend: str) -> Plan:
        reads.append(path)
        return read(path, model, mend=mend)

    monkeypatch.setattr(files, "read", counted)
    folder = ResultsFolder(tmp_path)
    first = Plan(study="a", seed=1, trials=[], expected_duration_s=0, price_usd=None, unpriced=[], warnings=[])
    folder.write_plan("", first)
    assert [folder.plan() for _ in range(3)] == [first] * 3
    assert reads == [folder.plan_path]
    ResultsFolder(tmp_path).write_plan("", first.model_copy(update={"study": "b"}))
    assert folder.plan().study == "b"


def test_a_committed_attempt_is_read_without_a_look_for_files_that_it_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = Attempt(tmp_path / "1")
    attempt.folder.mkdir()
    attempt.write_verdicts([])
    attempt.write_measurements([])
    attempt.write_facts(FactsRecord(machine="m", before=Facts(at_unix_ms=1)))
    attempt.write_status(FINISHED)
    attempt.judge_again([REJECTED], MachineKind(facts={}, alike=2, machines=2))
    names = {path.relative_to(attempt.folder).as_posix() for path in attempt.folder.rglob("*") if path.is_file()}
    looked_for: list[str] = []

    def read_bytes(path: str, mend: str) -> bytes:
        looked_for.append(Path(path).relative_to(attempt.folder).as_posix())
        return Path(path).read_bytes()

    monkeypatch.setattr(files, "read_bytes", read_bytes)
    once = ReadOnce(attempt, names)
    for _ in range(2):
        assert once.verdicts() == [REJECTED]
        assert once.facts() == [FactsRecord(machine="m", before=Facts(at_unix_ms=1))]
        assert once.status() == attempt.status()
        assert (once.lease(), once.errors(), once.commands(), once.settings()) == (None, [], [], {})
        assert once.measurements() == []
    assert set(looked_for) <= names


def test_only_the_last_attempt_answers_for_the_definition_of_its_trial(tmp_path: Path) -> None:
    """Each attempt writes it before it begins: what a later one wrote is no change of an earlier one."""
    folder, definition = tmp_path / "attempts" / "1", tmp_path / "trial.json"
    folder.mkdir(parents=True)
    (folder / "large.txt").write_bytes(b"x" * 200_000)
    definition.write_text("{}")
    stored = digests.digests_of(folder)
    assert stored["large.txt"] == hashlib.sha256(b"x" * 200_000).hexdigest()

    def found(*, last: bool) -> list[str]:
        return [str(one) for one in digests.differences(folder, digests.seen(folder), stored, {}, last=last)]

    assert found(last=True) == []
    definition.write_text("{ }")
    assert (found(last=True), found(last=False)) == (["trial.json was changed"], [])
    definition.unlink()
    definition.symlink_to("elsewhere")
    assert found(last=True) == ["trial.json is a link, a file of holes or another special file, and is not read"]
    assert found(last=False) == []
