"""What EC2's error codes mean for a study; pure."""

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
    UnknownAnswer,
)
from nephoscope.providers.cloud.answers import CHECK_STUDY, Rule, rule_of
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

_CODES = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html"
_SPOT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-request-status.html"
_SHUTDOWN = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html"
_MORE = "request more in Service Quotas, or use fewer clusters: --max-clusters"
_WHO = "`aws sts get-caller-identity` shows who you are; docs/how-to/run-on-aws.md lists the permissions you need"

RULES = (
    Rule(
        "RequestLimitExceeded *Throttl* SlowDown TooManyRequests* *RateExceeded BandwidthLimitExceeded",
        Throttled,
        _CODES,
        SLOWER,
    ),
    Rule(
        "AccessDenied* AuthFailure Blocked ExpiredToken* Insufficient*Permission* Insufficient*Privilege* "
        "InvalidAccessKeyId InvalidClientTokenId OptInRequired PendingVerification RequestExpired "
        "SignatureDoesNotMatch Unauthorized* UnrecognizedClient*",
        NotAllowed,
        _CODES,
        _WHO,
    ),
    Rule("Insufficient* Unfulfillable* *CapacityExceeded", CapacityLacking, _CODES, LATER),
    Rule("SpotMaxPriceTooLow capacity-* price-too-low *-group-constraint", CapacityLacking, _SPOT, LATER),
    Rule("*LimitExceeded *QuotaExceeded *CountExceeded max-spot-*", QuotaReached, _CODES, _MORE),
    Rule(
        "Unsupported* *NotSupported InvalidInstanceType* constraint-not-fulfillable",
        MachineUnsupported,
        _CODES,
        OTHER_ZONE,
    ),
    Rule(f"Internal* *Unavailable RequestTimeout* {' '.join(sorted(GONE))}", InfrastructureFailure, _CODES),
    Rule(
        "Invalid* Missing* Malformed* UnknownParameter* NoDefaultVpc VPCIdNotSpecified", InputError, _CODES, CHECK_STUDY
    ),
)
ENDED_RULES = (
    Rule("Client.UserInitiatedShutdown", EndedByUser, _SHUTDOWN),
    Rule("*.Spot*", MachinePreempted, _SPOT, NOT_PREEMPTED),
    Rule("Server.Insufficient* Server.Unfulfillable*", CapacityLacking, _SHUTDOWN, LATER),
    Rule("*LimitExceeded *QuotaExceeded *CountExceeded", QuotaReached, _SHUTDOWN, _MORE),
)
"""Why a machine ended."""


def of_code(code: str, message: str) -> NephoscopeError:
    """The typed error for an answer of EC2."""
    rule, said = rule_of(RULES, code), f"AWS answered {code}: {message}"
    return UnknownAnswer(said) if rule is None else rule.error(said)


def of_state_reason(code: str, message: str) -> NephoscopeError:
    """Why a machine ended."""
    rule, said = rule_of(ENDED_RULES, code), f"AWS ended the machine, {code}: {message}"
    return MachineLost(said) if rule is None else rule.error(said)
