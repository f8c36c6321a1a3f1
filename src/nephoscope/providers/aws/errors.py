"""What EC2's error codes mean for a study; pure. Codes: "Error codes for the Amazon EC2 API" of its API reference."""

from nephoscope.model.errors import (
    CapacityLacking,
    EnvironmentProblem,
    InfrastructureFailure,
    InputError,
    MachineLost,
    MachinePreempted,
    MachineUnsupported,
    NephoscopeError,
    QuotaReached,
    Throttled,
)
from nephoscope.providers.cloud.order import LATER, NOT_PREEMPTED, OTHER_ZONE, SLOWER
from nephoscope.providers.cloud.provider import EndedByUser


class NotAllowed(EnvironmentProblem):
    """These credentials lack the permission there."""


GONE = frozenset(
    {
        "InvalidInstanceID.NotFound",
        "InvalidVolume.NotFound",
        "InvalidGroup.NotFound",
        "InvalidGroupId.NotFound",
        "InvalidPlacementGroup.Unknown",
        "InvalidVpcID.NotFound",
        "InvalidSubnetID.NotFound",
        "InvalidRouteTableID.NotFound",
        "InvalidInternetGatewayID.NotFound",
        "InvalidGatewayID.NotFound",
        "InvalidVpcPeeringConnectionID.NotFound",
        "InvalidAssociationID.NotFound",
        "Gateway.NotAttached",
        "InvalidSnapshot.NotFound",
    }
)
"""For a deletion: already deleted. For a use: EC2 does not know yet what it has just created."""
IN_USE = frozenset(
    {"DependencyViolation", "VolumeInUse", "InvalidPlacementGroup.InUse", "IncorrectState", "InvalidStateTransition"}
)
"""It cannot be deleted yet."""
THERE = frozenset({"InvalidGroup.Duplicate", "InvalidPermission.Duplicate", "InvalidPlacementGroup.Duplicate"})
"""It already exists: an earlier call created it, and its answer was lost."""
DONE = frozenset({"RouteAlreadyExists", "Resource.AlreadyAssociated", "InvalidStateTransition"})
"""Two things that were just created are joined already: by an earlier call, whose answer was lost."""
SUBNET_THERE = frozenset({"InvalidSubnet.Conflict"})
"""The network has a subnet with these addresses: an earlier call created it, and its answer was lost."""

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
        "VpcLimitExceeded",
        "SubnetLimitExceeded",
        "RouteTableLimitExceeded",
        "InternetGatewayLimitExceeded",
        "ActiveVpcPeeringConnectionPerVpcLimitExceeded",
        "OutstandingVpcPeeringConnectionLimitExceeded",
        "ConcurrentSnapshotLimitExceeded",
        "PendingSnapshotLimitExceeded",
        "SnapshotLimitExceeded",
    }
)
_THROTTLE = frozenset(
    {
        "EC2ThrottledException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "SnapshotCreationPerVolumeRateExceeded",
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

_MORE = "request more in Service Quotas, or use fewer clusters: --max-clusters"

_MEANINGS: tuple[tuple[frozenset[str], type[NephoscopeError], str], ...] = (
    (_CAPACITY, CapacityLacking, LATER),
    (_QUOTA, QuotaReached, _MORE),
    (_THROTTLE, Throttled, SLOWER),
    (_UNSUPPORTED, MachineUnsupported, OTHER_ZONE),
    (_FAULTS | GONE, InfrastructureFailure, ""),
    (
        _REFUSED,
        NotAllowed,
        "`aws sts get-caller-identity` shows who you are; docs/how-to/run-on-aws.md lists the permissions you need",
    ),
)


def of_code(code: str, message: str) -> NephoscopeError:
    """The typed error for an answer of EC2."""
    said = f"AWS answered {code}: {message}"
    for codes, meaning, hint in _MEANINGS:
        if code in codes:
            return meaning(said, hint=hint)
    if code.startswith(_ASKED_WRONGLY):
        return InputError(said, hint="check image, type, zone, subnet and volumes in the study")
    return EnvironmentProblem(said)


def of_state_reason(code: str, message: str) -> NephoscopeError:
    """Why a machine ended."""
    said = f"AWS ended the machine, {code}: {message}"
    kind, _, what = code.partition(".")
    if kind == "Server" and what in _CAPACITY:
        return CapacityLacking(said, hint=LATER)
    if what in _QUOTA:
        return QuotaReached(said, hint=_MORE)
    if what.startswith("Spot"):
        return MachinePreempted(said, hint=NOT_PREEMPTED)
    if code == "Client.UserInitiatedShutdown":
        return EndedByUser(said)
    return MachineLost(said)
