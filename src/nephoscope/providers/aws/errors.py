"""What EC2's error codes mean for a study; pure. Codes: "Error codes for the Amazon EC2 API" of its API reference."""

from nephoscope.model.errors import (
    CapacityLacking,
    EnvironmentProblem,
    InfrastructureFailure,
    InputError,
    MachineLost,
    MachineUnsupported,
    NephoscopeError,
    QuotaReached,
    Throttled,
)


class NotAllowed(EnvironmentProblem):
    """These credentials may not do that there."""


GONE = frozenset(
    {
        "InvalidInstanceID.NotFound",
        "InvalidVolume.NotFound",
        "InvalidGroup.NotFound",
        "InvalidGroupId.NotFound",
        "InvalidPlacementGroup.Unknown",
    }
)
"""What was to be deleted is deleted. Where it was to be used, EC2 does not know yet of what it has just made."""
IN_USE = frozenset({"DependencyViolation", "VolumeInUse", "InvalidPlacementGroup.InUse", "IncorrectState"})
"""It cannot be deleted yet."""
THERE = frozenset({"InvalidGroup.Duplicate", "InvalidPermission.Duplicate", "InvalidPlacementGroup.Duplicate"})
"""What was to be made is there: an earlier call did it, whose answer was lost."""

_CAPACITY = frozenset(
    {
        "InsufficientCapacity",
        "InsufficientHostCapacity",
        "InsufficientInstanceCapacity",
        "InsufficientReservedInstanceCapacity",
        "InsufficientVolumeCapacity",
        "SpotMaxPriceTooLow",
    }
)
_QUOTA = frozenset(
    {
        "InstanceLimitExceeded",
        "MaxIOPSLimitExceeded",
        "MaxSpotInstanceCountExceeded",
        "ResourceCountExceeded",
        "ResourceLimitExceeded",
        "SecurityGroupLimitExceeded",
        "VcpuLimitExceeded",
        "VolumeLimitExceeded",
    }
)
_THROTTLE = frozenset(
    {
        "EC2ThrottledException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_UNSUPPORTED = frozenset(
    {"InstanceTypeNotSupported", "InvalidInstanceType", "Unsupported", "UnsupportedHostConfiguration"}
)
_FAULTS = frozenset({"InternalError", "InternalFailure", "RequestTimeout", "ServiceUnavailable", "Unavailable"})
_REFUSED = frozenset(
    {
        "AccessDenied",
        "AuthFailure",
        "Blocked",
        "ExpiredToken",
        "InvalidClientTokenId",
        "OptInRequired",
        "PendingVerification",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
    }
)
_ASKED_WRONGLY = ("Invalid", "Missing", "Malformed", "UnknownParameter", "NoDefaultVpc", "VPCIdNotSpecified")

_MEANINGS: tuple[tuple[frozenset[str], type[NephoscopeError], str], ...] = (
    (_CAPACITY, CapacityLacking, ""),
    (_QUOTA, QuotaReached, "ask for more in Service Quotas, or keep fewer clusters: --max-clusters"),
    (_THROTTLE, Throttled, ""),
    (_UNSUPPORTED, MachineUnsupported, "is there such a machine type in this zone?"),
    (_FAULTS | GONE, InfrastructureFailure, ""),
    (_REFUSED, NotAllowed, "`aws sts get-caller-identity` says who you are; docs/how-to/run-on-aws.md what you need"),
)


def of_code(code: str, message: str) -> NephoscopeError:
    """The error that an answer of EC2 means."""
    said = f"AWS says {code}: {message}"
    for codes, meaning, hint in _MEANINGS:
        if code in codes:
            return meaning(said, hint=hint)
    if code.startswith(_ASKED_WRONGLY):
        return InputError(said, hint="look at image, type, zone, subnet and volumes of the study")
    return EnvironmentProblem(said)


def of_state_reason(code: str, message: str) -> NephoscopeError:
    """Why a machine ended that nobody of ours had ended."""
    said = f"AWS ended the machine, {code}: {message}"
    kind, _, what = code.partition(".")
    if kind == "Server" and what in _CAPACITY:
        return CapacityLacking(said)
    if what in _QUOTA:
        return QuotaReached(said)
    if what.startswith("Spot"):
        return MachineLost(said, hint="`spot = false` gives machines that are not taken back")
    return MachineLost(said)
