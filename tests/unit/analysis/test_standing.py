"""Where machines stand among public CPU results, and when nothing may be compared."""

from dataclasses import replace
from typing import Any

import pytest
from scripts.public_cpu_results import results_of

from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.standing import memory_standing, standing_of
from nephoscope.benchmarks.cpu.stress_ng import StressNg, StressNgParameters
from nephoscope.benchmarks.memory.memory import Memory, MemoryParameters
from nephoscope.importers.imported import ImportedTrial, machine
from nephoscope.importers.spare_cores.words import cores_measurements, of_cores
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.prices.catalogue.index import architectures, public_memory, public_results
from nephoscope.report.files import report_files
from tests.unit.analysis.study_builder import inputs, observed, rows

DIV16 = {"stressor": "cpu", "method": "div16", "duration_s": 10}
METRIC = StressNg().metrics(StressNgParameters())[0]
LIKE_N2 = next(one.read_bytes_per_s for one in public_memory() if one.type == "n2-standard-8")
KNOWN = "stress-ng, version 0.17.08 (gcc 12.2.0, x86_64 Linux 6.1.0)"


def analysed(versions: dict[str, str], **parameters: Any) -> AnalysedStudy:
    """Two machines of 8 CPUs: as fast as c5.2xlarge, and half as fast."""
    trials, measurements = rows(
        {"like-c5": [7865.45] * 6, "half": [3932.0] * 6},
        benchmark="div16",
        subject=Subject.CPU,
        metric=METRIC,
        cpus={"like-c5": 8, "half": 8},
    )
    return analysed_rows(trials, measurements, None, versions, **parameters)


def analysed_rows(
    trials: list[TrialRow],
    measurements: list[MeasurementRow],
    online: int | None,
    versions: dict[str, str] | None = None,
    **parameters: Any,
) -> AnalysedStudy:
    """`online`: CPUs of every machine, whether or not they were measured."""
    trials = [row.model_copy(update={"uses": "stress-ng"}) for row in trials]
    machines = [observed(row, cpus_online=online) for row in trials]
    asked: StudyInputs = inputs((trials, measurements), machines=machines)
    benchmark = BenchmarkRow(
        benchmark="div16",
        uses="stress-ng",
        version=1,
        title="CPU",
        parameters=DIV16 | parameters,
        metrics=[METRIC],
        subject=Subject.CPU,
    )
    ran = {row.trial: {"stress-ng": (versions or {}).get(row.configuration, KNOWN)} for row in trials}
    return analyse(replace(asked, benchmarks=[benchmark], versions_of_trials=ran))


def with_memory(online: int) -> AnalysedStudy:
    """A machine that reads as much as n2-standard-8, and one of which half the CPUs were measured."""
    trials, measurements = rows(
        {"like-n2": [LIKE_N2] * 6, "half": [1e9] * 6},
        benchmark="memory",
        subject=Subject.MEMORY,
        metric=next(one for one in Memory().metrics(MemoryParameters()) if one.name == "read-multi.bandwidth"),
        cpus={"like-n2": 8, "half": 4},
    )
    machines = [observed(row, cpus_online=online) for row in trials]
    return analyse(inputs((trials, measurements), machines=machines))


def test_memory_is_placed_where_all_cpus_read_it() -> None:
    found = with_memory(8).standing
    (one,) = found.memory
    assert (one.configuration, one.nearest[0]) == ("like-n2", "n2-standard-8")
    assert one.slower_per_vcpu == sum(row.read_bytes_per_s / row.vcpus < LIKE_N2 / 8 for row in public_memory())
    assert len(found.memory_among) == len(public_memory()) == 158
    assert with_memory(16).standing.memory == []
    assert memory_standing([], {}, public_memory()) == []


def test_machines_are_placed_among_results_of_the_same_version() -> None:
    study = analysed({"like-c5": KNOWN, "half": KNOWN})
    found = study.standing
    assert found is not None
    first, second = found.rows
    assert (first.configuration, first.nearest[0], second.configuration) == ("like-c5", "c5.2xlarge", "half")
    same = [one.per_vcpu_per_s for one in public_results() if one.version == "0.17.08"]
    assert first.slower_per_vcpu == sum(value < 7865.45 / 8 for value in same)
    assert {one.version for one in found.among} == {"0.17.08"}
    page = report_files(study).files["index.html"].decode()
    assert 'id="chapter-standing"' in page
    assert "CC BY-SA 4.0" in page


