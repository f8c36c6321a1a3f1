"""The interval of a probability: by SciPy, by hand, and how often it covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.proportion import proportion_interval

COUNTS = st.integers(1, 60).flatmap(lambda tries: st.tuples(st.integers(0, tries), st.just(tries)))


@given(COUNTS)
def test_agrees_with_scipy(counts: tuple[int, int]) -> None:
    times, tries = counts
    expected = scipy_stats.binomtest(times, tries).proportion_ci(0.95, method="exact")
    assert proportion_interval(times, tries) == pytest.approx((float(expected.low), float(expected.high)), abs=1e-9)


def test_three_of_three_by_hand() -> None:
    low, high = proportion_interval(3, 3)
    assert low == pytest.approx(0.025 ** (1 / 3))
    assert high == 1
    assert proportion_interval(0, 3) == pytest.approx((0, 1 - low))


def test_it_covers_at_least_what_it_says(subtests: pytest.Subtests) -> None:
    for probability in [0.02, 0.3, 0.5, 0.9]:
        for tries in [1, 3, 9, 20]:
            with subtests.test(probability=probability, tries=tries):
                inside = [
                    low <= probability <= high
                    for low, high in (proportion_interval(k, tries) for k in range(tries + 1))
                ]
                chances = scipy_stats.binom.pmf(range(tries + 1), tries, probability)
                assert sum(chance for chance, covers in zip(chances, inside, strict=True) if covers) >= 0.95


@pytest.mark.parametrize(("times", "tries", "confidence"), [(0, 0, 0.95), (2, 1, 0.95), (-1, 3, 0.95), (1, 3, 1.0)])
def test_nonsense_is_refused(times: int, tries: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="has no interval"):
        proportion_interval(times, tries, confidence)
