"""Which configuration of an earlier study is the counterpart of which in a later one."""

from itertools import product
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.analysis import edition_answers
from nephoscope.study.differences import changes, likenesses
from nephoscope.study.model import Configuration

SETTINGS = st.fixed_dictionaries(
    {}, optional={"shared_buffers": st.sampled_from(["1GB", "2GB"]), "fsync": st.sampled_from(["on", "off"])}
)
VOLUMES = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["gp3", "io2"]), "size": st.just(100)},
        optional={"iops": st.sampled_from([4000, 8000])},
    ),
    max_size=1,
)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    machine: dict[str, Any] = {"type": draw(st.sampled_from(["m6i.large", "m6a.large", "m6i.xlarge", "other"]))}
    volumes = draw(VOLUMES)
    return Configuration.model_validate(
        {
            "name": "a",
            "provider": "aws",
            "region": draw(st.sampled_from(["us-east-1", "us-west-2"])),
            "database_machine": machine | ({"volumes": volumes} if volumes else {}),
            "load_machine": {"type": draw(st.sampled_from(["m6i.large", "m6i.xlarge"]))},
            "database": {"system": "postgres", "settings": draw(SETTINGS)},
        }
    )


def by_each_pair(old: dict[str, Configuration], new: dict[str, Configuration], most: int) -> list[tuple[str, str]]:
    fitting = [(a, b) for a, b in product(old, new) if len(changes(old[a], new[b])) <= most]
    lefts, rights = [a for a, _ in fitting], [b for _, b in fitting]
    return [(a, b) for a, b in fitting if lefts.count(a) == rights.count(b) == 1]


@given(st.lists(configurations(), max_size=6), st.lists(configurations(), max_size=6))
def test_counterparts_are_those_that_a_look_at_each_pair_finds(
    before: list[Configuration], after: list[Configuration]
) -> None:
    old = {f"old-{place}": one for place, one in enumerate(before)}
    new = {f"new-{place}": one for place, one in enumerate(after)}
    for most in (0, 1):
        assert sorted(edition_answers._unambiguous(old, new, most)) == sorted(by_each_pair(old, new, most))
        for one, other in product(before, after):
            if len(changes(one, other)) <= most:
                assert likenesses(one, most) & likenesses(other, most)


def test_thousands_of_configurations_are_matched_without_a_look_at_each_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Mock(side_effect=changes)
    monkeypatch.setattr(edition_answers, "changes", looked)
    old, new = (
        {
            f"{name}-{place}": Configuration.model_validate(
                {
                    "name": "a",
                    "provider": "aws",
                    "region": f"region-{place}",
                    "database_machine": {"type": machine},
                    "database": {"system": "postgres", "settings": {"shared_buffers": f"{place}MB"}},
                }
            )
            for place in range(200)
        }
        for name, machine in (("old", "m6i.large"), ("new", "m7i.large"))
    )
    found = edition_answers._unambiguous(old, new, 1)
    assert found == [(f"old-{place}", f"new-{place}") for place in range(200)]
    assert looked.call_count <= 4 * 200
