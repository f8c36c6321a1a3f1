"""Which rejected trials may be measured again, and why. Pure.

Repeating a trial until it passes selects results, unless what rejected it has nothing to do with what it measured. So
each check says what its rejection is about:

- something outside the trial that passes: the trial is repeated;
- the machine that the trial happened to get: it is repeated if the repeat gets another machine;
- a setting or a tool that somebody must change first: it is repeated on request;
- how the trial itself went: it is never repeated for that. Where something outside it explains the trial, too, that
  alone is reason enough, and how the trial went does not matter;
- a wrong result: it is never repeated, whatever else happened.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nephoscope.model.placement import NEW_MACHINES
from nephoscope.model.records import Verdict, VerdictKind


class Cause(StrEnum):
    """What a rejection is about, and so what a repeat is worth."""

    LOAD = "after waiting until the machine is quiet"
    """Work of others on the machine: it may pass."""
    ACCIDENT = "yes"
    """An event outside the trial: it passes."""
    HOST = "on your own machines; never on rented ones"
    """The host of a virtual machine: an accident on the user's own, a part of what is bought on a rented one."""
    MACHINE = "if the repeat gets another machine"
    """Not the machine that the study expects."""
    SETTING = "on request, once it is changed"
    """The same again until somebody changes it."""
    OUTCOME = "no, unless the trial was disturbed as well"
    """How the trial went, which is what it measures."""
    WRONG = "never"
    """A result that is wrong: something to look at."""


@dataclass(frozen=True)
class Policy:
    """One row of the table."""

    cause: Cause
    why: str
    """Why it is repeated, or not; a clause that follows the check's name."""
    advice: str = ""
    """What the user can do if a repeat alone does not help; a whole sentence without its full stop."""


_EXPECTED = "the machine is not what the study expects"
_CHANGE_MACHINE = "Use a machine that meets the expectation, or correct the study"
_NOT_AS_SET_UP = "the machine is not set up as the study requires, and a repeat would not change that"
_SLOW = "this is what the machine delivered"
_WRONG_RESULT = "a wrong result is a defect, which a repeat would hide"

POLICIES: Mapping[str, Policy] = {
    "cpu-count": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "cpu-model": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "memory": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "sockets": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "numa-nodes": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "cpu-cache": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "disk-size": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "disk-kind": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "equal-machines": Policy(
        Cause.MACHINE,
        "most machines of the configuration are of another kind",
        "Look for a zone or a CPU platform with one kind, or compare the kinds as configurations of their own",
    ),
    "filesystem": Policy(Cause.SETTING, _NOT_AS_SET_UP, "Change the filesystem of the data folder, or the study"),
    "mount-options": Policy(Cause.SETTING, _NOT_AS_SET_UP, "Mount the data folder as the study requires"),
    "clock-source": Policy(Cause.MACHINE, _EXPECTED, _CHANGE_MACHINE),
    "kernel": Policy(Cause.SETTING, "the image decides the kernel", "Boot that kernel, or correct the study"),
    "cgroup-limit": Policy(Cause.SETTING, "the limit stays until somebody removes it", "Lift the limit of the cgroup"),
    "clock-offset": Policy(
        Cause.SETTING,
        "a clock that is off stays off",
        "Set the clocks, for example by chronyc makestep",
    ),
    "clock-step": Policy(Cause.ACCIDENT, "somebody set the clock during the trial, whatever its result"),
    "machine-unchanged": Policy(Cause.ACCIDENT, "the machine changed during the trial, whatever its result"),
    "not-stopped": Policy(Cause.ACCIDENT, "somebody stopped it, whatever the trial's result"),
    "foreign-load": Policy(
        Cause.LOAD, "others used the machine, whatever the trial's result", "Stop the programs that it names"
    ),
    "steal": Policy(
        Cause.HOST,
        "lost CPU time is an accident on your own machine, and a part of what you pay for on a rented one",
        "Use machines that lose less, or record steal instead of rejecting it",
    ),
    "sampler-cost": Policy(
        Cause.OUTCOME,
        "the sampler costs more on a slower machine",
        "Use a larger machine, or a longer trial",
    ),
    "effective-cpus": Policy(Cause.OUTCOME, _SLOW, "Look for a CPU limit below the machine"),
    "throttled": Policy(Cause.OUTCOME, _SLOW, "Measure long enough that the sustained rate decides"),
    "stalls": Policy(
        Cause.OUTCOME, "a server may also wait for itself", "See its log, and what else could stop or freeze it"
    ),
    "cache-served": Policy(
        Cause.SETTING, "the same files fit into the same cache again", "Use larger files, or direct I/O"
    ),
    "tool-exit": Policy(
        Cause.SETTING, "a command that failed fails again until its cause is fixed", "See what the command printed"
    ),
    "generator-exit": Policy(Cause.OUTCOME, _SLOW, "See the load generator's message"),
    "errors": Policy(Cause.OUTCOME, _SLOW, "See the errors in the report and the log of the database"),
    "connections-kept": Policy(
        Cause.SETTING,
        "what ended a connection may end it again, and a server that crashed is a finding",
        "See the database's log; lift limits of idle time on the server and between, or record lost connections",
    ),
    "consistency": Policy(Cause.WRONG, _WRONG_RESULT, "Check the database's log"),
    "counters": Policy(Cause.WRONG, _WRONG_RESULT, "Check the database's log"),
    "faults-confirmed": Policy(Cause.OUTCOME, "a server that does not come back from a fault is a result"),
    "replication": Policy(Cause.WRONG, "a lost copy is a finding about the database", "Check the servers' logs"),
    "database-unchanged": Policy(
        Cause.SETTING,
        "only you can tell whether somebody changed it or it did so by itself, which a repeat would hide",
        "See the database's log for who restarted or changed it",
    ),
    "audit": Policy(Cause.WRONG, _WRONG_RESULT, "Report it: the workload did not draw what it should"),
    "rate-kept": Policy(Cause.OUTCOME, _SLOW, "Lower the rate"),
    "pass-rule": Policy(Cause.OUTCOME, _SLOW, "Use fewer warehouses"),
    "search-ended": Policy(Cause.OUTCOME, _SLOW, "See the reason, and widen the search"),
    "sustained": Policy(Cause.OUTCOME, _SLOW, "Use a larger disk"),
    "generator-bound": Policy(
        Cause.OUTCOME,
        "the load generator was the limit, and would be again",
        "Give the load machine more CPUs, or use more load machines",
    ),
}
"""For every check; a test compares it with the registry."""

