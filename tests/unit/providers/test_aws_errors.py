"""EC2's error codes as errors of ours; the codes are those of its API reference."""

import subprocess
import sys

import pytest
from botocore import exceptions as sdk

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
from nephoscope.providers.aws.cloud import typed
from nephoscope.providers.aws.errors import NotAllowed, of_code, of_state_reason
from nephoscope.providers.cloud.provider import EndedByUser


def test_a_code_has_its_class_and_is_told(subtests: pytest.Subtests) -> None:
    for code, meaning in [
        ("InsufficientInstanceCapacity", CapacityLacking),
        ("UnfulfillableCapacity", CapacityLacking),
        ("InsufficientFreeAddressesInSubnet", CapacityLacking),
        ("InsufficientCapacityOnHost", CapacityLacking),
        ("ReservationCapacityExceeded", CapacityLacking),
        ("InsufficientCapacityOfSomethingNew", CapacityLacking),
        ("VcpuLimitExceeded", QuotaReached),
        ("NetworkInterfaceLimitExceeded", QuotaReached),
        ("AddressLimitExceeded", QuotaReached),
        ("MaxSpotInstanceCountExceeded", QuotaReached),
        ("RequestLimitExceeded", Throttled),
        ("EC2ThrottledException", Throttled),
        ("SnapshotCreationPerVolumeRateExceeded", Throttled),
        ("Unsupported", MachineUnsupported),
        ("UnsupportedOperation", MachineUnsupported),
        ("InvalidInstanceType", MachineUnsupported),
        ("InternalError", InfrastructureFailure),
        ("InvalidGroup.NotFound", InfrastructureFailure),
        ("UnauthorizedOperation", NotAllowed),
        ("InsufficientPermissions", NotAllowed),
        ("InvalidAMIID.NotFound", InputError),
        ("NeverHeardOf", UnknownAnswer),
    ]:
        with subtests.test(code=code):
            said = typed(sdk.ClientError({"Error": {"Code": code, "Message": "so it is"}}, "RunInstances"))
            assert type(said) is meaning
            assert code in str(said)
            assert "so it is" in str(said)
            assert type(of_code(code, "")) is meaning


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("Server.InsufficientInstanceCapacity", CapacityLacking),
        ("Server.SpotInstanceTermination", MachinePreempted),
        ("Client.VolumeLimitExceeded", QuotaReached),
        ("Client.UserInitiatedShutdown", EndedByUser),
        ("Server.ScheduledStop", MachineLost),
    ],
)
def test_a_reason_why_a_machine_ended_has_its_class(code: str, meaning: type[NephoscopeError]) -> None:
    assert type(of_state_reason(code, "")) is meaning


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (sdk.EndpointConnectionError(endpoint_url="x"), InfrastructureFailure),
        (sdk.ReadTimeoutError(endpoint_url="x"), InfrastructureFailure),
        (sdk.NoCredentialsError(), EnvironmentProblem),
        (sdk.ParamValidationError(report="x"), InputError),
    ],
)
def test_what_the_sdk_says_itself_has_its_class(error: Exception, meaning: type[Exception]) -> None:
    assert type(typed(error)) is meaning


def test_an_error_of_ours_is_none_of_the_sdks() -> None:
    assert typed(ValueError("ours")) is None


def test_without_the_sdk_the_extra_to_install_is_named_and_nothing_else_needs_it() -> None:
    script = """
import sys
sys.modules["boto3"] = None
from nephoscope.app.wiring import real_world
from nephoscope.model.errors import ToolMissing
from nephoscope.providers.aws.cloud import boto3_client
real_world(None).providers["aws"]
try:
    boto3_client("us-east-1")
except ToolMissing as error:
    print(error)
print("botocore" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "pip install 'nephoscope[aws]'" in said
    assert said.endswith("False\n")
