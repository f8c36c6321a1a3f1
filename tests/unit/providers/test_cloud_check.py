"""What a plan refuses, as the cloud's provider would refuse it when the first trial asks for machines."""

from typing import Any

import pytest

from nephoscope.app.stages import planning
from nephoscope.model.errors import InputError
from nephoscope.providers.cloud.check import require_possible
from nephoscope.study.model import Configuration
from tests.support.made_cloud import request_of
from tests.support.orders import request_to_azure, request_to_gcp

TOO_MANY = [{"kind": "gp3", "size": 10, "count": 12}]
STUDY = """
name = "on-aws"
[[configurations]]
name = "m6i"
provider = "aws"
region = "us-east-1"
database_machine = { type = "m6i.large" }
load_machine = { type = "m6i.large" }
[[benchmarks]]
uses = "stress-ng"
"""


def changed(configuration: Configuration, **more: Any) -> Configuration:
    return Configuration.model_validate({**configuration.model_dump(), **more})


@pytest.mark.parametrize("request_to", [request_of, request_to_azure, request_to_gcp])
def test_what_can_be_asked_for_is_planned_and_what_says_too_little_is_not(request_to: Any) -> None:
    possible = request_to().configuration
    require_possible(possible)
    with pytest.raises(InputError, match="does not say how"):
        require_possible(changed(possible, cloud=None))
    with pytest.raises(InputError, match="needs a `region` and a `zone`"):
        require_possible(changed(possible, zone=None))
    with pytest.raises(InputError, match="does not set the `type`"):
        require_possible(changed(possible, load_machine={"count": 1}))


@pytest.mark.parametrize(
    ("configuration", "more", "why"),
    [
        (request_of().configuration, {"database_machine": {"type": "m6i.large", "volumes": TOO_MANY}}, "12 volumes"),
        (request_to_azure().configuration, {"other_zones": ["4"]}, "no zone '4'"),
        (request_to_azure(cloud={"placement_group": "spread"}).configuration, {}, "cannot spread machines"),
        (request_to_azure(cloud={"image": "a:b:c:latest"}).configuration, {}, "no image"),
    ],
)
def test_what_a_cloud_has_not_is_refused(configuration: Configuration, more: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        require_possible(changed(configuration, **more))


def test_a_plan_is_refused_before_any_trial_is() -> None:
    with pytest.raises(InputError, match="configuration 'm6i' does not say how aws should create its machines"):
        planning.plan(planning.load(STUDY, "on-aws.toml"))
