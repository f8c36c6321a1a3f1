"""As delivered and quiet: what a verdict needs, what is said of rejected trials, and how often steal is found."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nephoscope.analysis.agreement import agree
from nephoscope.analysis.analyse import analyse
from nephoscope.analysis.boards import boards_of
from nephoscope.analysis.cells import Cell, cells_of
from nephoscope.analysis.comparisons import comparisons_of
from nephoscope.analysis.delivered import compared_as_delivered, disturbed_trials
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import Comparison, ComparisonVerdict
from nephoscope.stats.proportion import proportion_interval
from nephoscope.study.claims import Claims
from tests.unit.analysis.study_builder import METRICS, Rows, inputs, rows

BETTER, WORSE, TIE, OPEN = (
    ComparisonVerdict.BETTER,
    ComparisonVerdict.WORSE,
    ComparisonVerdict.TIE,
    ComparisonVerdict.UNRESOLVED,
)
QUIET = [1000.0, 1003, 1006, 1009, 1012, 1015, 1018, 1021]
FASTER = [1050.0, 1053, 1056, 1059, 1062, 1065]
STOLEN = [880.0, 883, 886, 889, 892, 895, 898, 901, 904, 907]


def with_stolen(found: Rows, of: str, after: int, *, rejected: bool) -> Rows:
    """Trials of one configuration after the first `after` lost a tenth of their CPU time."""
    judged = {"verdict": VerdictKind.INVALID, "reasons": ["steal: db: 10 % of CPU time was stolen"]} if rejected else {}
    return [
        row.model_copy(update={"stolen_share": 0.1, **judged})
        if row.configuration == of and row.replicate > after
        else row.model_copy(update={"stolen_share": 0.0})
        for row in found[0]
    ], found[1]


def studied(b: list[float], after: int, *, rejected: bool) -> AnalysedStudy:
    a = QUIET * 3 if len(b) == 3 * len(QUIET) else QUIET  # within blocks, only replicates of both are compared
    return analyse(inputs(with_stolen(rows({"a": a, "b": b}), "b", after, rejected=rejected)))


def plain(study: AnalysedStudy) -> Comparison:
    (row,) = (row for row in study.comparisons if not row.per_cpu)
    return row


@pytest.mark.parametrize(
    ("delivered", "quiet", "verdict"),
    [
        (BETTER, None, BETTER),
        (BETTER, BETTER, BETTER),
        (TIE, TIE, TIE),
        (OPEN, OPEN, OPEN),
        (BETTER, WORSE, OPEN),
        (BETTER, TIE, OPEN),
        (BETTER, OPEN, OPEN),
        (OPEN, BETTER, OPEN),
    ],
)
def test_a_verdict_needs_both(
    delivered: ComparisonVerdict, quiet: ComparisonVerdict | None, verdict: ComparisonVerdict
) -> None:
    found = agree(delivered, quiet)
    assert found.verdict is verdict
    assert bool(found.reason) == (quiet not in {None, delivered})


def test_a_machine_that_is_faster_when_quiet_and_delivers_less_is_neither_better_nor_worse() -> None:
    study = studied([*FASTER[:4], *STOLEN, *STOLEN], after=4, rejected=False)
    found = plain(study)
    assert (found.delivered, found.quiet, found.verdict) == (BETTER, WORSE, OPEN)
    assert found.ratio > 1 > (found.quiet_ratio or 2)
    assert found.reason == "better as delivered, but worse in quiet trials"
    (row,) = (row for row in study.delivered if not row.per_cpu)
    assert (row.configuration, row.n, row.n_quiet, row.n_rejected) == ("b", 24, 4, 0)
    assert (row.median, row.quiet_median) == (896.5, 1054.5)
    assert any(
        "because a is better as delivered, but worse in quiet trials" in insight.text for insight in study.insights
    )


def test_quiet_trials_that_are_too_few_confirm_nothing() -> None:
    assert plain(studied(STOLEN, after=1, rejected=False)).quiet is OPEN
    none_quiet = plain(studied(STOLEN, after=0, rejected=False))
    assert (none_quiet.delivered, none_quiet.quiet, none_quiet.verdict) == (BETTER, OPEN, OPEN)
    assert none_quiet.quiet_ratio is None


def test_both_views_that_agree_give_the_verdict_as_delivered() -> None:
    found = plain(studied([*(value - 60 for value in QUIET), *STOLEN], after=8, rejected=False))
    assert (found.delivered, found.quiet, found.verdict, found.reason) == (BETTER, BETTER, BETTER, "")


def test_without_stolen_time_nothing_changes() -> None:
    trials, measurements = rows({"a": QUIET, "b": FASTER})
    cells = cells_of(trials, measurements, METRICS)

    def compare(cells: Sequence[Cell]) -> list[Comparison]:
        return comparisons_of(boards_of(cells, blocked=True), Comparison, margin_percent=1.5)

    assert compared_as_delivered(cells, compare, disturbed_trials(trials)) == compare(cells)
    assert analyse(inputs((trials, measurements))).delivered == []


def test_rejected_trials_are_told_by_verdict_rank_and_answer_with_the_median_of_all() -> None:
    study = studied([*FASTER, *STOLEN], after=6, rejected=True)
    found = plain(study)
    assert (found.verdict, found.quiet) == (WORSE, None), "rejected trials are no part of either view"
    note = "steal rejected 10 of 16 trials of b; with them its median is 902.5 New-Orders/min"
    assert found.note == note
    assert {row.configuration: row.note for row in study.ranks if row.view == "plain"} == {"a": "", "b": note}
    texts = [insight.text for insight in study.insights if insight.rule in {"answer", "steal"}]
    assert any(
        text.endswith("Steal rejected over 10 % of the trials of b, which changes what this says.") for text in texts
    )
    assert any("with them the median is 902.5" in text and "without them 1,058" in text for text in texts)


def test_the_baseline_of_a_burstable_machine_is_no_disturbance() -> None:
    trials, measurements = with_stolen(rows({"a": QUIET, "b": STOLEN}), "b", 0, rejected=False)
    spent = [row.model_copy(update={"at_baseline": row.configuration == "b"}) for row in trials]
    found = analyse(inputs((spent, measurements)))
    assert (plain(found).verdict, plain(found).quiet, found.delivered) == (BETTER, None, [])
    assert [row.over for row in found.steal] == [0, 10]


def test_a_claim_is_decided_if_both_views_say_the_same() -> None:
    claim = {"id": "c", "text": "t", "source": "s", "kind": "better", "benchmark": "tpcc", "metric": "new_orders*"}
    sides = {"left": {"configuration": "a"}, "right": {"configuration": "b"}}
    claims = Claims.model_validate({"claims": [claim | sides]})
    for b, after, verdict in (
        ([*FASTER[:4], *STOLEN, *STOLEN], 4, "not decided"),
        ([*(value - 60 for value in QUIET), *STOLEN], 8, "supported"),
    ):
        found = inputs(with_stolen(rows({"a": QUIET, "b": b}), "b", after, rejected=False))
        (row,) = analyse(replace(found, claims=claims)).claims
        assert row.verdict == verdict
        assert (row.reason == "supported as delivered, but refuted in quiet trials") == (verdict == "not decided")


def test_few_rejected_trials_are_no_caution() -> None:
    study = studied([*QUIET, *FASTER, STOLEN[0]], after=14, rejected=True)
    assert plain(study).note == ""
    assert study.delivered[0].rejected_share == pytest.approx(1 / 15)


def test_a_configuration_of_which_steal_left_nothing_still_has_its_median_of_all() -> None:
    row = studied(STOLEN, after=0, rejected=True).delivered[0]
    assert (row.n, row.median, row.n_rejected, row.median_with_rejected) == (0, None, 10, 893.5)


def test_steal_is_a_share_of_trials_with_an_interval() -> None:
    study = studied([*FASTER, *STOLEN], after=6, rejected=False)
    a, b = study.steal
    assert (a.over, a.n, a.share, b.over, b.n, b.share) == (0, 8, 0.0, 10, 16, 0.625)
    assert (b.low, b.high) == proportion_interval(10, 16)
    assert (b.median_stolen_share, b.highest_stolen_share) == (0.1, 0.1)
    (said,) = (insight.text for insight in study.insights if insight.rule == "steal" and insight.benchmark is None)
    assert said.startswith("b: 62 % of trials lost over 2 % of CPU time to the hypervisor, 35 to 85 % at a confidence")
