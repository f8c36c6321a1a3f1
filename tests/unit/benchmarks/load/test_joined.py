"""Several outputs of the load generator as one: each name once, and nothing bad lost among the good."""

from dataclasses import replace
from typing import Any

import pytest

from nephoscope.benchmarks.load.contract import AuditLine, ConditionResult, CounterResult, ErrorCount
from nephoscope.benchmarks.load.output import LoadOutput, evidence, joined, read
from nephoscope.model.errors import OutputUnreadable
from tests.unit.benchmarks.search.test_highest_load import RECORDED


def output(**finished: Any) -> LoadOutput:
    recorded = read(RECORDED["point-001.stdout"])
    return replace(recorded, finished=recorded.finished.model_copy(update=finished))


def audit(observed: float, draws: int, passed: bool | None) -> AuditLine:
    return AuditLine(name="home", observed=observed, low=0.0, high=0.5, draws=draws, passed=passed)


@pytest.mark.parametrize(
    ("passed", "together"),
    [((True, True), True), ((True, None), None), ((None, None), None), ((True, False), False), ((False, None), False)],
)
def test_an_audit_passes_when_all_of_it_did(passed: tuple[bool | None, ...], together: bool | None) -> None:
    one = joined([output(audit=[audit(0.1, 10, each)]) for each in passed])
    assert [line.passed for line in one.finished.audit] == [together]


def test_an_audit_is_the_mean_over_draws_and_what_failed_stands_as_it_was() -> None:
    one = joined([output(audit=[audit(0.25, 30, passed=True)]), output(audit=[audit(0.5, 10, passed=True)])])
    assert one.finished.audit == [audit(0.3125, 40, passed=True)]
    one = joined([output(audit=[audit(0.1, 30, passed=True)]), output(audit=[audit(0.6, 10, passed=False)])])
    assert evidence(one, 1).failed_audits == ["home: 0.6 outside 0..0.5"]
    assert joined([output(audit=[audit(0.0, 0, passed=None)])] * 2).finished.audit == [audit(0.0, 0, passed=None)]


def test_errors_conditions_and_counters_are_told_once() -> None:
    error = ErrorCount(operation="payment", sqlstate="40001", kind="retried", count=2)
    other = error.model_copy(update={"kind": "failed"})
    holds = ConditionResult(number=1, text="sums", holds=True, violations=0, example=None)
    broken = holds.model_copy(update={"holds": False, "violations": 3, "example": "row 7"})
    agrees = CounterResult(name="payments", server=5, client=5, in_doubt=0, agrees=True)
    less, more = (agrees.model_copy(update={"server": server, "agrees": False}) for server in (4, 6))
    good = output(errors=[error], conditions=[holds], counters=[agrees])
    one = joined([good, good]).finished
    assert one.errors == [error.model_copy(update={"count": 4})]
    assert one.conditions == [holds]
    assert one.counters == [agrees.model_copy(update={"server": 10, "client": 10})]
    bad = joined([good, output(errors=[other], conditions=[broken], counters=[less]), output(counters=[more])])
    found = evidence(bad, 1)
    assert [(row.kind, row.count) for row in found.errors] == [("retried", 2), ("failed", 2)]
    assert found.broken_conditions == ["1: sums"]
    assert found.disagreeing_counters == ["payments: server 4, client 5"]


def test_nothing_cannot_be_joined() -> None:
    with pytest.raises(OutputUnreadable, match="no output"):
        joined([])
