"""Hours before a trial on a cloud: what is kept is not made twice."""

from typing import Any

import pytest

from nephoscope.plan.before import EMULATED_HOST_S, LOAD_BYTES_PER_S, MAKE_S, RESET_S, RESTORE_BYTES_PER_S, Before
from nephoscope.study.model import Configuration, Machine

SIZE = 600 * LOAD_BYTES_PER_S
LOAD_S, RESTORE_S = 600.0, SIZE / RESTORE_BYTES_PER_S


def configuration(name: str = "a", provider: str = "aws", **database: Any) -> Configuration:
    return Configuration.model_validate({"name": name, "provider": provider, "database": database})


def test_a_fresh_cluster_loads_again_unless_a_bucket_outlives_it() -> None:
    before = Before()
    assert [before.of(configuration(), SIZE).total_s for _ in range(2)] == [MAKE_S + LOAD_S + RESTORE_S] * 2
    assert any(note.startswith("aws: every new cluster loads its data set again") for note in before.notes())
    assert not any("fixtures" in note for note in before.notes()), "PostgreSQL has none"
    kept = Before()
    stored = {"system": "cockroachdb", "fixtures": "s3://bucket/sets"}
    assert kept.of(configuration(**stored), SIZE).total_s == MAKE_S + LOAD_S + RESTORE_S
    assert kept.of(configuration("b", **stored), SIZE).total_s == MAKE_S + RESTORE_S, (
        "another configuration, the same bucket"
    )
    assert kept.of(configuration("b", **stored), 2 * SIZE).total_s == MAKE_S + 2 * (LOAD_S + RESTORE_S), (
        "another data set"
    )
    assert len(kept.notes()) == 1


@pytest.mark.parametrize(
    ("provider", "version", "advice"),
    [
        ("aws", "22.1.6", "set `database.fixtures` to a bucket"),
        ("azure", "23.1.0", "set `database.fixtures` to a bucket"),
        ("azure", "22.1.6", "set `database.fixtures` to azure-stores://account/container/folder"),
    ],
)
def test_a_bucket_is_advised_only_where_it_can_be_used(provider: str, version: str, advice: str) -> None:
    before = Before()
    one = configuration(provider=provider, system="cockroachdb", version=version)
    first, second = (before.of(one, SIZE) for _ in range(2))
    assert first.reload_s == 0
    assert (second.reload_s > 0) == ("fixtures" in advice)
    assert advice in before.notes()[-1]
    assert ("fixtures" in before.notes()[-1]) == ("fixtures" in advice)


def test_a_kept_cluster_is_made_once_and_loaded_once() -> None:
    before = Before()
    assert before.of(configuration(), SIZE, "a").total_s == MAKE_S + LOAD_S + RESTORE_S
    assert before.of(configuration(), SIZE, "a").total_s == RESTORE_S
    assert before.of(configuration(), 0, "a").total_s == 0
    assert before.of(configuration("b"), 0, "b").total_s == MAKE_S
    assert len(before.notes()) == 1


def test_each_replicate_creates_and_loads_once_and_a_bucket_serves_all_of_them() -> None:
    def took(before: Before, **database: Any) -> list[float]:
        names = ("a/replicate-1", "a/replicate-1", "a/replicate-2", "a/replicate-2")
        return [before.of(configuration(**database), SIZE, name).total_s for name in names]

    first = MAKE_S + LOAD_S + RESTORE_S
    before = Before()
    assert took(before) == [first, RESTORE_S, first, RESTORE_S]
    assert "every new cluster loads its data set again" in before.notes()[-1]
    kept: dict[str, Any] = {"system": "cockroachdb"}
    assert took(Before(), **kept) == [MAKE_S + LOAD_S + RESET_S, RESET_S] * 2, "its files are put back"
    stored = {**kept, "fixtures": "s3://bucket/sets"}
    assert took(Before(), **stored) == [first + RESET_S, RESET_S, MAKE_S + RESTORE_S + RESET_S, RESET_S]


def test_emulated_machines_take_their_time_one_by_one() -> None:
    before = Before()
    three = configuration(provider="emulated").model_copy(update={"database_machine": Machine(count=3)})
    assert [before.of(one, SIZE).total_s for one in (configuration(provider="emulated"), three, three)] == [
        EMULATED_HOST_S,
        3 * EMULATED_HOST_S,
        3 * EMULATED_HOST_S,
    ]
    (note,) = before.notes()
    assert "emulated machine" in note
    kept = Before()
    assert [kept.of(three, SIZE, "a").total_s for _ in range(2)] == [3 * EMULATED_HOST_S, 0]


@pytest.mark.parametrize("provider", ["local", "ssh", "fake", "other"])
def test_nothing_is_guessed_where_nobody_makes_machines(provider: str) -> None:
    before = Before()
    assert before.of(configuration(provider=provider), SIZE).total_s == 0
    assert before.notes() == []
