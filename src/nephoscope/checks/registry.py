"""All checks, in the order of the report, and how they run."""

from collections.abc import Sequence

from nephoscope.checks.expectations import EXPECTATIONS
from nephoscope.checks.generator import GeneratorBound
from nephoscope.checks.inside import CacheServed, EffectiveCpus, Throttled
from nephoscope.checks.interference import ForeignLoad, NotStopped, SamplerCost
from nephoscope.checks.kinds import EqualMachines
from nephoscope.checks.machine import CgroupLimit, ClockOffset, ClockStep, CpuCount, CpuModel, MachineUnchanged, Memory
from nephoscope.checks.operations import (
    Audit,
    ConnectionsKept,
    Consistency,
    Counters,
    DatabaseUnchanged,
    Errors,
    LoadExit,
    PassRule,
    RateKept,
    Replication,
    SearchEnded,
)
from nephoscope.checks.stalls import Stalls
from nephoscope.checks.steal import Steal
from nephoscope.checks.sustained import Sustained
from nephoscope.checks.tools import FaultsConfirmed, ToolExit
from nephoscope.checks.verdicts import Check, overall, unknown
from nephoscope.model.records import Evidence, Verdict

__all__ = ["CHECKS", "overall", "run_checks"]

CHECKS: tuple[Check, ...] = (
    CpuCount(),
    CpuModel(),
    Memory(),
    *EXPECTATIONS,
    EqualMachines(),
    CgroupLimit(),
    ClockOffset(),
    ClockStep(),
    MachineUnchanged(),
    NotStopped(),
    ForeignLoad(),
    Steal(),
    SamplerCost(),
    EffectiveCpus(),
    Throttled(),
    Stalls(),
    CacheServed(),
    ToolExit(),
    LoadExit(),
    Errors(),
    ConnectionsKept(),
    Consistency(),
    Counters(),
    Replication(),
    DatabaseUnchanged(),
    FaultsConfirmed(),
    Audit(),
    RateKept(),
    PassRule(),
    SearchEnded(),
    Sustained(),
    GeneratorBound(),
)


def run_checks(evidence: Evidence, checks: Sequence[Check] = CHECKS) -> list[Verdict]:
    """Runs every check; never raises and never returns an empty list.

    Args:
        evidence: all that is known of one attempt.
        checks: which ones; all by default.

    Returns:
        One verdict for each check that applies. A check that crashed is `unknown`, with its exception; if no check
        applies, there is one `unknown` that says so.
    """
    verdicts = [verdict for check in checks if (verdict := _ask(check, evidence)) is not None]
    return verdicts or [unknown("checks", "no check applies to this attempt")]


def _ask(check: Check, evidence: Evidence) -> Verdict | None:
    try:
        return check(evidence)
    except Exception as error:  # an attempt gets its verdicts whatever a check does
        return unknown(check.name, f"the check crashed: {type(error).__name__}: {error}")
