"""What the names of machine types say."""

import pytest

from nephoscope.study.machine_names import MachineName, machine_name


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 6_000])
def test_a_type_of_absurd_size_says_nothing(digits: str) -> None:
    for provider, machine_type in (
        ("gcp", f"n2-custom-8-{digits}"),
        ("gcp", f"n2-standard-{digits}"),
        ("aws", f"m6i.{digits}xlarge"),
        ("azure", f"Standard_D{digits}s_v5"),
    ):
        assert machine_name(provider, machine_type) == MachineName(family=None, vcpus=None)
    assert machine_name("gcp", "n2-standard-\u00b2").vcpus is None
