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
    rows = rows_of("detectors.md", "throttled")
    assert {row[1] for row in rows} == {"0", "0.9"}
    for _, _, _, steady, last, regular, quarter in rows:
        assert max(int(steady), int(last), int(regular)) <= 0.05 * SERIES
        assert int(quarter) >= 0.95 * SERIES


def test_a_stop_of_a_second_is_always_found_and_where_none_was_nothing_is() -> None:
    for stopped, _, *shares, _ in rows_of("detectors.md", "stops"):
        if stopped == "never":
            assert {share.partition(" / ")[0] for share in shares} == {"0"}
        elif float(stopped.removesuffix(" s")) >= 1:
            assert set(shares) == {"100 / 100 %"}


def test_series_that_wander_are_rarely_rejected_and_slopes_always() -> None:
    rows = [(name, int(rejected), int(of)) for name, rejected, of in rows_of("detectors.md", "wandering")]
    noise = [(rejected, of) for name, rejected, of in rows if name.startswith("1/f")]
    assert sum(rejected for rejected, _ in noise) <= 0.017 * sum(of for _, of in noise)
    assert [rejected for name, rejected, _ in rows if name.startswith("saw teeth")] == [0]
    assert [rejected for name, rejected, of in rows if not name.startswith(("1/f", "saw"))] == [1, 1]
