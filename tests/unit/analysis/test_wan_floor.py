"""What physics leaves of a round trip between two regions."""

import pytest

from nephoscope.analysis.wan_floor import wan_floors_of
from nephoscope.model.rows import WanFloor
from nephoscope.study.model import BenchmarkEntry, Configuration, Machine, Study
from nephoscope.study.provisioning import Region


def floors(provider: str, here: str | None, there: str | None) -> list[WanFloor]:
    configuration = Configuration.model_validate(
        {"name": "far", "provider": provider, "region": here, "load_machine": Machine(region=there)}
    )
    study = Study(name="s", configurations=[configuration], benchmarks=[BenchmarkEntry(uses="ping")])
    return wan_floors_of(study, {"far (1 of 2)": "far"})


@pytest.mark.parametrize(
    ("provider", "here", "there", "kilometres", "milliseconds"),
    [
        ("aws", "us-east-1", "us-west-2", 3503, 34.3),
        ("gcp", "us-east4", "us-west1", 3623, 35.5),
        ("azure", "eastus", "westus2", 3576, 35.0),
        ("aws", "eu-central-1", "ap-southeast-2", 16_490, 161.5),
    ],
)
def test_two_regions(provider: str, here: str, there: str, kilometres: float, milliseconds: float) -> None:
    (found,) = floors(provider, here, there)
    assert found.configuration == "far (1 of 2)"
    assert found.distance_m / 1000 == pytest.approx(kilometres, rel=0.01)
    assert found.round_trip_s * 1000 == pytest.approx(milliseconds, rel=0.01)


@pytest.mark.parametrize(
    ("provider", "here", "there"),
    [
        ("aws", "us-east-1", "us-east-1"),
        ("aws", "us-east-1", None),
        ("aws", None, "us-west-2"),
        ("aws", "us-east-1", "us-east4"),
        ("gcp", "nowhere-1", "us-east4"),
    ],
)
def test_one_region_or_an_unknown_one_has_no_floor(provider: str, here: str | None, there: str | None) -> None:
    assert floors(provider, here, there) == []


def test_a_region_of_your_own_is_where_the_study_says() -> None:
    configuration = Configuration(name="far", provider="ssh", region="berlin", load_machine=Machine(region="sydney"))
    places = [
        Region(name="berlin", latitude=52.52, longitude=13.40),
        Region(name="sydney", latitude=-33.87, longitude=151.21),
    ]
    entries = [BenchmarkEntry(uses="ping")]
    study = Study(name="s", configurations=[configuration], benchmarks=entries, regions=places)
    (found,) = wan_floors_of(study, {"far": "far"})
    assert (found.database_region, found.load_region) == ("berlin", "sydney")
    assert found.distance_m / 1000 == pytest.approx(16_090, rel=0.01)
    assert wan_floors_of(study.model_copy(update={"regions": places[:1]}), {"far": "far"}) == []
