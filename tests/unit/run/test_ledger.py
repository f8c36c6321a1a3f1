import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.run.ledger import Books, Holding, Limits, OwnLedger, Quota, family_of, quota_of, refusal
from nephoscope.study.model import Configuration, Machine

QUOTA = Quota("aws", "us-east-1", "m6i")
OTHER = Quota("aws", "us-east-1", "c6i")


def holding(holder: str, usd: float | None = 1.0, vcpus: int = 32, quota: Quota = QUOTA) -> Holding:
    return Holding(holder, quota, vcpus, usd)


def test_a_budget_counts_what_was_spent_what_is_held_and_what_is_asked() -> None:
    books = Books([holding("a", 4.0)], spent_usd=5.0)
    assert refusal(books, holding("b", 1.0), Limits(max_usd=10.0)) is None
    refused = refusal(books, holding("b", 1.01), Limits(max_usd=10.0))
    assert refused is not None
    assert refused.passes
    assert refused.reason == "$5.00 spent + $4.00 held + $1.01 quoted = $10.01, more than $10.00"


def test_nothing_that_is_held_means_nothing_to_wait_for() -> None:
    refused = refusal(Books(spent_usd=9.5), holding("a", 1.0), Limits(max_usd=10.0))
    assert refused is not None
    assert not refused.passes


def test_an_unknown_price_is_not_0() -> None:
    assert refusal(Books(), holding("a", None), Limits()) is None
    refused = refusal(Books(), holding("a", None), Limits(max_usd=10.0))
    assert refused is not None
    assert not refused.passes


def test_a_quota_is_lowered_to_what_is_held_of_it_and_others_go_on() -> None:
    async def story() -> None:
        ledger = OwnLedger(Limits(), 0.0)
        assert await ledger.hold(holding("a")) is None
        await ledger.lower(QUOTA)
        refused = await ledger.hold(holding("b"))
        assert refused is not None
        assert refused.passes
        assert "32 of 32 vCPUs of m6i in us-east-1 are in use" in refused.reason
        assert await ledger.hold(holding("c", quota=OTHER)) is None
        await ledger.give_back("a", 0.5)
        assert await ledger.hold(holding("b")) is None
        assert (await ledger.books()).spent_usd == pytest.approx(0.5)

    asyncio.run(story())


def test_with_nothing_held_of_a_quota_one_may_always_try() -> None:
    assert refusal(Books(vcpus={QUOTA: 0}), holding("a"), Limits()) is None


def test_who_holds_goes_on_holding() -> None:
    assert refusal(Books([holding("a")]), holding("a"), Limits(max_clusters=1, max_usd=0.1)) is None


@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0.01, 5), st.floats(0, 5), st.booleans()), max_size=60),
    st.integers(1, 4),
)
def test_no_story_of_trials_overspends_by_quotes_or_holds_too_many(
    story: list[tuple[int, float, float, bool]], clusters: int
) -> None:
    async def play() -> None:
        limits = Limits(max_usd=10.0, max_clusters=clusters)
        ledger = OwnLedger(limits, 0.0)
        for trial, quoted, share, back in story:
            if back:
                held = {one.holder: one.usd or 0.0 for one in (await ledger.books()).held}
                await ledger.give_back(str(trial), held.get(str(trial), 0.0) * min(1.0, share))
            else:
                await ledger.hold(holding(str(trial), quoted))
            books = await ledger.books()
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
