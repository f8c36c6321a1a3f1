"""The stored simultaneous intervals decide the same pairs as the stored ranks, and no others after a shift."""

import math
from itertools import combinations

import pytest

from nephoscope.analysis.boards import boards_of
from nephoscope.analysis.cells import cells_of
from nephoscope.analysis.quiet_boards import QuietBoards
from nephoscope.analysis.ranks import rank_intervals_of
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import RankIntervals
from nephoscope.model.rows import RankRow, Statistic
from tests.unit.analysis.study_builder import TPMC, inputs, rows
from tests.unit.analysis.test_delivered import MIXED, OFTEN, among_three
from tests.unit.report import priced_example

Ranks = dict[str, tuple[int, int]]


def ranks(found: RankIntervals, shift: dict[str, float]) -> Ranks:
    """The ranks that the intervals give to the configurations in `shift`, each moved by so much."""
    above, below = dict.fromkeys(shift, 0), dict.fromkeys(shift, 0)
    halves = iter(found.half_widths)
    for (left, level), (right, other) in combinations(zip(found.configurations, found.levels, strict=True), 2):
        half = next(halves)
        if half is None or left not in shift or right not in shift:
            continue
        gap, moved = level - other, shift[left] - shift[right]
        for better, worse, sign in ((left, right, 1), (right, left, -1)):
            if (sign * gap > 0 and sign * moved >= 0) if found.signs_only else sign * (gap + moved) - half > 0:
                below[better] += 1
                above[worse] += 1
    return {name: (1 + above[name], len(shift) - below[name]) for name in shift}


def stored(study: AnalysedStudy, found: RankIntervals, view: str) -> dict[str | None, list[RankRow]]:
    chosen = [
        row for row in study[RankRow] if (row.benchmark, row.metric, row.view) == (found.benchmark, found.metric, view)
    ]
    return {basis: [row for row in chosen if row.basis == basis] for basis in {row.basis for row in chosen}}


def covers(wide: Ranks, narrow: list[RankRow]) -> bool:
    return all(wide[row.configuration][0] <= row.first <= row.last <= wide[row.configuration][1] for row in narrow)


def test_they_give_the_stored_ranks_of_every_view() -> None:
    study = priced_example.priced()
    assert [row.benchmark for row in study[RankIntervals]] == ["reads", "tpcc", "waits"]
    months = {(row.configuration, row.basis): row.month_usd for row in study[CostRow] if row.month_usd}
    cpus = {row.configuration: row.cpus or 0 for row in study[Statistic]}
    seen = 0
    for found in study[RankIntervals]:
        plain = ranks(found, dict.fromkeys(found.configurations, 0.0))
        (rows_plain,) = stored(study, found, "plain").values()
        assert {row.configuration: (row.first, row.last) for row in rows_plain} == plain
        for rows_cpu in stored(study, found, "per CPU").values():
            assert covers(ranks(found, {name: -math.log(cpus[name]) for name in found.configurations}), rows_cpu)
            seen += 1
        for basis, of in stored(study, found, "per dollar").items():
            shift = {row.configuration: -math.log(months[row.configuration, str(basis)]) for row in of}
            assert covers(ranks(found, shift), of)
            seen += 1
    assert seen > 5


def test_in_steps_only_the_direction_is_known() -> None:
    values = {"a": [10.0] * 8, "b": [9.0] * 8, "c": [9.0] * 8}
    study = analyse(inputs(rows(values)))
    found = study[RankIntervals][0]
    assert found.signs_only
    assert found.half_widths == [0.0, 0.0, None], "b and c are equal"
    assert ranks(found, {"a": 0.0, "b": 0.0}) == {"a": (1, 1), "b": (2, 2)}
    assert ranks(found, {"a": -0.01, "b": 0.0}) == {"a": (1, 2), "b": (1, 2)}, "by how much is not known"


@pytest.mark.parametrize("spared", [OFTEN, range(1, 13)])
def test_a_disturbed_board_covers_both_views(spared: range) -> None:
    study = among_three(MIXED, spared)
    found = study[RankIntervals][0]
    (rows_plain,) = stored(study, found, "plain").values()
    assert covers(ranks(found, dict.fromkeys(found.configurations, 0.0)), rows_plain)
    assert any(row.last == 2 for row in rows_plain)


def test_one_value_each_decides_nothing() -> None:
    study = analyse(inputs(rows({"a": [1.0], "b": [2.0]})))
    assert [row.half_widths for row in study[RankIntervals]] == [[None]]


def test_more_pairs_than_a_report_can_hold_are_left_out() -> None:
    cells = cells_of(*rows({"a": [1.0, 1.1], "b": [2.0, 2.1], "c": [3.0, 3.1]}), {"tpcc": [TPMC]})
    boards = boards_of(cells, blocked=True)
    assert len(rank_intervals_of(boards, QuietBoards(), max_pairs=3)) == 1
    assert rank_intervals_of(boards, QuietBoards(), max_pairs=2) == []
