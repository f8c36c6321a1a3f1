"""A machine type without a price in its region: the plan says whose price it takes, and to check that it is sold."""

from nephoscope.app.stages.planning import load, plan

STUDY = """
name = "far"
replicates = 1

[[configurations]]
name = "{type}"
provider = "{provider}"
zone = "{zone}"
cloud = {{ image = "{image}", ingress = "203.0.113.7/32" }}
database_machine = {{ type = "{type}" }}

[[benchmarks]]
uses = "stress-ng"
"""


def warnings(**of: str) -> list[str]:
    return plan(load(STUDY.format(**of), "far.toml")).warnings


def test_a_type_without_a_price_in_its_region_is_named_with_the_region_whose_price_is_taken() -> None:
    (told,) = [
        text
        for text in warnings(provider="aws", zone="eu-west-1a", type="m9g.2xlarge", image="ami-0123456789abcdef0")
        if "another region" in text
    ]
    assert told.endswith("check that yours sells them: m9g.2xlarge in eu-west-1 (those of us-east-1)")


def test_nothing_is_said_of_a_type_that_has_a_price_there() -> None:
    of_gcp = warnings(
        provider="gcp",
        zone="us-central1-a",
        type="n4-standard-8",
        image="projects/debian-cloud/global/images/debian-12-bookworm-v20261012",
    )
    assert not [text for text in of_gcp if "another region" in text]
