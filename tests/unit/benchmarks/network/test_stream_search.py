"""The search for the number of streams: by tables of what each level gave."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.benchmarks.network.stream_search import StopRule, StreamSearch

GBIT = 1e9
FAITHFUL = {"spread_bits_per_s": 0.35 * GBIT, "at_the_most": "first of the last"}
FIXED = {"spread_share": 0.02, "at_the_most": "highest"}


def driven(rule: StopRule, gbit_per_s: Sequence[float]) -> StreamSearch:
    """Fed until it ends, or there is nothing more to feed."""
    search = StreamSearch(rule)
    for rate in gbit_per_s:
        if search.next_streams is None:
            break
        search = search.observed(rate * GBIT)
    return search


@pytest.mark.parametrize(
    ("how", "most", "levels", "ended", "best"),
    [
        # A link of 10 Gbit/s that one stream cannot fill: three levels that agree, and the first of them is taken.
        (FAITHFUL, 24, [5.0, 9.0, 9.9, 9.9, 9.8], "plateau", 5),
        (FIXED, 24, [5.0, 9.0, 9.9, 9.9, 9.8], "plateau", 5),
        # One stream fills it.
        (FIXED, 24, [9.4, 9.4, 9.4], "plateau", 1),
        # The absolute threshold is met at once on a slow link, although the rate still doubles: a known defect.
        (FAITHFUL, 24, [0.1, 0.2, 0.4], "plateau", 1),
        (FIXED, 24, [0.1, 0.2, 0.4, 0.8, 0.81, 0.80], "plateau", 7),
        # And hardly on a fast one, where 1 % is 1 Gbit/s.
        (FAITHFUL, 9, [60, 95, 96, 97, 95], "most streams", 5),
        (FIXED, 9, [60, 95, 96, 97], "plateau", 3),
        # The last three levels alone count, not three that agreed in part.
        (FIXED, 11, [5, 5, 9, 9, 9.1], "plateau", 5),
        # It never settles: the highest is taken, or the first of the last three.
        (FIXED, 7, [4, 8, 6, 3], "most streams", 3),
        (FAITHFUL, 7, [4, 8, 6, 3], "most streams", 3),
        (FAITHFUL, 9, [9, 1, 8, 2, 7], "most streams", 5),
        (FIXED, 9, [9, 1, 8, 2, 7], "most streams", 1),
        # Of two equal levels the one with fewer streams.
        (FIXED, 5, [1, 8, 8], "most streams", 3),
        # One CPU allows 1 and 3; one stream alone is a search of one level.
        (FIXED, 3, [4, 6], "most streams", 3),
        (FAITHFUL, 3, [4, 6], "most streams", 1),
        (FIXED, 2, [4], "most streams", 1),
        (FIXED, 1, [4], "most streams", 1),
        # A spread that is exactly the limit is not below it.
        ({"spread_bits_per_s": GBIT, "at_the_most": "highest"}, 9, [1, 1, 1], "plateau", 1),
        ({"spread_bits_per_s": 0.1, "at_the_most": "highest"}, 5, [1, 2, 3], "most streams", 5),
    ],
)
def test_where_it_stops_and_what_it_takes(
    how: dict[str, object], most: int, levels: list[float], ended: str, best: int
) -> None:
    search = driven(StopRule(most, **how), levels)  # type: ignore[arg-type]  # as the table says
    assert search.ended == ended
    assert search.best.streams == best
    assert len(search.levels) == len(levels), "it went as far as the table, and no further"


def test_levels_are_the_odd_numbers() -> None:
    search = StreamSearch(StopRule(24, spread_share=0.001))
    asked = []
    for rate in (1, 2, 4, 8):
        asked.append(search.next_streams)
        search = search.observed(rate)
    assert asked == [1, 3, 5, 7]
    assert search.ended is None


def test_the_population_s_deviation_is_meant() -> None:
    """Of 1, 2 and 3 it is 0.816, the sample's is 1."""
    assert driven(StopRule(99, spread_bits_per_s=0.82 * GBIT), [1, 2, 3]).ended == "plateau"
    assert driven(StopRule(99, spread_bits_per_s=0.81 * GBIT), [1, 2, 3]).ended is None


def test_an_ended_search_takes_no_more_and_a_running_one_has_no_best() -> None:
    ended = driven(StopRule(1, spread_share=0.02), [1])
    with pytest.raises(ValueError, match="has ended"):
        ended.observed(1.0)
    with pytest.raises(ValueError, match="not ended"):
        _ = StreamSearch(StopRule(9, spread_share=0.02)).best


@given(st.integers(1, 60), st.lists(st.floats(0.001, 100), min_size=30, max_size=30))
def test_it_always_ends_within_the_most_streams(most: int, rates: list[float]) -> None:
    search = driven(StopRule(most, spread_share=0.02), rates)
    assert search.ended
    assert search.best in search.levels
    assert max(level.streams for level in search.levels) <= max(1, most)
