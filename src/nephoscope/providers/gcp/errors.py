"""What Compute Engine's errors mean for a study; pure.

Reasons: "Error messages" and "Troubleshooting VM creation" of its documentation; they come with an HTTP answer
(`quotaExceeded`) or with an operation that ended (`QUOTA_EXCEEDED`), and are compared without case and underscores.
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
)
from nephoscope.providers.cloud.order import LATER, OTHER_ZONE, SLOWER

GONE = frozenset({"notfound"})
"""It is already deleted."""
IN_USE = frozenset({"resourceinusebyanotherresource", "resourceinuse", "resourcenotready"})
"""It cannot be deleted yet."""
THERE = frozenset({"alreadyexists", "resourcealreadyexists"})
"""It already exists: an earlier call created it, and its answer was lost."""

_CAPACITY = frozenset(
    {
        "insufficientcapacity",
        "resourcepoolexhausted",
        "stockout",
        "zoneresourcepoolexhausted",
        "zoneresourcepoolexhaustedwithdetails",
    }
)
_THROTTLE = frozenset(
    {
        "concurrentoperationsquotaexceeded",
        "ratelimitexceeded",
        "resourceoperationrateexceeded",
        "toomanyrequests",
        "userratelimitexceeded",
    }
)
_QUOTA = frozenset({"limitexceeded", "quotaexceeded", "resourcequotaexceeded"})
_FAULTS = frozenset({"backenderror", "internalerror", "serviceunavailable"})
_REFUSED = frozenset(
    {
        "accessnotconfigured",
        "authenticationrequired",
        "autherror",
        "billingdisabled",
        "forbidden",
        "iampermissiondenied",
        "permissiondenied",
        "permissionserror",
        "required",
        "servicedisabled",
        "unauthenticated",
    }
)
_UNSUPPORTED = frozenset({"unsupportedoperation"})
_NO_SUCH_TYPE = re.compile(
    r"machine ?type.*(not found|does not exist|not available|not supported)", re.IGNORECASE | re.DOTALL
)
_HINT = "run `gcloud auth application-default login`; docs/how-to/run-on-gcp.md lists the permissions you need"

_MEANINGS: tuple[tuple[frozenset[str], type[NephoscopeError], str], ...] = (
    (_CAPACITY, CapacityLacking, LATER),
    (_THROTTLE, Throttled, SLOWER),
    (_QUOTA, QuotaReached, "request more in the project's quotas, or use fewer clusters: --max-clusters"),
    (_UNSUPPORTED, MachineUnsupported, "check that this machine type supports its disks and options"),
    (_FAULTS, InfrastructureFailure, ""),
    (_REFUSED, EnvironmentProblem, _HINT),
)
_BY_STATUS: tuple[tuple[range, type[NephoscopeError]], ...] = (
    (range(429, 430), Throttled),
    (range(401, 402), EnvironmentProblem),
    (range(403, 404), EnvironmentProblem),
    (range(400, 500), InputError),
    (range(500, 600), InfrastructureFailure),
)


def plain(reason: str) -> str:
    """'zoneresourcepoolexhausted' of 'ZONE_RESOURCE_POOL_EXHAUSTED'."""
    return reason.replace("_", "").lower()


def of_reason(reason: str, status: int | None, message: str) -> NephoscopeError:
    """The typed error for an answer or an ended operation; `status` is the HTTP one, if there is one."""
    said = f"GCP answered {reason or status}: {message}"
    for reasons, meaning, hint in _MEANINGS:
        if plain(reason) in reasons:
            return meaning(said, hint=hint)
    if _NO_SUCH_TYPE.search(message):
        return MachineUnsupported(said, hint=OTHER_ZONE)
    for statuses, meaning in _BY_STATUS:
        if status in statuses:
            hint = "check image, type, zone, subnet and volumes in the study" if meaning is InputError else ""
            return meaning(said, hint=hint)
    return EnvironmentProblem(said)
