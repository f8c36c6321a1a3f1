"""What the page says where trials lost CPU time: both medians, why a verdict is open, what was rejected."""

import pytest

from tests.support.report_folder import evidence_page
from tests.unit.analysis.test_delivered import MIXED, OFTEN, studied


@pytest.mark.parametrize(
    ("rejected", "said"),
    [
        (
            False,
            ["Quiet median: 1,054", "better as delivered, but worse in quiet trials"],
        ),
        (True, ["Median with rejected: 896.5", "steal rejected 20 of 24 trials of b"]),
    ],
)
def test_the_page_gives_both_medians_and_the_reason(rejected: bool, said: list[str]) -> None:
    page = evidence_page(studied(MIXED, OFTEN, rejected=rejected))
    for text in said:
        assert text in page
