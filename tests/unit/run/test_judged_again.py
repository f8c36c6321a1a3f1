"""Stolen time is judged as the study says, stays as it was judged, and can be judged again for one analysis."""

import asyncio
import json
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import StealRow, TrialRow
from nephoscope.run.derive import evidence_of_machines
from nephoscope.run.study import run_study
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import STUDY, Rehearsal, rehearsal
from tests.support.stored_anew import stored_anew

TWO = STUDY.replace("replicates = 6", "replicates = 2")


def with_steal(folder: Path, text: str = TWO) -> Rehearsal:
    """A finished study whose first trial lost a tenth of its CPU time, which only its telemetry shows so far."""
    study = rehearsal(folder, text=text)
    asyncio.run(run_study(study.folder, study.world))
    attempt = next(study.folder.planned())[1].attempts()[0]
    (telemetry,) = attempt.raw_dir.glob("telemetry-*.jsonl")
    lines = [json.loads(line) for line in telemetry.read_text().splitlines()]
    for line in lines:
        for cpu in line["cpu"]:
            cpu["steal"], cpu["idle"] = cpu["idle"] // 10, cpu["idle"] - cpu["idle"] // 10
    telemetry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    stored_anew(attempt)
    evaluation.parse(study.folder, study.clock)
    return study


def evidence_of(folder: ResultsFolder) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted((folder.path / "trials").rglob("*")) if path.is_file()}


def first(study: AnalysedStudy) -> tuple[VerdictKind | None, float | None, str | None]:
    row = study[TrialRow][0]
    share = None if row.stolen_share is None else round(row.stolen_share, 3)
    return row.verdict, share, row.disturbance


def test_stored_steal_is_judged_again_and_nothing_stored_changes(tmp_path: Path) -> None:
    folder = with_steal(tmp_path / "r").folder
    before = evidence_of(folder)
    assert first(evaluation.analyze(folder)) == (VerdictKind.INVALID, 0.1, "reject")
    recorded = evaluation.analyze(folder, "record")
    assert (first(recorded), recorded.judged_again) == ((VerdictKind.VALID, 0.1, "record"), "record")
    assert [(row.configuration, row.over) for row in recorded[StealRow] if row.over]
    assert evaluation.analysed(folder).judged_again == "record", "reports follow the last analysis"
    assert first(evaluation.analyze(folder)) == (VerdictKind.INVALID, 0.1, "reject")
    assert evidence_of(folder) == before


@pytest.mark.parametrize(("key", "verdict"), [("reject", VerdictKind.INVALID), ("record", VerdictKind.VALID)])
def test_the_key_of_the_study_decides_and_is_stored_with_the_attempt(
    tmp_path: Path, key: str, verdict: VerdictKind
) -> None:
    folder = with_steal(tmp_path / "r", f'disturbance = "{key}"\n{TWO}').folder
    started = next(folder.planned())[1].attempts()[0].started()
    assert started is not None
    assert started.disturbance == key
    assert first(evaluation.analyze(folder)) == (verdict, 0.1, key)


def test_a_burstable_machine_is_known_by_its_type_or_by_what_its_firmware_says(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r", text=TWO.replace("tiny", "t3.micro"))
    asyncio.run(run_study(study.folder, study.world))
    found: dict[str, dict[str, str]] = {}
    for planned, trial in study.folder.planned():
        attempt = trial.attempts()[0]
        found[planned.intent.configuration_name] = evidence_of_machines(attempt, planned.intent, {}).burstable
    assert found == {"small": {"fake-1": "t3.micro"}, "large": {}}
    planned, trial = next(row for row in study.folder.planned() if row[0].intent.configuration_name == "large")
    attempt = trial.attempts()[0]
    (record,) = attempt.facts()
    before = record.before.model_copy(update={"system_vendor": "Amazon EC2", "product": "t4g.small"})
    attempt.write_facts(record.model_copy(update={"before": before}))
    typeless = planned.intent.model_copy(
        update={"configuration": {"name": "large", "provider": "local", "database": {"system": "fake"}}}
    )
    assert evidence_of_machines(attempt, typeless, {}).burstable == {"fake-1": "t4g.small"}
