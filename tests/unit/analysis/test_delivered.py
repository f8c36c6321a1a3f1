"""As delivered and quiet: what a verdict needs, what is said of rejected trials, and how often steal is found."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from nephoscope.analysis.agreement import agree
from nephoscope.analysis.boards import Board, boards_of
from nephoscope.analysis.cells import Cell, cells_of
from nephoscope.analysis.comparisons import comparisons_of
from nephoscope.analysis.delivered import compared_as_delivered, disturbed_trials
from nephoscope.analysis.quiet_boards import QuietBoards, quiet_boards
from nephoscope.analysis.ranks import surely_better, surely_better_in_both
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import ClaimRow, Comparison, ComparisonVerdict, DeliveredRow, RankRow, Statistic, StealRow
from nephoscope.model.written import OVERALL
from nephoscope.stats.proportion import proportion_interval
from nephoscope.study.claims import Claims
from tests.unit.analysis.study_builder import METRICS, Rows, inputs, observed, rows

BETTER, WORSE, TIE, OPEN = (
    ComparisonVerdict.BETTER,
    ComparisonVerdict.WORSE,
    ComparisonVerdict.TIE,
    ComparisonVerdict.UNRESOLVED,
)
QUIET = [1000.0, 1003, 1006, 1009, 1012, 1015, 1018, 1021]
FASTER = [1050.0, 1053, 1056, 1059, 1062, 1065]
STOLEN = [880.0, 883, 886, 889, 892, 895, 898, 901, 904, 907]
OFTEN = range(1, 25, 6)
MIXED = [value for place in range(4) for value in (FASTER[place], *(STOLEN * 2)[5 * place : 5 * place + 5])]
"""Its replicates `OFTEN` are quiet and faster than `QUIET`, and the others are stolen from."""

TYPES = {"a": ("aws", "m6a.large"), "b": ("aws", "m6i.large"), "c": ("gcp", "n2-standard-4")}
"""Of a and b, only the vendors of the CPUs differ."""


def with_stolen(found: Rows, of: str, spared: Collection[int], *, rejected: bool) -> Rows:
    """Trials of one configuration lost a tenth of their CPU time, except for these replicates."""
    reason = "steal: db-1: 10 % of CPU time was stolen; db-2: 9 % of CPU time was stolen"  # as a cluster has it
    judged = {"verdict": VerdictKind.INVALID, "reasons": [reason], "rejected_by": ["steal"]} if rejected else {}
    return [
        row.model_copy(update={"stolen_share": 0.1, **judged})
        if row.configuration == of and row.replicate not in spared
        else row.model_copy(update={"stolen_share": 0.0})
        for row in found[0]
    ], found[1]


def studied(b: list[float], spared: Collection[int], *, rejected: bool) -> AnalysedStudy:
    a = QUIET * 3 if len(b) == 3 * len(QUIET) else QUIET  # within blocks, only replicates of both are compared
    return analyse(inputs(with_stolen(rows({"a": a, "b": b}), "b", spared, rejected=rejected)))


def plain(study: AnalysedStudy) -> Comparison:
    (row,) = (row for row in study[Comparison] if not row.per_cpu)
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
    study = studied(MIXED, spared=OFTEN, rejected=False)
    found = plain(study)
    assert (found.delivered, found.quiet, found.verdict) == (BETTER, WORSE, OPEN)
    assert found.ratio > 1 > (found.quiet_ratio or 2)
    assert str(found.reason) == "better as delivered, but worse in quiet trials"
    (row,) = (row for row in study[DeliveredRow] if not row.per_cpu)
    assert (row.configuration, row.n, row.n_quiet, row.n_rejected) == ("b", 24, 4, 0)
    assert (row.median, row.quiet_median) == (896.5, 1054.5)
    assert any("a: better as delivered, but worse in quiet trials." in str(row.text) for row in study.insights)


def test_quiet_trials_that_are_too_few_confirm_nothing() -> None:
    assert plain(studied(STOLEN, spared=range(1, 2), rejected=False)).quiet is OPEN
    none_quiet = plain(studied(STOLEN, spared=(), rejected=False))
    assert (none_quiet.delivered, none_quiet.quiet, none_quiet.verdict) == (BETTER, OPEN, OPEN)
    assert none_quiet.quiet_ratio is None


def test_both_views_that_agree_give_the_verdict_as_delivered() -> None:
    found = plain(studied([*(value - 60 for value in QUIET), *STOLEN], spared=range(1, 9), rejected=False))
    assert (found.delivered, found.quiet, found.verdict, str(found.reason)) == (BETTER, BETTER, BETTER, "")


def among_three(
    b: list[float], spared: Collection[int], *, types: dict[str, tuple[str, str]] | None = None
) -> AnalysedStudy:
    values = {"a": QUIET * 3, "b": b, "c": [0.7 * value for value in QUIET * 3]}
    return analyse(inputs(with_stolen(rows(values), "b", spared, rejected=False), types=types))


def plain_best(study: AnalysedStudy) -> BestRow:
    (row,) = (row for row in study[BestRow] if row.view == "plain" and row.scope == OVERALL)
    return row


def plain_ranks(study: AnalysedStudy) -> dict[str, tuple[int, int]]:
    return {row.configuration: (row.first, row.last) for row in study[RankRow] if row.view == "plain"}


def test_a_machine_that_is_the_best_in_one_view_only_is_no_winner() -> None:
    study = among_three(MIXED, spared=OFTEN)
    best = plain_best(study)
    assert (best.best, best.excluded, best.tied) == (["a", "b"], 1, False)
    assert str(best.reason) == "as delivered a is the best, but in quiet trials b is the best"
    assert plain_ranks(study) == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    (said,) = (
        str(one.text) for one in study.insights if one.rule == "answer" and "may be the fastest" in str(one.text)
    )
    assert "a or b may be the fastest; 1 of 3 is clearly slower." in said
    assert "As delivered a is the best, but in quiet trials b is the best." in said
    two = plain_best(studied(MIXED, spared=OFTEN, rejected=False))
    assert (two.best, two.excluded, two.reason) == (["a", "b"], 0, best.reason)


def test_one_that_both_views_call_the_best_is_the_winner() -> None:
    best = plain_best(among_three([*(value - 60 for value in QUIET), *STOLEN, *STOLEN[:6]], spared=range(1, 9)))
    assert (best.best, best.excluded, str(best.reason)) == (["a"], 2, "")


def test_too_few_quiet_trials_exclude_nobody() -> None:
    study = among_three([*STOLEN, *STOLEN, *STOLEN[:4]], spared=range(1, 2))
    best = plain_best(study)
    assert best.best == ["a", "b"]
    assert str(best.reason).endswith("too few trials of b were quiet to exclude it")
    assert plain_ranks(study) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}


def test_a_machine_that_was_never_quiet_counts_as_it_delivered_among_many_but_not_in_a_pair() -> None:
    never = [*STOLEN, *STOLEN, *STOLEN[:4]]
    study = among_three(never, spared=())
    best = plain_best(study)
    assert (best.best, best.excluded) == (["a"], 2)
    assert str(best.reason) == "no trial of b was quiet, so what it delivered counts in both views"
    assert plain_ranks(study) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    pair = studied(never, spared=(), rejected=False)
    assert plain(pair).verdict is OPEN
    assert plain_best(pair).excluded == 0, "the best of two says what their comparison says"


@pytest.mark.parametrize(
    ("b", "spared", "verdict", "quiet", "reason"),
    [
        (MIXED, OFTEN, OPEN, BETTER, "worse as delivered, but better in quiet trials"),
        ([*STOLEN, *STOLEN, *STOLEN[:4]], (), OPEN, OPEN, "worse as delivered, but not decided in quiet trials"),
        ([*(value - 60 for value in QUIET), *STOLEN, *STOLEN[:6]], range(1, 9), WORSE, WORSE, ""),
    ],
)
def test_a_contrast_needs_both(
    b: list[float], spared: Collection[int], verdict: ComparisonVerdict, quiet: ComparisonVerdict, reason: str
) -> None:
    study = among_three(b, spared, types=TYPES)
    found = [row for row in study[ContrastRow] if row.view == "plain"]
    assert found, "a and b differ in nothing but the vendor of their CPUs"
    for row in found:
        of_b = row if (row.lefts, row.rights) == (["b"], ["a"]) else row.mirrored()
        assert (of_b.verdict, of_b.delivered, of_b.quiet, str(of_b.reason)) == (verdict, WORSE, quiet, reason)


def of_split_machines() -> AnalysedStudy:
    """As `among_three`, but b ran on two models of CPU, so that it counts as two configurations."""
    found = with_stolen(rows({"a": QUIET * 3, "b": MIXED, "c": QUIET * 3}), "b", OFTEN, rejected=False)
    models = {"b": ("Xeon 8373C", "Xeon 8375C")}
    seen = [
        observed(row, cpu_model=models.get(row.configuration, ("EPYC 7R13",) * 2)[row.replicate % 2])
        for row in found[0]
    ]
    return analyse(inputs(found, types=TYPES, machines=seen))


def test_the_pairs_of_a_contrast_may_have_names_with_spaces() -> None:
    contrasts = [row for row in of_split_machines()[ContrastRow] if row.view == "plain"]
    assert contrasts
    for row in contrasts:
        assert sorted({*row.lefts, *row.rights}) == ["a", "b (Xeon 8373C)", "b (Xeon 8375C)"]
        assert row.pairs == len(row.lefts) == len(row.rights) == 2
        assert (row.mirrored().lefts, row.mirrored().rights) == (row.rights, row.lefts)


def test_what_is_certainly_behind_is_so_in_both_views() -> None:
    trials, measurements = with_stolen(
        rows({"a": QUIET * 3, "b": MIXED, "c": [700.0 + at % 8 for at in range(24)]}),
        "b",
        OFTEN,
        rejected=False,
    )
    cells = cells_of(trials, measurements, METRICS)
    board = next(board for board in boards_of(cells, blocked=True) if board.view == "plain" and board.headline)
    quiet = quiet_boards(cells, disturbed_trials(trials), lambda _: [], blocked=True)
    assert surely_better(board) == {"a": set(), "b": {"a"}, "c": {"a", "b"}}
    assert surely_better_in_both(board, quiet) == {"a": set(), "b": set(), "c": {"a", "b"}}


def test_questions_cost_nothing_and_stay_the_same_without_disturbed_trials() -> None:
    def priced(_: Sequence[Board]) -> list[Board]:
        pytest.fail("no second view is needed")

    trials, measurements = rows({"a": QUIET, "b": FASTER, "c": STOLEN})
    cells = cells_of(trials, measurements, METRICS)
    assert quiet_boards(cells, disturbed_trials(trials), priced, blocked=True) == QuietBoards()
    little = [row.model_copy(update={"stolen_share": 0.01}) for row in trials]
    calm, before = analyse(inputs((little, measurements))), analyse(inputs((trials, measurements)))
    assert (calm[BestRow], calm[RankRow], calm[ContrastRow]) == (before[BestRow], before[RankRow], before[ContrastRow])
    assert {str(row.reason) for row in calm[BestRow]} == {""}


def test_without_stolen_time_nothing_changes() -> None:
    trials, measurements = rows({"a": QUIET, "b": FASTER})
    cells = cells_of(trials, measurements, METRICS)

    def compare(cells: Sequence[Cell]) -> list[Comparison]:
        return comparisons_of(boards_of(cells, blocked=True), Comparison, margin_percent=1.5)

    assert compared_as_delivered(compare(cells), compare, cells, disturbed_trials(trials)) == compare(cells)
    assert analyse(inputs((trials, measurements)))[DeliveredRow] == []


def test_rejected_trials_are_told_by_verdict_rank_and_answer_with_the_median_of_all() -> None:
    study = studied([*FASTER, *STOLEN], spared=range(1, 7), rejected=True)
    found = plain(study)
    assert (found.verdict, found.quiet) == (WORSE, None), "rejected trials are no part of either view"
    assert str(plain_best(study).note).startswith("steal rejected 10 of 16 trials of b")
    note = "steal rejected 10 of 16 trials of b; with them its median is 902.5 New-Orders/min"
    assert str(found.note) == note
    assert {row.configuration: str(row.note) for row in study[RankRow] if row.view == "plain"} == {"a": "", "b": note}
    texts = [str(insight.text) for insight in study.insights if insight.rule in {"answer", "steal"}]
    assert any(f"S{note[1:]}." in text for text in texts)


def test_the_baseline_of_a_burstable_machine_is_no_disturbance() -> None:
    trials, measurements = with_stolen(rows({"a": QUIET, "b": STOLEN}), "b", (), rejected=False)
    spent = [row.model_copy(update={"at_baseline": row.configuration == "b"}) for row in trials]
    found = analyse(inputs((spent, measurements)))
    assert (plain(found).verdict, plain(found).quiet, found[DeliveredRow]) == (BETTER, None, [])
    assert [row.over for row in found[StealRow]] == [0, 10]


def test_a_claim_is_decided_if_both_views_say_the_same() -> None:
    claim = {"id": "c", "text": "t", "source": "s", "kind": "better", "benchmark": "tpcc", "metric": "new_orders*"}
    sides = {"left": {"configuration": "a"}, "right": {"configuration": "b"}}
    claims = Claims.model_validate({"claims": [claim | sides]})
    for b, quiet, verdict in (
        ([*FASTER[:4], *STOLEN, *STOLEN], 4, "not decided"),
        ([*(value - 60 for value in QUIET), *STOLEN], 8, "supported"),
    ):
        found = inputs(with_stolen(rows({"a": QUIET, "b": b}), "b", range(1, quiet + 1), rejected=False))
        study = analyse(replace(found, claims=claims))
        (row,), pair = study[ClaimRow], plain(study)
        assert row.verdict == verdict
        assert (pair.verdict is ComparisonVerdict.BETTER) == (verdict == "supported")
        reason = "not decided as delivered, but refuted in quiet trials" if verdict == "not decided" else ""
        assert str(row.reason) == reason


def test_few_rejected_trials_are_no_caution() -> None:
    study = studied([*QUIET, *FASTER, STOLEN[0]], spared=range(1, 15), rejected=True)
    assert str(plain(study).note) == ""
    assert study[DeliveredRow][0].rejected_share == pytest.approx(1 / 15)


def on_four_machines(steal: VerdictKind) -> AnalysedStudy:
    """Ten trials on each of four machines of b; half of those of each lost CPU time, or on one machine none did."""
    trials, measurements = rows({"a": QUIET, "b": [1100.0 + at for at in range(40)]})
    hit = {
        "stolen_share": 0.2,
        "verdict": steal,
        "reasons": ["steal: db: 20 % of CPU time was stolen"],
        "rejected_by": ["steal"],
    }
    placed = [
        row.model_copy(
            update={"machine": f"{row.configuration}-{row.replicate % 4}", "stolen_share": 0.0}
            | (hit if row.configuration == "b" and row.replicate % 4 and row.replicate <= 20 else {})
        )
        for row in trials
    ]
    return analyse(inputs((placed, measurements)))


def test_where_machines_are_counted_what_steal_rejected_is_still_a_share_of_trials() -> None:
    study = on_four_machines(VerdictKind.INVALID)
    row = next(row for row in study[DeliveredRow] if not row.per_cpu)
    assert next(one for one in study[Statistic] if one.configuration == "b").counted == "machines"
    assert (row.n, row.n_quiet, row.n_rejected, row.rejected_share) == (25, 25, 15, 15 / 40)
    assert "steal rejected 15 of 40 trials of b" in str(plain(study).note)
    kept = next(row for row in on_four_machines(VerdictKind.VALID)[DeliveredRow] if not row.per_cpu)
    assert (kept.n, kept.n_quiet, kept.n_rejected) == (40, 10, 0), "only one machine was quiet all the time"


def test_a_configuration_of_which_steal_left_nothing_still_has_its_median_of_all() -> None:
    row = studied(STOLEN, spared=(), rejected=True)[DeliveredRow][0]
    assert (row.n, row.median, row.n_rejected, row.median_with_rejected) == (0, None, 10, 893.5)


def test_steal_is_a_share_of_trials_with_an_interval() -> None:
    study = studied([*FASTER, *STOLEN], spared=range(1, 7), rejected=False)
    a, b = study[StealRow]
    assert (a.over, a.n, a.share, b.over, b.n, b.share) == (0, 8, 0.0, 10, 16, 0.625)
    assert (b.low, b.high) == proportion_interval(10, 16)
    assert (b.median_stolen_share, b.highest_stolen_share) == (0.1, 0.1)
    (said,) = (str(insight.text) for insight in study.insights if insight.rule == "steal" and insight.benchmark is None)
    assert said.startswith(
        "Trials of b lost over 2 % of CPU time to the hypervisor, 62 % of them (10 of 16; 95 % interval 35 to 85 %)."
    )
