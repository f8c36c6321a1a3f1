import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.run.ledger import (
    Books,
    Grant,
    Holding,
    Limits,
    OwnLedger,
    Quota,
    Refusal,
    Wanted,
    decide,
    family_of,
    quota_of,
)
from nephoscope.study.model import Configuration, Machine

QUOTA = Quota("aws", "us-east-1", "m6i")
OTHER = Quota("aws", "us-east-1", "c6i")


def holding(holder: str, usd: float | None = 1.0, vcpus: int = 32, quota: Quota = QUOTA) -> Holding:
    return Holding(holder, quota, vcpus, usd)


def wanted(
    holder: str, usd: float | None = 1.0, vcpus: int = 32, quota: Quota = QUOTA, most_usd: float | None = None
) -> Wanted:
    return Wanted(holder, quota, vcpus, usd, most_usd)


def refused(answer: Grant | Refusal) -> Refusal:
    assert isinstance(answer, Refusal)
    return answer


def test_a_budget_counts_what_was_spent_what_is_held_and_what_is_asked() -> None:
    books = Books([holding("a", 4.0)], spent_usd=5.0)
    assert decide(books, wanted("b", 1.0), Limits(max_usd=10.0)) == Grant(1.0)
    found = refused(decide(books, wanted("b", 1.01), Limits(max_usd=10.0)))
    assert found.passes
    assert found.reason == "$5.00 spent + $4.00 held + $1.01 quoted = $10.01, more than $10.00"


def test_it_is_given_what_it_may_take_at_most_or_what_is_left() -> None:
    books = Books([holding("a", 4.0)], spent_usd=3.0)
    asked = wanted("b", 1.0, most_usd=2.0)
    assert decide(books, asked, Limits(max_usd=10.0)) == Grant(2.0)
    assert decide(books, asked, Limits(max_usd=8.5)) == Grant(1.5)
    assert decide(books, asked, Limits()) == Grant(None)


def test_nothing_that_is_held_means_nothing_to_wait_for() -> None:
    assert not refused(decide(Books(spent_usd=9.5), wanted("a", 1.0), Limits(max_usd=10.0))).passes


def test_what_is_there_already_is_held_whatever_the_limits_say() -> None:
    books, there = Books([holding("b")], spent_usd=11.0), replace(wanted("a", 3.0), goes_on=True)
    assert decide(books, there, Limits(max_usd=10.0, max_clusters=1)) == Grant(3.0)
    assert decide(books, there, Limits()) == Grant(None)


def test_an_unknown_price_is_not_0() -> None:
    assert decide(Books(), wanted("a", None), Limits()) == Grant(None)
    assert not refused(decide(Books(), wanted("a", None), Limits(max_usd=10.0))).passes


def test_a_quota_is_lowered_to_what_is_held_of_it_and_others_go_on() -> None:
    async def story() -> None:
        ledger = OwnLedger(Limits(), 0.0)
        assert await ledger.hold(wanted("a")) == Grant(None)
        await ledger.lower(QUOTA)
        found = refused(await ledger.hold(wanted("b")))
        assert found.passes
        assert "32 of 32 vCPUs of m6i in us-east-1 are in use" in found.reason
        assert await ledger.hold(wanted("c", quota=OTHER)) == Grant(None)
        await ledger.give_back("a", 0.5)
        assert await ledger.hold(wanted("b")) == Grant(None)
        assert ledger._books().spent_usd == pytest.approx(0.5)

    asyncio.run(story())


def test_with_nothing_held_of_a_quota_one_may_always_try() -> None:
    assert decide(Books(vcpus={QUOTA: 0}), wanted("a"), Limits()) == Grant(None)


def test_who_holds_goes_on_holding_as_much() -> None:
    assert decide(Books([holding("a", 3.0)]), wanted("a"), Limits(max_clusters=1, max_usd=0.1)) == Grant(3.0)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.floats(0.01, 5), st.floats(1, 3), st.floats(0, 5), st.booleans()), max_size=60
    ),
    st.integers(1, 4),
)
def test_no_story_of_trials_sets_too_much_aside_or_holds_too_many(
    story: list[tuple[int, float, float, float, bool]], clusters: int
) -> None:
    async def play() -> None:
        limits = Limits(max_usd=10.0, max_clusters=clusters)
        ledger = OwnLedger(limits, 0.0)
        for trial, quoted, most, share, back in story:
            if back:
                held = {one.holder: one.usd or 0.0 for one in ledger._books().held}
                await ledger.give_back(str(trial), held.get(str(trial), 0.0) * min(1.0, share))
            else:
                answer = await ledger.hold(wanted(str(trial), quoted, most_usd=most * quoted))
                if isinstance(answer, Grant):
                    assert answer.usd in [one.usd for one in ledger._books().held if one.holder == str(trial)]
            books = ledger._books()
            assert books.spent_usd + books.held_usd <= 10.0 + 1e-9
            assert len(books.held) <= clusters

    asyncio.run(play())


@pytest.mark.parametrize(
    ("machine_type", "family"),
    [
        ("m6i.2xlarge", "m6i"),
        ("n2-standard-8", "n2-standard"),
        ("Standard_D8s_v5", "Standard_D8s_v5"),
        ("tiny", "tiny"),
        (None, ""),
    ],
)
def test_a_family_is_the_type_without_its_size(machine_type: str | None, family: str) -> None:
    assert family_of(machine_type) == family


def test_a_cluster_counts_the_vcpus_of_all_its_machines() -> None:
    configuration = Configuration(
        name="a",
        provider="aws",
        region="us-east-1",
        database_machine=Machine(type="m6i.2xlarge", count=3, cpus=8),
        load_machine=Machine(type="m6i.2xlarge", cpus=8),
    )
    assert quota_of(configuration) == (QUOTA, 32)
