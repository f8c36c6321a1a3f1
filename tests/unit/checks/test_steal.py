"""Stolen CPU time: rejected on the user's own machine, recorded on a rented one, sustained where credits are spent."""

from typing import Any

import pytest

from nephoscope.checks.inside import Throttled
from nephoscope.checks.steal import Steal, stolen_share
from nephoscope.model.records import TelemetrySample
from nephoscope.run.resources import resource_use
from tests.support.evidence import evidence, sample


def stolen(*levels: tuple[int, float]) -> list[TelemetrySample]:
    """One sample a second; levels are shares of every CPU, with a little noise."""
    shares = [level + (at % 5 - 2) / 1000 if level else 0.0 for count, level in levels for at in range(count)]
    return [
        sample(cpu_steal_share=share, cpus_steal_share=dict.fromkeys(("cpu0", "cpu1", "cpu2", "cpu3"), share))
        for share in shares
    ]


BURSTABLE = {"burstable": {"db": "t3.micro"}}


@pytest.mark.parametrize(
    ("samples", "changes", "verdict", "reason"),
    [
        (stolen((120, 0.1)), {}, "invalid", "db: 10 % of CPU time was stolen"),
        (stolen((120, 0.1)), {"disturbance": "record"}, "valid", "recorded: the trial counts"),
        (stolen((120, 0.0)), {"disturbance": "record"}, "valid", "db: 0 % of CPU time was stolen"),
        ([], {"disturbance": "record"}, "unknown", "not recorded"),
        (stolen((120, 0.6)), {}, "invalid", "60 %"),
        (
            stolen((120, 0.6)),
            BURSTABLE,
            "valid",
            "60 % of CPU time was stolen at a steady level",
        ),
        (
            stolen((60, 0.0), (60, 0.6)),
            BURSTABLE,
            "invalid",
            "the credits of t3.micro ran out after 1 min 00 s, 0 %",
        ),
        (stolen((120, 0.6)), {**BURSTABLE, "disturbance": "record"}, "valid", "credits spent"),
        (
            stolen((30, 0.6), (30, 0.1)) * 3,
            {**BURSTABLE, "disturbance": "record"},
            "valid",
            "recorded: the trial counts",
        ),
        (stolen((30, 0.6)), BURSTABLE, "invalid", "it takes 60 seconds"),
        (stolen((30, 0.6), (30, 0.1)) * 3, BURSTABLE, "invalid", "not at a steady level"),
    ],
)
def test_verdicts(samples: list[TelemetrySample], changes: dict[str, Any], verdict: str, reason: str) -> None:
    found = Steal()(evidence(telemetry={"db": samples}, **changes))
    assert found.verdict == verdict, found.reason
    assert reason in str(found.reason)


def test_credits_that_run_out_during_a_trial_reject_it_as_throttled_however_steal_is_judged() -> None:
    mixed = evidence(telemetry={"db": stolen((60, 0.0), (60, 0.6))}, disturbance="record", series=[], **BURSTABLE)
    found = Throttled()(mixed)
    assert found is not None
    assert found.verdict == "invalid"
    assert "CPU time left to db (t3.micro): throttled after 1 min 00 s" in str(found.reason)
    spent = Throttled()(evidence(telemetry={"db": stolen((120, 0.6))}, series=[], **BURSTABLE))
    assert spent is not None
    assert spent.verdict == "valid"


def test_the_share_is_that_of_the_mask_or_of_the_machine_whichever_lost_more() -> None:
    one = [sample(cpu_steal_share=0.03, cpus_steal_share={"cpu0": 0.1, "cpu1": 0.0, "cpu2": 0.0})]
    assert stolen_share(one, ["cpu0"]) == 0.1
    assert stolen_share(one, ["cpu1"]) == 0.03
    assert stolen_share([], ["cpu0"]) is None


def test_resources_say_that_the_loss_is_the_baseline_of_a_burstable_machine_alone() -> None:
    spent = {"db": stolen((120, 0.6))}
    (plain,), (burstable,) = (resource_use(spent, {}, kinds) for kinds in ((), ("db",)))
    assert (plain.at_baseline, burstable.at_baseline) == (False, True)
    assert plain.stolen_share == burstable.stolen_share == pytest.approx(0.6)
