"""The large editions, held against the tests of every shipped study, and 2022 against its own question."""

import pytest

from tests.wholes.conftest import LARGE, Whole
from tests.wholes.test_shipped_studies import (
    test_a_browser_draws_every_chart_of_the_main_page_in_silence,
    test_both_pages_have_the_title_of_the_study,
    test_every_card_asks_answers_and_shows_a_number,
    test_every_ratio_of_a_card_is_the_quotient_of_the_two_numbers_beside_it,
    test_every_trial_is_valid_and_nothing_is_said_to_be_broken,
    test_no_figure_is_empty,
    test_no_percentile_is_above_a_higher_one,
    test_no_word_is_that_of_a_program,
    test_the_bars_of_a_card_are_levels_of_the_table,
    test_the_figures_that_the_docs_promise_are_on_the_page,
    test_the_state_of_a_card_is_that_of_the_table_of_bests,
)

__all__ = [
    "test_a_browser_draws_every_chart_of_the_main_page_in_silence",
    "test_both_pages_have_the_title_of_the_study",
    "test_every_card_asks_answers_and_shows_a_number",
    "test_every_ratio_of_a_card_is_the_quotient_of_the_two_numbers_beside_it",
    "test_every_trial_is_valid_and_nothing_is_said_to_be_broken",
    "test_no_figure_is_empty",
    "test_no_percentile_is_above_a_higher_one",
    "test_no_word_is_that_of_a_program",
    "test_the_bars_of_a_card_are_levels_of_the_table",
    "test_the_figures_that_the_docs_promise_are_on_the_page",
    "test_the_state_of_a_card_is_that_of_the_table_of_bests",
]

pytestmark = pytest.mark.parametrize("whole", LARGE, indirect=True)


def test_small_and_large_machines_of_2022_are_on_one_leaderboard(whole: Whole) -> None:
    """At 1,200 warehouses, which are 150 per vCPU of the small ones: plain, per vCPU and for the dollars of a year."""
    if whole.name != "cloud-report-2022":
        pytest.skip("the question of the report of 2022")
    boards = {
        (row["view"], row["basis"]): (int(row["of"]), row["left_out"])
        for row in whole.table("best")
        if (row["benchmark"], row["scope"]) == ("tpcc-1200", "overall")
    }
    assert boards["plain", ""] == boards["per CPU", ""] == (115, "")
    priced, left_out = boards["per dollar", "reserved-1y"]
    assert priced + len(left_out.split(";")) == 115
    assert all(one.startswith("n2-custom-") for one in left_out.split(";")), "no public list has their commitments"
