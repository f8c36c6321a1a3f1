"""What the names of machine types say."""

import pytest

from nephoscope.study.machine_names import machine_name


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 6_000])
def test_a_custom_type_of_absurd_size_is_just_a_name(digits: str) -> None:
    for machine_type in (f"n2-custom-8-{digits}", f"n2-custom-{digits}-8192"):
        machine_name("gcp", machine_type)
    sized, absurd = (machine_name("gcp", f"n2-custom-8-{size}") for size in ("32768", digits))
    assert sized != absurd
