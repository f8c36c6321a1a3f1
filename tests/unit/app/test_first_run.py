"""`nephoscope try` on the stand-ins of three clouds, with a fault at each step: nothing is left in any case."""

import ast
import asyncio
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import nephoscope
from nephoscope.app.cli import main
from nephoscope.app.stages import planning, running, tracking, trying
from nephoscope.app.wiring import real_world
from nephoscope.model.errors import CleanupFailed, EnvironmentProblem, NephoscopeError
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.azure.cloud import AzureCloud
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.provider import Cloud, CloudProvider
from nephoscope.providers.gcp.cloud import GcpCloud
from nephoscope.run.clock import FakeClock
from nephoscope.run.conductor import Rules
from nephoscope.run.signals import run_until_stopped
from nephoscope.store.folder import ResultsFolder
from tests.support import fake_arm, fleet_controller, gcplocal_compute, moto_ec2
from tests.support.fake_world import Heard, observe_at_once
from tests.support.made_cloud import AtOnce, MadeCloud
from tests.support.permissions import (
    granted_on_aws,
    granted_on_azure,
    granted_on_google,
    needed_on_azure,
    needed_on_google,
)

pytestmark = pytest.mark.whole

IMAGES = {"aws": "ami-12c6146b", "azure": "Debian:debian-12:12-gen2:0.20261012.1"}
ADDRESS = "198.18.0.7"


@dataclass
class Account:
    """A cloud that is played."""

    name: str
    url: str
    left: Callable[[], list[str]]
    broken: Callable[[str], None]
    """From now on these requests are refused: see `FAULTS`; "" refuses none."""


@pytest.fixture(scope="module")
def aws() -> Iterator[Account]:
    patch = pytest.MonkeyPatch()
    codes = {
        "identity": "GetCallerIdentity ExpiredToken",
        "rights": "CreateSecurityGroup UnauthorizedOperation",
        "type": "DescribeInstanceTypes InvalidInstanceType",
        "image": "DescribeImages InvalidAMIID.NotFound",
        "network": "DescribeSubnets UnauthorizedOperation",
        "lists": "DescribeVolumes UnauthorizedOperation",
        "machine": "RunInstances InsufficientInstanceCapacity",
        "rules": "AuthorizeSecurityGroupIngress UnauthorizedOperation",
        "quota": "RunInstances VcpuLimitExceeded",
        "deletion": "TerminateInstances UnauthorizedOperation",
    }
    with moto_ec2.moto_server() as url:
        looking = moto_ec2.client_of(url)
        yield Account(
            "aws",
            url,
            lambda: [one for region in moto_ec2.REGIONS for one in moto_ec2.left(looking(region))],
            lambda fault: patch.setenv(fleet_controller.REFUSED, codes.get(fault, "")),
        )
    patch.undo()


@pytest.fixture
def folder(tmp_path: Path) -> Account:
    """A folder that plays a cloud: it has machines, but no account to ask."""
    clusters = tmp_path / "try" / "machines" / "clusters"
    return Account("aws", "", lambda: [one.name for one in clusters.iterdir()], lambda _fault: None)


@pytest.fixture(scope="module")
def gcp() -> Iterator[Account]:
    no, quota = gcplocal_compute.Refusal("forbidden"), "Quota 'CPUS' exceeded."
    refusals = {
        "identity": ("GET", "machineTypes", gcplocal_compute.Refusal("authError", 401)),
        "image": ("GET", "debian-12", gcplocal_compute.Refusal("notFound", 404)),
        "network": ("GET", "default", gcplocal_compute.Refusal("notFound", 404)),
        "lists": ("GET", "aggregated", no),
        "machine": ("POST", "instances", gcplocal_compute.Refusal("ZONE_RESOURCE_POOL_EXHAUSTED")),
        "rules": ("POST", "firewalls", no),
        "quota": ("POST", "instances", gcplocal_compute.Refusal("QUOTA_EXCEEDED", message=quota)),
        "deletion": ("DELETE", "instances", no),
    }
    with gcplocal_compute.gcplocal() as server:

        def broken(fault: str) -> None:
            method, kind, refusal = refusals.get(fault, ("", "", None))
            server.refuse = lambda *request: refusal if request[0] == method and kind in request[1:] else None

        yield Account("gcp", server.url, lambda: server.left, broken)