@pytest.mark.parametrize(
    ("versions", "parameters", "why"),
    [
        (
            "stress-ng, version 0.15.06",
            {},
            "of other versions of stress-ng (0.17.08 and 0.20.01; this study ran 0.15.06)",
        ),
        ("unknown", {}, "not known which version"),
        (KNOWN, {"method": None}, "div16 ran another stressor or method"),
        (KNOWN, {"workers": 1}, "div16 ran another stressor or method"),
    ],
)
def test_what_cannot_be_compared_is_not(versions: str, parameters: dict[str, Any], why: str) -> None:
    study = analysed({"like-c5": versions, "half": versions}, **parameters)
    assert study.standing is not None
    assert study.standing.rows == []
    assert why in str(study.standing.why_not)
    assert ("ran stress-ng 0.17.08: build it" in str(study.standing.then)) == (versions != KNOWN), (
        "the one of most types"
    )
    page = report_files(study).files["index.html"].decode()
    assert "chapter-standing" not in page
    assert (" not placed among cloud types: " in page) == study.standing.is_asked
    assert "build it" not in page, "readers of a report cannot"


def test_without_a_valid_trial_that_is_the_reason_and_not_the_version() -> None:
    benchmark = BenchmarkRow(
        benchmark="div16",
        uses="stress-ng",
        version=1,
        title="CPU",
        parameters=DIV16,
        metrics=[METRIC],
        subject=Subject.CPU,
    )
    found = standing_of([benchmark], [], [], {}, public_results)
    assert (found.rows, str(found.why_not), found.is_asked) == ([], "no trial of div16 is valid", True)


def test_a_machine_with_another_version_is_named() -> None:
    found = analysed({"like-c5": KNOWN, "half": "stress-ng, version 0.15.06"}).standing
    assert found is not None
    assert [row.configuration for row in found.rows] == ["like-c5"]
    assert str(found.why_not) == "not placed, because not measured with stress-ng 0.17.08: half"


def test_the_table_has_types_of_the_catalogue_of_all_three_clouds() -> None:
    found = public_results()
    assert len(found) == 2056
    assert {(one.provider, one.type) for one in found} <= set(architectures())
    assert {one.provider for one in found} == {"aws", "azure", "gcp"}
    assert all(0 < one.one_worker_per_s <= one.per_s * 1.05 for one in found)


def test_the_script_keeps_what_the_importer_accepts() -> None:
    def imported(kind: str, verdict: VerdictKind = VerdictKind.VALID, cpus: int = 2) -> ImportedTrial:
        return ImportedTrial(
            origin=kind,
            machine=machine("aws", kind),
            **of_cores("0.17.08"),
            measurements=cores_measurements({1: 100.0, cpus: 180.0}),
            verdicts=[Verdict(check="cpu-lines", verdict=verdict, reason="")],
            cpus=cpus,
            started_unix_ms=1_727_249_778_000,
            tool_versions={"stress-ng": "0.17.08"},
        )

    trials = [imported("a.large"), imported("b.large", VerdictKind.INVALID), imported("c.large", cpus=4)]
    vcpus = {("aws", f"{letter}.large"): 2 for letter in "abc"}
    (found,) = results_of([*trials, imported("unknown.large")], vcpus)
    assert (found.type, found.per_s, found.one_worker_per_s, found.date) == ("a.large", 180.0, 100.0, "2024-09-25")


@pytest.mark.parametrize(
    ("cpus", "online", "alone", "placed"),
    [(8, 8, False, True), (1, 1, False, True), (1, 8, True, True), (4, 8, False, False), (8, None, False, True)],
)
def test_a_whole_machine_is_compared_with_whole_ones_and_one_worker_with_one(
    cpus: int, online: int | None, alone: bool, placed: bool
) -> None:
    among = [one for one in public_results() if one.version == "0.17.08"]
    like = next(one for one in among if one.type == "c5.2xlarge")
    rate = like.one_worker_per_s if alone else like.per_vcpu_per_s * cpus
    trials, measurements = rows(
        {"a": [rate] * 6}, benchmark="div16", subject=Subject.CPU, metric=METRIC, cpus={"a": cpus}
    )
    study = analysed_rows(trials, measurements, online)
    if not placed:
        assert (study.standing.rows, "a part of their CPUs" in str(study.standing.why_not)) == ([], True)
        return
    (row,) = study.standing.rows
    assert row.alone is alone
    own = like.one_worker_per_s if alone else like.per_vcpu_per_s
    assert row.slower_per_vcpu == sum(one.cpu_per_s(alone=alone) < own for one in among)


def test_the_report_places_memory_with_its_source() -> None:
    page = report_files(with_memory(8)).files["index.html"].decode()
    assert "reads memory faster than a vCPU of" in page
    assert "Where memory stands among cloud types" in page
    assert "membench 1.2.1 and 1.2.2, which is another program" in page
