"""Asking all checks: at least one verdict, no crash gets out, and the worst verdict rules."""

import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.checks.reference import reference
from nephoscope.checks.registry import CHECKS, overall, run_checks
from nephoscope.checks.thresholds import THRESHOLDS
from nephoscope.model.records import (
    Evidence,
    Expected,
    Facts,
    MachineKind,
    OperationEvidence,
    SearchEvidence,
    SustainedEvidence,
    TelemetrySample,
    Verdict,
    VerdictKind,
)
from tests.support.evidence import evidence, facts, operations, sample, telemetry
from tests.support.faulted_load import fault
from tests.support.generated import STALE

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "checks.md"
KINDS = st.sampled_from(list(VerdictKind))
SHARE = st.none() | st.floats(0, 1)
COUNT = st.none() | st.integers(1, 8)
MACHINES = st.sampled_from(["db", "load"])


def verdicts_of(kinds: list[VerdictKind]) -> list[Verdict]:
    return [Verdict(check=str(index), verdict=kind, reason="") for index, kind in enumerate(kinds)]


@given(st.lists(KINDS))
def test_the_worst_verdict_rules(kinds: list[VerdictKind]) -> None:
    expected = (
        VerdictKind.INVALID
        if VerdictKind.INVALID in kinds
        else VerdictKind.UNKNOWN
        if VerdictKind.UNKNOWN in kinds or not kinds
        else VerdictKind.VALID
    )
    assert overall(verdicts_of(kinds)) is expected


@given(st.lists(KINDS, max_size=5), KINDS)
def test_one_more_verdict_never_makes_it_better(kinds: list[VerdictKind], more: VerdictKind) -> None:
    rank = {VerdictKind.VALID: 0, VerdictKind.UNKNOWN: 1, VerdictKind.INVALID: 2}
    if kinds:
        assert rank[overall(verdicts_of([*kinds, more]))] >= rank[overall(verdicts_of(kinds))]


def test_order_does_not_matter() -> None:
    assert len({overall(verdicts_of(list(order))) for order in permutations(VerdictKind)}) == 1


class Crashing:
    name = "crashing"
    text = "Never right."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        raise ZeroDivisionError("of nothing")


class Silent:
    name = "silent"
    text = "Never applies."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        return None


def test_a_crashed_check_is_unknown_with_its_exception() -> None:
    (verdict,) = run_checks(evidence(), [Crashing()])
    assert verdict.check == "crashing"
    assert verdict.verdict is VerdictKind.UNKNOWN
    assert "ZeroDivisionError: of nothing" in str(verdict.reason)


@pytest.mark.parametrize("checks", [[], [Silent()]])
def test_nothing_checked_is_unknown(checks: list[Silent]) -> None:
    assert [v.verdict for v in run_checks(evidence(), checks)] == [VerdictKind.UNKNOWN]


def test_good_evidence_is_valid() -> None:
    found = SearchEvidence(outcome="found", reason="9000 was confirmed")
    kept_up = SustainedEvidence(
        seconds=30, free_bytes=1, free_lost_per_s=0.0, log_per_s=None, cache_hit_share=None, debt_per_s=None
    )
    both = {name: facts(clock_offset_s=0.001, clock_offset_bound_s=0.01)["db"] for name in ("db", "db2")}
    good = evidence(
        operations=operations(search=found, sustained=kept_up),
        facts_before=both,
        facts_after=both,
        measured_cpus={name: ["cpu0", "cpu1"] for name in both},
        telemetry={"db2": [sample()], **telemetry()},
        usual_kind=MachineKind(facts={"numa_nodes": "2"}, alike=2, machines=2),
        replication_before={"standby db2": "streaming"},
        replication_after={"standby db2": "streaming"},
        database_before={"fsync": "on"},
        database_after={"fsync": "on"},
        faults=[fault(1, 2)],
        faults_planned=1,
    )
    verdicts = run_checks(good)
    assert [verdict.check for verdict in verdicts] == [check.name for check in CHECKS]
    assert overall(verdicts) is VerdictKind.VALID


