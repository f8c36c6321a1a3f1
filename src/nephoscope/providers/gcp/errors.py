"""What Compute Engine's errors mean for a study; pure.

Reasons come with an HTTP answer (`quotaExceeded`) or with an operation that ended (`QUOTA_EXCEEDED`), and are compared
without case and underscores.
"""

import re

from nephoscope.model.errors import (
    CapacityLacking,
    EnvironmentProblem,
    InfrastructureFailure,
    InputError,
    MachineUnsupported,
    NephoscopeError,
    QuotaReached,
    Throttled,
    UnknownAnswer,
)
from nephoscope.providers.cloud.answers import CHECK_STUDY, Rule, rule_of
from nephoscope.providers.cloud.order import LATER, OTHER_ZONE, SLOWER

GONE = frozenset({"notfound"})
"""It is already deleted."""
IN_USE = frozenset({"resourceinusebyanotherresource", "resourceinuse", "resourcenotready"})
"""It cannot be deleted yet."""
THERE = frozenset({"alreadyexists", "resourcealreadyexists"})
"""It already exists: an earlier call created it, and its answer was lost."""

_ANSWERS = "https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation"
_RESOURCES = "https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-availability"
_RATES = "https://cloud.google.com/compute/api-quota"
_WHO = "run `gcloud auth application-default login`; docs/how-to/run-on-gcp.md lists the permissions you need"

RULES = (
    Rule(
        "*rateexceeded *ratelimitexceeded toomanyrequests* concurrentoperationsquotaexceeded", Throttled, _RATES, SLOWER
    ),
    Rule("*poolexhausted* *stockout* insufficient*capacity*", CapacityLacking, _RESOURCES, LATER),
    Rule(
        "*quotaexceeded *limitexceeded *quota*limit*",
        QuotaReached,
        _ANSWERS,
        "request more in the project's quotas, or use fewer clusters: --max-clusters",
    ),
    Rule("unsupported*", MachineUnsupported, _ANSWERS, "check that this machine type supports its disks and options"),
    Rule("backenderror internal* *unavailable *deadlineexceeded aborted", InfrastructureFailure, _ANSWERS),
    Rule(
        "accessnotconfigured auth* billing* forbidden *permission* required servicedisabled unauthenticated",
        EnvironmentProblem,
        _ANSWERS,
        _WHO,
    ),
)
"""Where none fits, the message and the HTTP status decide: see `of_reason`."""
_NO_SUCH_TYPE = re.compile(
    r"machine ?type.*(not found|does not exist|not available|not supported)", re.IGNORECASE | re.DOTALL
)
_NOT_NOW = re.compile(r"enough resources available|currently unavailable", re.IGNORECASE)
_BY_STATUS: tuple[tuple[range, type[NephoscopeError], str], ...] = (
    (range(429, 430), Throttled, SLOWER),
    (range(401, 402), EnvironmentProblem, _WHO),
    (range(403, 404), EnvironmentProblem, _WHO),
    (range(408, 410), InfrastructureFailure, ""),
    (range(400, 500), InputError, CHECK_STUDY),
    (range(500, 600), InfrastructureFailure, ""),
)


def plain(reason: str) -> str:
    """'zoneresourcepoolexhausted' of 'ZONE_RESOURCE_POOL_EXHAUSTED'."""
    return reason.replace("_", "").lower()


def of_reason(reason: str, status: int | None, message: str) -> NephoscopeError:
    """The typed error for an answer or an ended operation; `status` is the HTTP one, if there is one."""
    said = f"GCP answered {reason or status}: {message}"
    rule = rule_of(RULES, plain(reason))
    if rule is not None:
        return rule.error(said)
    if _NO_SUCH_TYPE.search(message):
        return MachineUnsupported(said, hint=OTHER_ZONE)
    if _NOT_NOW.search(message):
        return CapacityLacking(said, hint=LATER)
    for statuses, meaning, hint in _BY_STATUS:
        if status in statuses:
            return meaning(said, hint=hint)
    return UnknownAnswer(said)