OF_EVENTS: Mapping[str, Policy] = {
    "stop": Policy(Cause.ACCIDENT, "the load generator was stopped from outside, whatever the trial's result")
}
"""By kind of event: instead of the row of a check that rejects a trial for one which the trial did not cause itself."""
_OTHERS = Policy(Cause.SETTING, "nothing suggests that a repeat would help", "See the reason")
_MISSING = Policy(
    Cause.SETTING, "evidence that is missing once is usually missing again", "Make sure that it can be observed"
)


OWN_PROVIDERS = frozenset({"local", "emulated", "ssh"})
"""Providers whose machines exist before a trial and after it: the user's own, unless `rented` says otherwise."""


@dataclass(frozen=True)
class Circumstances:
    """Where a trial ran, as far as it decides what a repeat is worth."""

    own_machine: bool
    """It is the user's own and not rented."""
    other_machine: bool
    """A repeat gets a machine that is created for it."""

    @classmethod
    def of(cls, configuration: Mapping[str, Any], placement: str) -> "Circumstances":
        """Of a trial's configuration, as a study writes it, and the study's placement."""
        own = configuration.get("provider", "local") in OWN_PROVIDERS
        return cls(own and not configuration.get("rented"), not own and placement in NEW_MACHINES)


@dataclass(frozen=True)
class Repair:
    """What can be done about a trial that does not count."""

    checks: tuple[str, ...]
    """The checks that decide this, in the order of their verdicts; all of the same cause."""
    cause: Cause
    repeat: bool
    """A repeat is sound, and may help."""
    on_request: bool
    """It is repeated only when somebody says that the cause is gone."""
    why: str
    advice: str = ""

    @property
    def wait_for_quiet(self) -> bool:
        """The machine should be quiet before the repeat starts."""
        return self.repeat and self.cause is Cause.LOAD


_ORDER = (Cause.WRONG, Cause.SETTING, Cause.LOAD, Cause.ACCIDENT, Cause.HOST, Cause.MACHINE, Cause.OUTCOME)
"""The first cause in this order decides: what forbids a repeat before what asks for one."""


def policy_of(check: str) -> Policy:
    """The row of a check; checks of imports and unknown ones are not repeated by themselves."""
    return POLICIES.get(check, _OTHERS)


def repair_of(verdicts: Sequence[Verdict], where: Circumstances, repaired: Collection[str] = ()) -> Repair | None:
    """What can be done about a trial with these verdicts; `None`: it is valid.

    Evidence that is missing (`unknown`) neither asks for a repeat nor forbids one.

    Args:
        verdicts: of one attempt.
        where: it ran.
        repaired: checks whose cause somebody says is gone: what waited for that is repeated, missing evidence as well.
    """
    missing = [row.check for row in verdicts if row.verdict is VerdictKind.UNKNOWN]
    policies = {row.check: _policy(row) for row in verdicts if row.verdict is VerdictKind.INVALID}
    if verdicts and not policies and not missing:
        return None
    found = [(name, _cause(name, policy.cause, where, repaired), policy) for name, policy in policies.items()]
    cause = next((one for one in _ORDER if any(one is other for _, other, _ in found)), None)
    told = [name for name in missing if name in repaired]
    if cause in {None, Cause.OUTCOME} and told:
        return Repair(tuple(told), Cause.ACCIDENT, repeat=True, on_request=False, why="it can be observed now")
    if cause is None:
        return Repair(
            tuple(missing), Cause.SETTING, repeat=False, on_request=True, why=_MISSING.why, advice=_MISSING.advice
        )
    decisive = [(name, policy) for name, other, policy in found if other is cause]
    _, policy = decisive[0]
    return Repair(
        checks=tuple(name for name, _ in decisive),
        cause=cause,
        repeat=cause in {Cause.LOAD, Cause.ACCIDENT, Cause.HOST, Cause.MACHINE},
        on_request=cause is Cause.SETTING,
        why=policy.why,
        advice=policy.advice,
    )


def _policy(row: Verdict) -> Policy:
    return next((OF_EVENTS[event.kind] for event in row.events if event.kind in OF_EVENTS), policy_of(row.check))


def _cause(check: str, cause: Cause, where: Circumstances, repaired: Collection[str]) -> Cause:
    """As it is where the trial ran."""
    if cause is Cause.MACHINE and not where.other_machine:
        cause = Cause.SETTING
    if cause is Cause.HOST and not where.own_machine:
        return Cause.WRONG
    return Cause.ACCIDENT if cause is Cause.SETTING and check in repaired else cause