def test_no_evidence_is_never_valid() -> None:
    nothing = Evidence(
        expected=Expected(), facts_before={}, facts_after={}, telemetry={}, commands=[], measured_cpus={}
    )
    assert {verdict.verdict for verdict in run_checks(nothing)} == {VerdictKind.UNKNOWN}


FACTS = st.builds(
    Facts,
    at_unix_ms=st.just(1),
    cpu_model=st.none() | st.text(max_size=3),
    cpus_online=COUNT,
    cpus_allowed=COUNT,
    memory_bytes=COUNT,
    busy_share=SHARE,
    cgroup_cpu_limit=st.none() | st.floats(0.1, 9),
    busy_share_by_cpu=st.dictionaries(st.sampled_from(["cpu0", "cpu1"]), st.floats(0, 1)),
    cgroups_seen=st.none() | st.booleans(),
    disk=st.just(Facts(at_unix_ms=1).disk),
)
SAMPLES = st.builds(
    TelemetrySample,
    at_s=st.just(1.0),
    duration_s=st.floats(0, 10),
    cpu_busy_share=st.just(0.5),
    cpu_user_share=st.just(0.5),
    cpu_system_share=st.just(0.0),
    cpu_iowait_share=st.just(0.0),
    cpu_steal_share=st.floats(0, 1),
    cpus_busy_share=st.dictionaries(st.sampled_from(["cpu0", "cpu1"]), st.floats(0, 1)),
    cpus_steal_share=st.dictionaries(st.sampled_from(["cpu0", "cpu1"]), st.floats(0, 1)),
    disk_read_bytes_per_s=st.none(),
    disk_write_bytes_per_s=st.none(),
    network_receive_bytes_per_s=st.none(),
    network_send_bytes_per_s=st.none(),
    sampler_cpu_share=SHARE,
)
OPERATIONS = st.builds(
    OperationEvidence,
    attempted=st.integers(0, 5),
    failed=st.integers(0, 5),
    client_cpu_share=SHARE,
    broken_conditions=st.lists(st.text(max_size=2), max_size=2),
    conditions_checked=st.integers(0, 3),
    conditions_expected=st.booleans(),
    counters_compared=st.integers(0, 2),
    counters_expected=st.booleans(),
    audits_passed=st.integers(0, 2),
    audits_unjudged=st.integers(0, 2),
    exit_code=st.integers(0, 6),
    disagreeing_counters=st.just([]),
    failed_audits=st.just([]),
    message=st.text(max_size=3),
)
EVIDENCE = st.builds(
    Evidence,
    expected=st.builds(
        Expected,
        cpus=st.just("all") | st.integers(1, 8),
        memory_bytes=COUNT,
        cpu_model_contains=st.none() | st.text(max_size=2),
        co_located=st.booleans(),
    ),
    facts_before=st.dictionaries(MACHINES, FACTS),
    facts_after=st.dictionaries(MACHINES, FACTS),
    telemetry=st.dictionaries(MACHINES, st.lists(SAMPLES, max_size=3)),
    commands=st.just([]),
    operations=st.none() | OPERATIONS,
    measured_cpus=st.dictionaries(MACHINES, st.lists(st.sampled_from(["cpu0", "cpu1"]), unique=True)),
)


@given(EVIDENCE)
def test_no_evidence_crashes_a_check(found: Evidence) -> None:
    verdicts = run_checks(found)
    assert verdicts
    for verdict in verdicts:
        assert "crashed" not in str(verdict.reason)
        assert verdict.reason


def test_names_are_unique_and_texts_are_sentences() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert check.text.endswith(".")
    for threshold in THRESHOLDS.values():
        assert threshold.why


def test_the_reference_page_is_current() -> None:
    assert PAGE.read_text() == reference(), STALE


def test_the_reference_page_is_written_as_it_says() -> None:
    argv = [sys.executable, "-m", "nephoscope.checks.reference"]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == reference()
