"""Stored files that were changed after their trials had ended: named everywhere, and left out of every number."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.analysis import stored
from nephoscope.app.cli import main
from nephoscope.app.commands import fleet
from nephoscope.app.stages import evaluation, verifying
from nephoscope.model.errors import StorageFailed
from nephoscope.model.rows import MeasurementRow, Statistic, TrialRow
from nephoscope.prices.rows import COLUMNS
from nephoscope.run.study import run_study
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import rehearsal
from tests.support.made_results import made_results
from tests.support.stored_anew import as_stored_without_digests

SPEEDS = {"slow": [100.0, 101.0, 102.0, 103.0], "fast": [200.0, 201.0, 202.0, 203.0]}


def attempt_of(folder: ResultsFolder, configuration: str = "slow", replicate: int = 1) -> Attempt:
    return next(
        trial.attempts()[0]
        for planned, trial in folder.planned()
        if (planned.intent.configuration_name, planned.intent.replicate) == (configuration, replicate)
    )


def seven_times(attempt: Attempt) -> None:
    path = attempt.folder / "measurements.jsonl"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "value": 7 * said["value"]}) + "\n")


def emptied(attempt: Attempt) -> None:
    (attempt.folder / "measurements.jsonl").write_bytes(b"")


def without_facts(attempt: Attempt) -> None:
    shutil.rmtree(attempt.folder / "facts")


def fewer_verdicts(attempt: Attempt) -> None:
    (attempt.folder / "verdict.json").write_text("[]")


def another_machine(attempt: Attempt) -> None:
    (attempt.folder / "facts" / "other.json").write_bytes((attempt.folder / "facts" / "slow.json").read_bytes())


def another_configuration(attempt: Attempt) -> None:
    path = attempt.folder.parents[1] / "trial.json"
    path.write_text(path.read_text().replace('"slow"', '"fast"'))


DAMAGE: dict[str, Callable[[Attempt], None]] = {
    "measurements.jsonl was changed": seven_times,
    "measurements.jsonl  was changed": emptied,
    "facts/slow.json is missing": without_facts,
    "verdict.json was changed": fewer_verdicts,
    "facts/other.json was added": another_machine,
    "trial.json was changed": another_configuration,
}


@pytest.mark.parametrize(("said", "damage"), DAMAGE.items())
def test_an_altered_trial_is_named_with_its_file_and_enters_no_number(
    tmp_path: Path, said: str, damage: Callable[[Attempt], None]
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    said = said.replace("  ", " ")
    evaluation.analyze(folder)
    assert all(row.counts for row in evaluation.status(folder)), "and remembers it"
    attempt = attempt_of(folder)
    damage(attempt)
    study = evaluation.analysed(folder)
    (altered,) = [row for row in study[TrialRow] if row.state == "altered"]
    assert [*map(str, altered.reasons)] == [said]
    assert altered.configuration == "slow"
    assert altered.trial not in {row.trial for row in study[MeasurementRow]}
    (slow,) = [row for row in study[Statistic] if row.configuration == "slow" and not row.per_cpu]
    assert (slow.n, slow.minimum) == (3, 101.0)
    assert any(said in str(one.text) and one.kind == "warning" for one in study.insights)
    assert [row for row in evaluation.status(folder) if row.state == "altered"] == [altered]
    found = verifying.verify(folder)
    assert [one.rsplit("attempts/1/", 1)[-1] for one in found.differences] == [said]


def test_an_untouched_folder_is_verified_and_nothing_of_it_is_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    found = verifying.verify(folder)
    assert (found.attempts, found.differences, found.without_digests) == (8, [], 0)
    monkeypatch.setattr(Attempt, "differences", lambda attempt, _: pytest.fail(f"{attempt.folder} is read again"))
    rows = evaluation.status(folder)
    assert all(row.counts for row in rows)
    monkeypatch.setattr(Attempt, "started", lambda attempt: pytest.fail(f"{attempt.folder} is read again"))
    monkeypatch.setattr(ResultsFolder, "plan", lambda _: pytest.fail("the plan is read again"))
    assert evaluation.status(folder) == rows
    monkeypatch.undo()
    for name in ("verified.json", "index.json"):
        (folder.path / name).write_text("[" * 100_000)
    assert evaluation.status(folder) == rows, "what was remembered can be lost or damaged"
    assert evaluation.status_and_spent(folder, 0) == (rows, None), "the fake provider has no prices"
    evaluation.analyze(folder)
    verifying.verify(folder)
    assert not (folder.path / "index.json").exists(), "verify may find what looks unchanged"


def test_a_report_after_an_analysis_reads_no_trial_until_a_file_of_one_looks_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    index = folder.path / "index.json"

    def made_from() -> str:
        return str(json.loads(index.read_text())["analysed"]["stamp"])

    evaluation.analyze(folder)
    stored = evaluation.analysed(folder)
    monkeypatch.setattr(Attempt, "committed", lambda attempt: pytest.fail(f"{attempt.folder} is read again"))
    assert evaluation.analysed(folder) == stored
    monkeypatch.undo()
    for damage in (Path.unlink, lambda path: path.write_text("[" * 100_000)):
        damage(index)
        assert evaluation.analysed(folder) == stored, "what was remembered can be lost or damaged"
        assert index.stat().st_size < 1000, "and is remembered again"
    stamps = [made_from()]
    seven_times(attempt_of(folder))
    assert [row.state for row in evaluation.analysed(folder)[TrialRow]].count("altered") == 1
    stamps.append(made_from())
    (folder.path / "prices.csv").write_text(f"{','.join(COLUMNS)}\n")
    evaluation.analysed(folder)
    assert len({*stamps, made_from()}) == 3, "each time it is made from other files"


def test_tables_that_came_with_a_copy_are_made_again_whatever_their_digests_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    honest = evaluation.analyze(folder)
    copy = ResultsFolder(Path(shutil.copytree(folder.path, tmp_path / "copy")))
    forged = honest.model_copy(update={"title": "forged"})
    stored.write(copy, forged)
    assert not verifying.verify(copy).differences
    assert evaluation.analysed(copy).title == honest.title
    stored.write(copy, forged)
    (copy.path / "index.json").unlink()

    def full(*_: object) -> None:
        raise StorageFailed("the disk is full")

    def never(*_: object) -> None:
        pytest.fail("a few bytes of a stranger's Parquet can stand for a billion values")

    monkeypatch.setattr(stored, "write", full)
    monkeypatch.setattr(stored, "from_parquet", never)
    assert evaluation.analysed(copy).title == honest.title


def test_verify_reads_every_file_again_even_if_its_times_were_set_back(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    assert not verifying.verify(folder).differences
    path = attempt_of(folder).folder / "measurements.jsonl"
    before, content = path.stat(), path.read_text()
    path.write_text(content.replace("100.0", "900.0"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(verifying.verify(folder).differences) == 1


def test_attempts_of_an_earlier_nephoscope_count_and_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    for replicate in (1, 2):
        as_stored_without_digests(attempt_of(folder, replicate=replicate))
    emptied(attempt_of(folder, replicate=2))
    study = evaluation.analyze(folder)
    assert {row.state for row in study[TrialRow]} == {"finished"}
    assert any("2 of 8 trials were stored without digests" in str(one.text) for one in study.insights)
    assert main(["verify", str(folder.path)]) == 0
    assert "2 attempts cannot be checked" in capsys.readouterr().out


def test_verify_ends_with_8_and_names_every_file_also_a_commit_mark_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    assert main(["verify", str(folder.path)]) == 0
    assert "8 attempts with" in capsys.readouterr().out
    emptied(attempt_of(folder))
    (attempt_of(folder, "fast").folder / "status.json").write_text("[" * 200_000)
    assert main(["verify", str(folder.path)]) == 8
    said = capsys.readouterr()
    assert "/attempts/1/measurements.jsonl was changed" in said.out
    assert "status.json" in said.out
    assert "2 stored files" in said.err


def test_parse_repairs_derived_files_says_what_differed_and_keeps_what_was_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = rehearsal(tmp_path / "r")
    asyncio.run(run_study(study.folder, study.world))
    folder = study.folder
    assert evaluation.parse(folder, study.clock).differ == {}
    assert not list(folder.path.rglob("derived")), "nothing differs, so nothing is stored"
    planned, trial = next(folder.planned())
    attempt = trial.attempts()[0]
    stored = attempt.measurements()
    seven_times_first(attempt)
    changed = (attempt.folder / "measurements.jsonl").read_bytes()
    assert evaluation.status(folder)[0].state == "altered"
    assert main(["parse", str(folder.path)]) == 0
    assert f"measurements.jsonl of {planned.intent.id} differs from what was stored" in capsys.readouterr().err
    assert (attempt.folder / "measurements.jsonl").read_bytes() == changed
    assert attempt.measurements() == stored
    assert evaluation.status(folder)[0].counts
    (left,) = verifying.verify(folder).differences
    assert left.endswith("measurements.jsonl was changed (no longer used: it was derived again)")
    assert evaluation.parse(folder, study.clock).differ == {}
    (attempt.folder / "derived" / "measurements.jsonl").write_bytes(changed)
    assert [*map(str, evaluation.status(folder)[0].reasons)] == ["derived/measurements.jsonl was changed"]
    evaluation.parse(folder, study.clock)
    assert attempt.measurements() == stored


def seven_times_first(attempt: Attempt) -> None:
    first, *others = attempt.measurements()
    attempt.write_measurements([first.model_copy(update={"value": 7 * first.value}), *others])


def test_altered_raw_output_stays_altered_however_often_it_is_parsed(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r")
    asyncio.run(run_study(study.folder, study.world))
    _, trial = next(study.folder.planned())
    raw = trial.attempts()[0].raw_dir / "fake.stdout"
    raw.write_bytes(raw.read_bytes().replace(b'"rate": ', b'"rate": 9'))
    assert evaluation.parse(study.folder, study.clock).differ["measurements.jsonl"] == [trial.folder.name]
    assert [*map(str, evaluation.status(study.folder)[0].reasons)] == ["raw/fake.stdout was changed"]


def test_status_of_a_large_study_is_a_summary_with_altered_trials_first_and_rows_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fleet, "MAX_ROWS", 3)
    monkeypatch.setattr(fleet, "MAX_REASONS", 1)
    folder = made_results(tmp_path / "r", {"slow": ["busy", "busy"], "fast": [200.0, 201.0]})
    emptied(attempt_of(folder, "fast", 2))
    assert main(["status", str(folder.path)]) == 0
    first, more, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("altered: measurements.jsonl was changed")
    assert more == "2 more reasons: see the report, or --json"
    assert last == "4 trials: 1 altered, 3 finished: 1 valid, 2 rejected"
    assert main(["status", str(folder.path), "--rows"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_an_analysis_that_was_altered_is_named_and_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_results(tmp_path / "r", SPEEDS)
    before = evaluation.analyze(folder)
    document, table = folder.analysis_path, folder.path / "statistics.parquet"
    assert main(["verify", str(folder.path)]) == 0
    for path, damaged in (
        (document, document.read_bytes().replace(b"fast", b"slow")),
        (table, (folder.path / "comparisons.parquet").read_bytes()),
        (table, b""),
    ):
        path.write_bytes(damaged)
        assert main(["verify", str(folder.path)]) == 8
        assert f"{path.name} was changed since `analyze` wrote it" in capsys.readouterr().out
        assert evaluation.analysed(folder) == before
        assert main(["verify", str(folder.path)]) == 0
