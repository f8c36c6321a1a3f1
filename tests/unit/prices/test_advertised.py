"""What providers advertise of machine types and volumes."""

import pytest

from nephoscope.prices.catalogue.advertised import Advertised, bandwidth, volume_iops


@pytest.mark.parametrize(
    ("provider", "machine_type", "vcpus", "gbps", "kind"),
    [
        ("aws", "m5.2xlarge", 8, 10, "up to"),
        ("aws", "m5a.8xlarge", 32, 10, "up to"),
        ("aws", "c5.9xlarge", 36, 12, "provisioned"),
        ("aws", "c5n.9xlarge", 36, 50, "provisioned"),
        ("aws", "r5b.2xlarge", 8, 10, "up to"),
        ("aws", "m5dn.4xlarge", 16, 25, "up to"),
        ("gcp", "n2-standard-8", 8, 16, "up to"),
        ("gcp", "c2-standard-30", 30, 32, "up to"),
        ("gcp", "n2-highcpu-2", 2, 10, "up to"),
        ("azure", "Standard_D8s_v4", 8, 4, "up to"),
        ("azure", "Standard_E32as_v5", 32, 16, "up to"),
    ],
)
def test_a_machine_type_has_the_bandwidth_of_its_documentation(
    provider: str, machine_type: str, vcpus: int, gbps: float, kind: str
) -> None:
    assert bandwidth(provider, machine_type, vcpus) == Advertised(gbps * 1e9, kind)  # type: ignore[arg-type]


def test_a_type_of_which_no_peak_is_known_has_its_baseline_and_an_unknown_one_nothing() -> None:
    known = bandwidth("aws", "m8g.2xlarge", 8)
    assert known is not None
    assert known.kind == "baseline"
    assert bandwidth("gcp", "z9-standard-8", 8) is None
    assert bandwidth("gcp", "n2-standard-8", None) is None


def test_a_volume_has_what_was_ordered_else_what_its_kind_and_size_have() -> None:
    assert volume_iops("aws", "gp3", 1000, 8000) == Advertised(8000, "provisioned")
    assert volume_iops("aws", "gp2", 500, 0) == Advertised(1500, "up to")
    assert volume_iops("aws", "gp2", 10_000, 0) == Advertised(16_000, "up to")
    assert volume_iops("azure", "Premium SSD P30 LRS", 1000, 0) == Advertised(5000, "up to")
    assert volume_iops("gcp", "pd-standard", 1000, 0) is None
