"""What the simulated tables show; that they are those of the code is tested with all generated parts."""

import re

from tests.docs.disturbances import POLICIES, SERIES, STUDIES
from tests.docs.pages import ROOT


def rows_of(page: str, part: str) -> list[list[str]]:
    """The cells of a generated table, without its head."""
    text = (ROOT / "docs" / "concepts" / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- generated: {part} -->\n(.*?)<!-- end of generated -->", text, re.DOTALL)
    assert found
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].strip().splitlines()[2:]]


def test_rejecting_and_repeating_name_a_winner_that_delivers_less_and_recording_does_not() -> None:
    better = {policy: int(count) for policy, _, count, *_ in rows_of("bias.md", "disturbance")}
    assert list(better) == list(POLICIES)
    reject, repeated, record = better.values()
    assert reject > STUDIES / 2
    assert repeated >= 0.99 * STUDIES
    assert record == 0


def test_only_a_fall_that_lasts_is_throttled() -> None:
    rows = rows_of("methodology.md", "throttled")
    assert {row[1] for row in rows} == {"0", "0.9"}
    for _, _, _, steady, last, regular, quarter in rows:
        assert max(int(steady), int(last), int(regular)) <= 0.05 * SERIES
        assert int(quarter) >= 0.95 * SERIES