@pytest.fixture(scope="module")
def azure() -> Iterator[Account]:
    no, quota = fake_arm.Refusal("AuthorizationFailed", 403), "exceeding approved standardBasv2Family Cores quota"
    refusals = {
        "identity": ("GET", "providers", fake_arm.Refusal("InvalidAuthenticationToken", 401)),
        "type": ("GET", "microsoft.compute", no),
        "image": ("GET", "versions", fake_arm.Refusal("NotFound", 404)),
        "lists": ("GET", "resourcegroups", no),
        "volume": ("PUT", "disks", no),
        "machine": ("PUT", "virtualmachines", fake_arm.Refusal("ZonalAllocationFailed", 409)),
        "rules": ("PUT", "networksecuritygroups", no),
        "quota": ("PUT", "virtualmachines", fake_arm.Refusal("OperationNotAllowed", message=quota)),
        "deletion": ("DELETE", "resourcegroups", no),
    }
    with fake_arm.fake_arm() as arm:

        def broken(fault: str) -> None:
            method, kind, refusal = refusals.get(fault, ("", "", None))
            whole = fault == "lists"  # the name of such a request is that of the list

            def refuse(asked: str, of_kind: str, name: str) -> fake_arm.Refusal | None:
                return refusal if asked == method and (name if whole else of_kind) == kind else None

            arm.refuse = refuse

        yield Account("azure", arm.url, lambda: [*arm.resources], broken)


def first_run(account: Account, folder: Path, lines: list[str]) -> trying.FirstRun:
    """Of a study whose benchmark is a program that sleeps, in a machine that answers for one without an sshd."""
    place = trying.PLACES[account.name]
    place = replace(place, image=IMAGES.get(account.name, place.image))
    head, _, _ = trying.study_text(account.name, place, f"{ADDRESS}/32").partition("\n[[benchmarks]]")
    benchmark = '[[benchmarks]]\nuses = "fake"\nparameters = { duration_s = 3.0 }\n'
    text = f'{head}database = {{ system = "fake" }}\n\n{benchmark}'
    (folder / "machines").mkdir(parents=True)
    file = folder / "try.toml"
    file.write_text(text)
    study = planning.load(text, "try")
    results = ResultsFolder.for_results(folder / "results")
    with results.lock():
        running.adopt(results, text, study, planning.plan(study), replan=False)
    where = f"{account.name} {account.url} {folder / 'machines'}" if account.url else str(folder / "machines")
    provider = fleet_controller.provider_of(where)
    world = replace(real_world(Heard()), providers={account.name: provider}, observe=observe_at_once)
    program = [sys.executable, "-m", "tests.support.fleet_controller"]
    controller = [*program, str(file), str(results.path), where, "1", "1", ""]
    options = running.run_options(results, study, running.CliOptions())
    options = replace(options, rules=Rules(study.placement, fleet_controller.IMPATIENT))
    request = ClusterRequest(results.study_key(), study.configurations[0], results.scratch)
    questions = provider.questions(request) if isinstance(provider, CloudProvider) else ()
    return trying.FirstRun(results, study, world, options, controller, questions, lines.append)


CONTROLLER, SUCCESSOR, PROOF = "a controller that is killed", "its successor", "nothing is left"
QUESTIONS = {
    "aws": {
        "identity": "identity",
        "rights": "rights",
        "type": "type and quota",
        "image": "image",
        "network": "network",
        "lists": "lists",
    },
    "azure": {
        "identity": "identity and resource providers",
        "type": "type and quota",
        "image": "image",
        "lists": "lists",
    },
    "gcp": {"identity": "identity, type and quota", "image": "image", "network": "network", "lists": "lists"},
}
"""Cloud, and what is broken -> the question that fails, before anything is made."""
FAULTS = {
    "": [],
    "rules": [CONTROLLER],
    "quota": [CONTROLLER],
    "machine": [CONTROLLER],
    "login": [CONTROLLER],
    "program": [CONTROLLER],
    "deletion": [SUCCESSOR, PROOF],
}
"""What is broken -> the steps that fail."""
IN_ALL = [
    pytest.param(cloud, fault, marks=[pytest.mark.slow])
    for cloud, questions in QUESTIONS.items()
    for fault in (*questions, *FAULTS, *(["volume"] if cloud == "azure" else []))
]  # SDKs take seconds of CPU to be imported by each controller; other clouds make volumes with their machine


