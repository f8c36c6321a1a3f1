"""A machine type without a price in its region: the plan says whose price it takes, and to check that it is sold."""

from datetime import date

from nephoscope.app.stages.planning import load, plan
from nephoscope.prices.book import PriceBook
from nephoscope.prices.rows import Basis, Kind, Price, Unit

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
    return [str(warning.text) for warning in plan(load(STUDY.format(**of), "far.toml")).warnings]


def test_a_type_without_a_price_in_its_region_is_named_with_the_region_whose_price_is_taken() -> None:
    (told,) = [
        text
        for text in warnings(provider="aws", zone="eu-west-1a", type="m9g.2xlarge", image="ami-0123456789abcdef0")
        if "another region" in text
    ]
    assert told == (
        "no price in these regions; the plan uses another region's: m9g.2xlarge in eu-west-1 (price of us-east-1)"
    )


def test_no_price_of_a_cloud_for_governments_stands_for_a_public_region_nor_the_other_way_round() -> None:
    (told,) = [
        text
        for text in warnings(provider="aws", zone="us-west-2a", type="m8i.2xlarge", image="ami-0123456789abcdef0")
        if "another region" in text
    ]
    assert told.endswith("m8i.2xlarge in us-west-2 (price of us-east-1)"), "dearer in us-gov-east-1"
    book = PriceBook(
        Price(
            provider="azure",
            region=region,
            kind=Kind.MACHINE,
            item="Standard_X",
            unit=Unit.HOUR,
            basis=Basis.ON_DEMAND,
            usd=usd,
            source="list",
            licence="none",
            date="2026-01-01",
        )
        for region, usd in (("eastus", 1.0), ("usgovvirginia", 3.0), ("chinaeast2", 4.0), ("usgovarizona", 2.0))
    )

    def dearest(region: str) -> str:
        pick = book.price_elsewhere(date.max, "azure", region, "Standard_X", Basis.ON_DEMAND)
        return pick.price.region if pick.prices else ""

    assert [dearest(one) for one in ("westus", "usgovtexas", "chinanorth", "eastus")] == [
        *("eastus", "usgovvirginia", "chinaeast2", ""),
    ]


def test_nothing_is_said_of_a_type_that_has_a_price_there() -> None:
    of_gcp = warnings(
        provider="gcp",
        zone="us-central1-a",
        type="n4-standard-8",
        image="projects/debian-cloud/global/images/debian-12-bookworm-v20261012",
    )
    assert not [text for text in of_gcp if "another region" in text]
