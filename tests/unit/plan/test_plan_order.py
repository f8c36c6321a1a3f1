"""The shuffle: a permutation, the same everywhere, every order equally likely."""

import itertools
import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nephoscope.plan import expand as order
from nephoscope.plan.expand import Cell, shuffled

CELLS: list[Cell] = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
NAMES = st.text(max_size=4)
CHI_SQUARE_999 = {15: 37.697, 23: 49.728}
"""99.9 % points of the chi-square distribution by degrees of freedom (NIST/SEMATECH e-Handbook, 1.3.6.7.4)."""


def looks_uniform(counts: list[int]) -> bool:
    mean = sum(counts) / len(counts)
    return sum((count - mean) ** 2 for count in counts) / mean < CHI_SQUARE_999[len(counts) - 1]


@given(st.lists(st.tuples(NAMES, NAMES), unique=True), st.integers(0, 2**63 - 1), st.integers(1, 1000))
def test_it_is_a_permutation_that_does_not_depend_on_the_order_given(cells: list[Cell], seed: int, block: int) -> None:
    found = shuffled(cells, seed=seed, block=block)
    assert sorted(found) == sorted(cells)
    assert shuffled(sorted(cells), seed=seed, block=block) == found


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, min_size=1), st.integers(0, 99), st.integers(1, 99))
def test_what_is_added_leaves_the_order_of_the_others(cells: list[Cell], seed: int, block: int) -> None:
    added, *before = cells
    with_it = shuffled(cells, seed=seed, block=block)
    assert [cell for cell in with_it if cell != added] == shuffled(before, seed=seed, block=block)


def test_every_permutation_is_equally_likely_over_seeds_and_over_blocks() -> None:
    draws = 24 * 400
    for found in (
        Counter(tuple(shuffled(CELLS, seed=seed, block=1)) for seed in range(draws)),
        Counter(tuple(shuffled(CELLS, seed=1, block=block)) for block in range(1, draws + 1)),
    ):
        assert len(found) == math.factorial(len(CELLS))
        assert looks_uniform(list(found.values()))


def test_neighbouring_blocks_are_independent() -> None:
    first = [shuffled(CELLS, seed=9, block=block)[0] for block in range(1, 4001)]
    pairs = Counter(itertools.pairwise(first))
    assert len(pairs) == len(CELLS) ** 2
    assert looks_uniform(list(pairs.values()))


def test_the_order_never_changes() -> None:
    """A contract. The first key, made by hand:

    printf '["nephoscope/order/1", 1, 1, "b", "y"]' | sha256sum
    """
    assert shuffled(CELLS, seed=1, block=1) == [("b", "y"), ("a", "y"), ("a", "x"), ("b", "x")]
    assert order._key(1, 1, ("b", "y")).hex().startswith("1506a1161e4f")
