"""What Azure's error codes mean for a study; pure.

Codes: "Troubleshoot common Azure deployment errors" and "Resource Manager throttling" of its documentation. The code of
an answer may be vague (`Conflict`), so the codes in its details matter, too.
"""

from nephoscope.model.errors import (
    CapacityLacking,
    EnvironmentProblem,
    InfrastructureFailure,
    InputError,
    MachinePreempted,
    MachineUnsupported,
    NephoscopeError,
    QuotaReached,
    Throttled,
)
from nephoscope.providers.cloud.order import LATER, NOT_PREEMPTED, SLOWER

GONE = frozenset({"ResourceGroupNotFound", "ResourceNotFound", "NotFound", "ParentResourceNotFound"})
"""The resource to read or delete does not exist."""

_CAPACITY = frozenset(
    {
        "AllocationFailed",
        "OverconstrainedAllocationRequest",
        "OverconstrainedZonalAllocationRequest",
        "SkuNotAvailable",
        "SpotAllocationFailed",
        "ZonalAllocationFailed",
    }
)
_QUOTA = frozenset(
    {
        "OverQuota",
        "PublicIPCountLimitReached",
        "QuotaExceeded",
        "ResourceCountExceedsLimitDueToTemplate",
        "ResourceQuotaExceeded",
        "SubnetIsFull",
    }
)
_THROTTLE = frozenset(
    {
        "OperationPreempted",
        "ResourceCollectionRequestsThrottled",
        "RetryableError",
        "SubscriptionRequestsThrottled",
        "TooManyRequests",
    }
)
_UNSUPPORTED = frozenset(
    {"NotSupported", "SkuNotSupported", "VMSizeNotSupported", "VirtualMachineSizeNotSupported", "UnsupportedVMSize"}
)
_EVICTED = frozenset({"Evicted", "Preempted", "VMEvicted"})
_FAULTS = frozenset(
    {
        "AnotherOperationInProgress",
        "InternalExecutionError",
        "InternalOperationError",
        "InternalServerError",
        "NetworkingInternalOperationError",
        "OperationTimedOut",
        "ResourceGroupBeingDeleted",
        "ServerTimeout",
        "ServiceUnavailable",
    }
)
_REFUSED = frozenset(
    {
        "AuthenticationFailed",
        "AuthorizationFailed",
        "ExpiredAuthenticationToken",
        "InvalidAuthenticationToken",
        "InvalidSubscriptionId",
        "LinkedAuthorizationFailed",
        "MissingSubscriptionRegistration",
        "ReadOnlyDisabledSubscription",
        "RequestDisallowedByPolicy",
        "SubscriptionNotFound",
    }
)
_MORE = "request more in the subscription's quotas, or use fewer clusters: --max-clusters"
_HINT = "`az account show` shows who you are; docs/how-to/run-on-azure.md lists the permissions you need"

_MEANINGS: tuple[tuple[frozenset[str], type[NephoscopeError], str], ...] = (
    (_CAPACITY, CapacityLacking, LATER),
    (_QUOTA, QuotaReached, _MORE),
    (_THROTTLE, Throttled, SLOWER),
    (_UNSUPPORTED, MachineUnsupported, "check that the zone offers this size, or list zones that do in `other_zones`"),
    (_EVICTED, MachinePreempted, NOT_PREEMPTED),
    (_FAULTS, InfrastructureFailure, ""),
    (_REFUSED, EnvironmentProblem, _HINT),
)


def of_code(code: str, status: int | None, message: str, details: tuple[str, ...] = ()) -> NephoscopeError:
    """The typed error for an answer; `details` are the codes inside it, `status` the HTTP one, if there is one."""
    said = f"Azure answered {code or status}: {message}"
    if status == 429:
        return Throttled(said, hint=SLOWER)
    if code == "OperationNotAllowed" and "quota" in message.lower():
        return QuotaReached(said, hint=_MORE)
    for codes, meaning, hint in _MEANINGS:
        if codes.intersection((code, *details)):
            return meaning(said, hint=hint)
    return _of_status(code, status, said, message)


def _of_status(code: str, status: int | None, said: str, message: str) -> NephoscopeError:
    if code == "InvalidParameter" and "vmsize" in message.lower():
        return MachineUnsupported(said, hint="check that the region offers this size")
    if status in {401, 403}:
        return EnvironmentProblem(said, hint=_HINT)
    if status is not None and status >= 500:
        return InfrastructureFailure(said)
    if status is not None and status in {400, 404, 409}:
        return InputError(said, hint="check image, type, zone, subnet and volumes in the study")
    return EnvironmentProblem(said)
