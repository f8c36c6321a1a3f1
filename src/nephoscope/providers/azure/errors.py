"""What Azure's error codes mean for a study; pure.

The code of an answer may be vague (`Conflict`, `InvalidParameter`), so the codes in its details matter, too, and the
parameter that it is about.
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
    UnknownAnswer,
)
from nephoscope.providers.cloud.answers import CHECK_STUDY, Rule, rule_of
from nephoscope.providers.cloud.order import LATER, NOT_PREEMPTED, OTHER_ZONE, SLOWER

GONE = frozenset({"ResourceGroupNotFound", "ResourceNotFound", "NotFound", "ParentResourceNotFound"})
"""The resource to read or delete does not exist."""

_DEPLOYMENT = "https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors"
_ALLOCATION = "https://learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/allocation-failure"
_MACHINES = "https://learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/error-messages"
_LIMITS = "https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling"
_MORE = "request more in the subscription's quotas, or use fewer clusters: --max-clusters"
_WHO = "`az account show` shows who you are; docs/how-to/run-on-azure.md lists the permissions you need"

RULES = (
    Rule("*Throttled* TooManyRequests* RetryableError OperationPreempted", Throttled, _LIMITS, SLOWER),
    Rule(
        "Authentication* *AuthorizationFailed ExpiredAuthenticationToken InvalidAuthenticationToken* "
        "InvalidSubscriptionId MissingSubscriptionRegistration ReadOnlyDisabledSubscription RequestDisallowedByPolicy "
        "SubscriptionNot*",
        EnvironmentProblem,
        _DEPLOYMENT,
        _WHO,
    ),
    Rule("*Quota* *LimitReached *LimitExceeded *ExceedsLimit* SubnetIsFull", QuotaReached, _DEPLOYMENT, _MORE),
    Rule(
        "*Allocation*Failed* *AllocationRequest *AllocationTimedOut *NotEnoughCapacity* SkuNotAvailable",
        CapacityLacking,
        _ALLOCATION,
        LATER,
    ),
    Rule("*NotSupported Unsupported*", MachineUnsupported, _MACHINES, OTHER_ZONE),
    Rule("*Evicted Preempted", MachinePreempted, _MACHINES, NOT_PREEMPTED),
    Rule(
        "*TimedOut *Timeout *InternalError *InternalServerError *Internal*Error *Unavailable "
        "AnotherOperationInProgress *BeingDeleted",
        InfrastructureFailure,
        _MACHINES,
    ),
)
"""Where none fits, the HTTP status decides: see `of_code`."""


def of_code(
    code: str, status: int | None, message: str, details: tuple[str, ...] = (), target: str = ""
) -> NephoscopeError:
    """The typed error for an answer.

    Args:
        code: Azure's own; empty: it gave none.
        status: of HTTP, if there is one.
        message: its text.
        details: the codes inside it.
        target: the parameter that it is about, such as `vmSize`.
    """
    said = f"Azure answered {code or status}: {message}"
    if status == 429:
        return Throttled(said, hint=SLOWER)
    if code == "OperationNotAllowed" and "quota" in message.lower():
        return QuotaReached(said, hint=_MORE)
    if target.lower().endswith("vmsize") or (code == "InvalidParameter" and "vmsize" in message.lower()):
        return MachineUnsupported(said, hint="check that the region offers this size")
    rule = rule_of(RULES, code, *details)
    return _of_status(status, said) if rule is None else rule.error(said)


def _of_status(status: int | None, said: str) -> NephoscopeError:
    """A conflict (409) is with what Azure does at the moment, and nobody's mistake by itself."""
    if status in {401, 403}:
        return EnvironmentProblem(said, hint=_WHO)
    if status in {400, 404}:
        return InputError(said, hint=CHECK_STUDY)
    if status is not None and (status == 409 or status >= 500):
        return InfrastructureFailure(said)
    return UnknownAnswer(said)