@pytest.mark.parametrize(("cloud", "fault"), [("folder", ""), ("folder", "program"), *IN_ALL])
def test_whatever_fails_nothing_is_left(
    cloud: str, fault: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where deletion itself is refused, what is left is named, and `clean` deletes it once that is allowed."""
    account: Account = request.getfixturevalue(cloud)
    monkeypatch.setenv(fleet_controller.BROKEN, fault)
    monkeypatch.setenv(fleet_controller.CAPACITY_ERRORS, "0")
    account.broken(fault)
    lines: list[str] = []
    first = first_run(account, tmp_path / "try", lines)
    problem: NephoscopeError | None
    try:
        problem = run_until_stopped(first.run(makes=True))
    except CleanupFailed as left:
        problem = left
    account.broken("")
    question = QUESTIONS[cloud].get(fault) if account.url else None
    if fault == "deletion":
        assert isinstance(problem, CleanupFailed)
        assert "nephoscope clean" in (problem.hint or "")
        assert account.left() != []
        asyncio.run(tracking.clean_up(first.folder, first.world))
    assert account.left() == []
    failed = [question] if question else FAULTS.get(fault, [CONTROLLER])
    assert [step.topic for step in first.steps if step.error] == failed, lines
    outcomes = {one.topic: one.outcome for one in first.steps}
    if problem is None:
        assert "killed while the benchmark ran" in outcomes[CONTROLLER]
        assert outcomes[SUCCESSOR].endswith("by attempt 1"), "it waits for the load of the killed one"
    else:
        assert problem.exit_code in {2, 3, 4}
        assert problem.hint
    assert (PROOF in outcomes) == (question is None), "nothing is made where a question fails"
    report = first.report([ADDRESS])
    assert all(one.topic in report for one in first.steps)
    assert ADDRESS not in report
    assert "203.0.113" not in report


def test_a_program_that_fails_before_its_load_is_not_taken_for_a_killed_one(tmp_path: Path) -> None:
    text = trying.study_text("gcp", trying.PLACES["gcp"], f"{ADDRESS}/32")
    study = planning.load(text, "try")
    folder = ResultsFolder.for_results(tmp_path / "out")
    with folder.lock():
        running.adopt(folder, text, study, planning.plan(study), replan=False)
    options = running.run_options(folder, study, running.CliOptions())
    controller = [sys.executable, "-c", "raise SystemExit(4)"]
    provider = CloudProvider(MadeCloud("gcp"), AtOnce(), FakeClock(), "me")
    world = replace(real_world(Heard()), providers={"gcp": provider})
    first = trying.FirstRun(folder, study, world, options, controller, (), lambda _line: None)
    problem = run_until_stopped(first.run(makes=True))
    assert isinstance(problem, EnvironmentProblem)
    assert "exit code 4" in problem.message
    assert [one.topic for one in first.steps] == [CONTROLLER, PROOF]


@dataclass
class Answers:
    """Of an account."""

    lines: list[str]
    problem: NephoscopeError | None
    accounts: list[str]


def ask(cloud: Cloud) -> Answers:
    place = replace(trying.PLACES[cloud.name], image=IMAGES.get(cloud.name, trying.PLACES[cloud.name].image))
    study = planning.load(trying.study_text(cloud.name, place, f"{ADDRESS}/32"), "try")
    provider = CloudProvider(cloud, AtOnce(), FakeClock(), "me")
    answers = Answers([], None, [])
    for question in provider.questions(ClusterRequest("try-01234567", study.configurations[0], Path())):
        answers.accounts.append(question.account)
        try:
            answers.lines.append(f"{question.topic}: {asyncio.run(question.ask())}")
        except NephoscopeError as error:
            answers.problem = error
            break
    return answers


@pytest.mark.slow
def test_aws_is_asked_by_a_dry_run_and_makes_nothing() -> None:
    refused: list[str] = []
    called: set[str] = set()

    def refuse(operation: str, arguments: dict[str, Any]) -> str | None:
        called.add(f"ec2:{operation}")
        return "UnauthorizedOperation" if operation in refused else None

    with moto_ec2.moto_server() as url:
        client_of, ec2 = moto_ec2.client_of(url, refuse), moto_ec2.client_of(url)("us-east-1")

        def cloud(quota_vcpus: float = 5.0) -> AwsCloud:
            return AwsCloud(FakeClock(), client_of, moto_ec2.REGIONS, moto_ec2.service_of(url, quota_vcpus))

        answers = ask(cloud())
        assert answers.problem is None
        assert answers.lines[0].startswith("identity: account 123456789012, arn:aws:sts::")
        assert answers.lines[2:] == [
            "type and quota: t3.small has 2 vCPUs; 5 of Standard vCPUs free if no other machine runs",
            "image: ami-12c6146b is available, for x86_64",
            "network: us-east-1a has a default subnet with public addresses",
            "lists: the cloud lists 0 clusters of this folder",
        ]
        assert "1 of Standard vCPUs left" in str(ask(cloud(1.0)).problem)
        refused.append("CreateSecurityGroup")
        assert isinstance(ask(cloud()).problem, EnvironmentProblem)
        assert moto_ec2.left(ec2) == []
        for subnet in ec2.describe_subnets()["Subnets"]:
            ec2.delete_subnet(SubnetId=subnet["SubnetId"])
        refused.clear()
        assert "no default subnet" in str(ask(cloud()).problem)
    assert called - granted_on_aws() == set()


def test_google_is_asked_for_quota_image_and_network() -> None:
    with gcplocal_compute.gcplocal() as server:
        cloud = GcpCloud(FakeClock(), lambda: gcplocal_compute.api_of(server))
        answers = ask(cloud)
        assert answers.problem is None
        assert "e2-medium has 2 vCPUs; 10 of CPUS_ALL_REGIONS, 22 of CPUS free" in answers.lines[0]
        assert answers.accounts == [answers.lines[0].split(": ")[1], "", "", ""]  # so that no report repeats it
        server.cpus_limit = 3.0
        assert "1 of CPUS left" in str(ask(cloud).problem)
        assert needed_on_google(server.asked) - granted_on_google() == set()


def test_azure_is_asked_for_registration_size_quota_and_image() -> None:
    with fake_arm.fake_arm() as arm:
        cloud = AzureCloud(FakeClock(), lambda: fake_arm.api_of(arm))
        answers = ask(cloud)
        assert answers.problem is None
        assert answers.lines[1:3] == [
            "type and quota: Standard_B2als_v2 has 2 vCPUs; 8 of cores, 8 of standardBasv2Family free",
            f"image: {IMAGES['azure']} is there",
        ]
        arm.cores_limit = 2
        assert "0 of cores left" in str(ask(cloud).problem)
        zones = {"locations": ["eastus"], "zones": ["1"]}
        arm.size["restrictions"] = [{"type": "Zone", "values": ["eastus"], "restrictionInfo": zones}]
        assert "gets no Standard_B2als_v2 in zone 1" in str(ask(cloud).problem)
        arm.registration = "NotRegistered"
        problem = ask(cloud).problem
        assert problem is not None
        assert "az provider register" in (problem.hint or "")
        assert needed_on_azure(arm.asked) - granted_on_azure() == set()


def test_a_refusal_names_no_account_in_the_report() -> None:
    said = (
        "User: arn:aws:iam::123456789012:user/alice is not authorized; key AKIAIOSFODNN7EXAMPLE, me@example.com, "
        f"from 203.0.113.9, subscription 00000000-0000-0000-0000-000000000001, code {'x1Y' * 30}, project mine-42, "
        "/subscriptions/ABCDEF00-0000-0000-0000-00000000CAFE at 2001:db8::1 as ec2-198-51-100-7.compute.amazonaws.com"
    )
    report = trying.masked(said, ["mine-42", ""])
    for secret in (
        "123456789012",
        "alice",
        "AKIA",
        "me@",
        "203.0.113",
        "0000-0000",
        "x1Yx1Y",
        "mine-42",
        "2001",
        "198-51",
    ):
        assert secret not in report
    assert "is not authorized" in report


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["azure"], "no image is named"),
        (["aws", "--region", "us-west-2"], "a region and its zone"),
        (["aws", "--type", "no such type"], "type"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(["try", *arguments, "--ingress", f"{ADDRESS}/32", "--out", str(tmp_path / "out")]) == 2
    assert says in capsys.readouterr().err


def test_a_first_run_that_made_something_is_not_begun_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = trying.study_text("gcp", trying.PLACES["gcp"], f"{ADDRESS}/32")
    study = planning.load(text, "try")
    folder = ResultsFolder.for_results(tmp_path / "out")
    with folder.lock():
        running.adopt(folder, text, study, planning.plan(study), replan=False)
    monkeypatch.setattr("nephoscope.app.stages.tracking.created", lambda _folder: 1)
    assert main(["try", "gcp", "--ingress", f"{ADDRESS}/32", "--out", str(folder.path)]) == 2
    assert "nephoscope clean" in capsys.readouterr().err


def test_no_python_that_is_started_imports_from_the_working_directory() -> None:
    """Somebody else's folder may hold a nephoscope.py, which a controller with a cloud's credentials would run."""
    started = 0
    for file in Path(nephoscope.__file__).parent.rglob("*.py"):
        text = file.read_text()
        if "sys.executable" in text:
            for node in ast.walk(ast.parse(text)):
                parts = [ast.unparse(part) for part in getattr(node, "elts", ())]
                if "sys.executable" in parts:
                    option = parts[parts.index("sys.executable") + 1]
                    assert option in {"'-P'", "'-I'"}, f"{file}: {parts}"
                    started += 1
    assert started >= 3


def test_shipped_places_are_priced_far_below_the_budget() -> None:
    for cloud, place in trying.PLACES.items():
        named = replace(place, image=IMAGES.get(cloud, place.image))
        planned = planning.plan(planning.load(trying.study_text(cloud, named, f"{ADDRESS}/32"), "try"))
        assert planned.price_usd is not None, cloud
        assert planned.price_usd < trying.MAX_USD / 50
        assert planned.expected_duration_s < 600
