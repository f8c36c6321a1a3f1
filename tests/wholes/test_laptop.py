"""The stored results of the study of a laptop, whose report is the picture in README, as today's code reports them."""

import tarfile
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.store.folder import ResultsFolder
from tests.support.quotients import checked
from tests.support.reader import Reader
from tests.support.report_folder import main_page

STORED = Path(__file__).resolve().parents[2] / "docs/examples/laptop/results.tar.xz"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("laptop")
    with tarfile.open(STORED) as archive:
        archive.extractall(folder, filter="data")
    return Reader(main_page(evaluation.analyze(ResultsFolder.existing(folder))))


def test_every_ratio_of_a_card_is_the_quotient_of_the_two_numbers_beside_it(page: Reader) -> None:
    found = list(checked(page.cards))
    assert len(found) == len(page.cards) > 3
    assert [text for text, right in found if not right] == []


def test_where_medians_say_something_else_the_card_says_so(page: Reader) -> None:
    (card,) = (card for card in page.cards if card.text("card-question") == "stress-ng matrix")
    assert card.text("card-after").startswith("By medians 1.87×: 2 of 6 values of 2 CPUs")
