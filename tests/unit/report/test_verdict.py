"""Cards of the main page: each says what the stored answer says, in words that a person needs no handbook for."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.analysis.answers import MAX_WINNERS
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import MAX_NAMED, enumerated, names_benchmark, names_of
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy, OnlyDifference, PartOfStudy
from nephoscope.model.events import Event
from nephoscope.model.price_rows import CostLineRow, CostRow, priced_quantity
from nephoscope.model.publication import Publication
from nephoscope.model.questions import Behind, BestRow, Headline, RankIntervals
from nephoscope.model.records import Metric, Omission, SourceRecord
from nephoscope.model.rows import Comparison, ComparisonVerdict, Statistic, TrialRow
from nephoscope.model.sentence import Sentence
from nephoscope.report.main.boards import main_board
from nephoscope.report.main.measured import compared, design, measured
from nephoscope.report.main.verdict import MAX_CARDS, Card, Verdict, repair, verdict
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Book, Page
from nephoscope.report.sections.opening import key_facts
from tests.support.some_tables import with_tables
from tests.unit.analysis.study_builder import inputs, rows
from tests.unit.report import priced_example
from tests.unit.report import report_example as example

WRONG_WINNER = "Chance of a wrong winner: at most 5 %."


def verdict_on(study: AnalysedStudy) -> Verdict:
    return verdict(Book(Lookup(study)).turned_to(Page.MAIN))


def words(one: Card) -> str:
    return f"{one.number} {one.about} ({one.interval})"


def card(study: AnalysedStudy, question: str) -> Card:
    return next(one for one in verdict_on(study).shown if one.question == question)


def test_the_winner_of_many_is_told_against_the_next_with_its_costs() -> None:
    study = priced_example.priced()
    found = card(study, "Operations")
    assert (found.state, found.answer, found.sure) == ("decided", "Best: aws-c5a", WRONG_WINNER)
    (row,) = [
        row
        for row in study[Comparison]
        if (row.benchmark, row.left, row.right, row.per_cpu) == ("reads", "aws-c5a", "unsold", False)
    ]
    assert (found.number, found.about) == (f"{row.ratio:.2f}×", "the rate of unsold, number 2 of 6")
    assert found.interval == f"{row.low:.2f} to {row.high:.2f}×"
    assert found.costs == (
        "Costs $2,863.08 a month for 3 × c5a.8xlarge, $73.24 a month per 1,000 operation/s (on-demand).",
        "Least cost for the work: azure-d8s, $57.31 a month per 1,000 operation/s.",
    )
    assert [bar.name for bar in found.bars] == ["aws-c5a", "unsold", "gcp-n2", "azure-d8s"], "the best of each cloud"
    assert found.more == 2
    assert all(0 < bar.low <= bar.level <= bar.high <= 100 for bar in found.bars)
    assert found.evidence is not None
    assert found.evidence.startswith("evidence.html#evidence-")


def test_lower_is_better_is_said_and_the_interval_is_explained_once() -> None:
    found = verdict_on(priced_example.priced())
    wait = next(one for one in found.shown if one.question == "Wait")
    assert wait.answer == "Best: azure-d8s"
    assert re.fullmatch(r"[\d.]+ % less time than \S+, number 2 of 6 \([\d.]+ to [\d.]+ %\)", words(wait))
    less, least, most = (float(number) for number in re.findall(r"([\d.]+) (?:%|to)", words(wait)))
    assert 0 < least < less < most < 100
    assert found.about_intervals == "Intervals made this way contain the true ratio 95 times in 100."


def test_a_card_names_no_winner_where_the_stored_answer_has_none() -> None:
    """The verdict on the page follows the stored rows, whatever the medians are."""
    study = priced_example.priced()
    open_rows = [
        row.model_copy(update={"best": ["aws-c5a", "unsold"], "excluded": 0}) if row.benchmark == "reads" else row
        for row in study[BestRow]
    ]
    found = card(with_tables(study, {BestRow: open_rows}), "Operations")
    assert (found.state, found.answer, found.about) == ("open", "Not decided", "Any of the 6 may be the fastest")
    group = [row.model_copy(update={"best": ["aws-c5a", "unsold"], "excluded": 4}) for row in study[BestRow]]
    found = card(with_tables(study, {BestRow: group}), "Operations")
    assert (found.state, found.answer, found.number) == ("decided", "Best: aws-c5a or unsold", "2 of 6")
    assert found.about == "may be the fastest; 4 of 6 are clearly slower"
    assert found.sure.endswith("Chance that the fastest is not among them: at most 5 %.")
    names = [row.configuration for row in study[CostRow] if row.basis == "on-demand"]
    many = [row.model_copy(update={"best": names[:5], "excluded": 1}) for row in study[BestRow]]
    found = card(with_tables(study, {BestRow: many}), "Operations")
    assert (found.state, found.answer) == ("open", "No winner")
    assert found.about == (
        "1 of 6 is clearly slower; any of the remaining 5 (2 on AWS, 2 on Google Cloud and 1 on Azure) may be the "
        "fastest"
    )


def test_the_cloud_of_all_that_lead_is_said_where_they_are_too_many_to_name() -> None:
    study = priced_example.priced(6, {**priced_example.MACHINES, **_more_of("aws-c5a", 4)})
    lead = [row.configuration for row in study[CostRow] if row.basis == "on-demand" and row.provider == "aws"]
    assert len(lead) > MAX_WINNERS
    behind = [Behind("gcp-n2", -9.8)]
    found = _led_by(study, lead, behind)
    assert (found.answer, found.number) == (f"Best: one of {len(lead)} on AWS", f"{len(lead)} of 10")
    assert found.about == "may be the fastest; clearly slower: gcp-n2, 9.8 % below the median of the others"
    assert f"{len(lead)} of 10, all on AWS, may be the fastest" in found.sentence
    found = _led_by(study, [*lead, "azure-d8s"], behind)
    assert (found.answer, found.about.partition(" may ")[0]) == (
        f"Best: one of {len(lead) + 1}",
        f"({len(lead)} on AWS and 1 on Azure)",
    )


def _more_of(name: str, count: int) -> priced_example.Machines:
    return {f"{name}-{number}": priced_example.MACHINES[name] for number in range(count)}


def _led_by(study: AnalysedStudy, lead: list[str], behind: list[Behind]) -> Card:
    """Its card, were these the configurations that lead."""
    changed = {"best": lead, "behind": behind, "excluded": 10 - len(lead), "tied": False}
    rows = [row.model_copy(update=changed) for row in study[BestRow]]
    return card(with_tables(study, {BestRow: rows}), "Operations")


def test_bars_have_the_best_of_each_cloud() -> None:
    """However far it is behind: a reader asks which cloud."""
    study = priced_example.priced(6, {**priced_example.MACHINES, **_more_of("aws-c5a", 4)})
    found = card(study, "Operations")
    assert {bar.name.partition("-")[0] for bar in found.bars} >= {"aws", "gcp", "azure"}
    levels = [bar.level for bar in found.bars]
    assert levels == sorted(levels, reverse=True)


def test_a_card_says_the_name_of_its_benchmark_once() -> None:
    assert card(priced_example.priced(), "Operations").of == "reads"
    for title, benchmark, said in (
        ("reads per second", "reads", True),
        ("reads per second", "reads-2", False),
        ("stress-ng matrix", "stress-ng-matrix", True),
        ("stress-ng matrix", "stress-ng", True),
        ("stress-ng matrix", "stress-ng-cpu", False),
        ("TPC-C tpmC", "tpcc", True),
        ("TPC-C tpmC", "tpcc-150", False),
        ("point selects per second", "point-select", False),
    ):
        assert names_benchmark(Metric.higher("rate", "1/s", title), benchmark) is said, (title, benchmark)


def test_an_undecided_comparison_gives_a_winner_no_ratio() -> None:
    study = priced_example.priced()
    rows = [
        row.model_copy(update={"verdict": ComparisonVerdict.UNRESOLVED}) if "aws-c5a" in (row.left, row.right) else row
        for row in study[Comparison]
    ]
    found = card(with_tables(study, {Comparison: rows}), "Operations")
    assert (found.answer, found.about) == ("Best: aws-c5a", "level")
    levels = {row.configuration: row.level for row in study[Statistic] if row.benchmark == "reads" and not row.per_cpu}
    behind = 100 * (1 - (levels["unsold"] or 0) / (levels["aws-c5a"] or 1))
    second = f"Number 2 of 6, unsold, is {behind:.0f} % lower."
    assert found.after == f"{second} The test over all 6 rules it out; the two alone are not decided."
    others = [
        row.model_copy(update={"of": 5, "left_out": [Omission("unsold", Sentence("another machine"))]})
        for row in study[BestRow]
    ]
    found = card(with_tables(study, {Comparison: rows, BestRow: others}), "Operations")
    assert found.after == f"{second} It did not compete.", "no test ruled it out"


def test_a_tie_of_all_counts_nobody() -> None:
    study = priced_example.priced()
    names = [row.configuration for row in study[Statistic] if row.benchmark == "reads" and not row.per_cpu]
    tied = [row.model_copy(update={"best": names, "excluded": 0, "tied": True}) for row in study[BestRow]]
    found = card(with_tables(study, {BestRow: tied}), "Operations")
    assert (found.state, found.answer) == ("tie", "A tie: 6 configurations")
    assert (found.number, found.about) == ("", f"All 6 are within {tied[0].margin_percent:g} % of each other")
    few = [row.model_copy(update={"best": names[:2], "excluded": 4, "tied": True}) for row in study[BestRow]]
    found = card(with_tables(study, {BestRow: few}), "Operations")
    assert (found.number, found.about.partition(",")[0]) == ("2 of 6", "lead")


def test_what_steal_leaves_open_is_on_the_card() -> None:
    study = priced_example.priced()
    rows = [row.model_copy(update={"reason": "as delivered a, in quiet trials b"}) for row in study[BestRow]]
    found = card(with_tables(study, {BestRow: rows}), "Operations")
    assert found.caution == "As delivered a, in quiet trials b."


@pytest.mark.parametrize(
    ("verdict_of_two", "state", "answer"),
    [
        (ComparisonVerdict.BETTER, "decided", "Best: local-all"),
        (ComparisonVerdict.TIE, "tie", "A tie: local-all and local-1cpu"),
        (ComparisonVerdict.UNRESOLVED, "open", "Not decided"),
    ],
)
def test_two_are_told_by_their_comparison(verdict_of_two: ComparisonVerdict, state: str, answer: str) -> None:
    study = example.laptop()
    rows = [
        row.model_copy(update={"left": "local-all", "right": "local-1cpu", "verdict": verdict_of_two})
        for row in study[Comparison]
    ]
    found = card(with_tables(study, {Comparison: rows}), "Point selects")
    assert (found.state, found.answer) == (state, answer)
    decided = verdict_of_two is ComparisonVerdict.BETTER
    assert found.before == ("" if decided else "local-all ÷ local-1cpu =")


def test_one_configuration_has_its_median_and_single_runs_no_answer() -> None:
    alone = card(example.not_run(), "Point selects")
    assert (alone.answer, alone.about) == ("local-1cpu", "median, n = 4")
    assert alone.interval
    single = verdict_on(priced_example.priced(1)).shown
    assert {(one.state, one.about) for one in single} == {
        ("open", f"the {extreme} single run of 6; each was measured once, so nothing is decided")
        for extreme in ("highest", "lowest")
    }
    assert all(one.answer == one.bars[0].name and one.number == one.bars[0].value for one in single)


def test_a_card_with_one_side_says_what_became_of_the_other() -> None:
    study = example.laptop()
    left = [row for row in study[Statistic] if (row.benchmark, row.configuration) != ("tpcc", "local-1cpu")]
    trials = [row for row in study[TrialRow] if (row.benchmark, row.configuration) == ("tpcc", "local-1cpu")]
    found = next(one for one in verdict_on(with_tables(study, {Statistic: left})).shown if one.benchmark == "tpcc")
    assert found.answer == "local-all"
    assert found.sure == f"local-1cpu: none of {len(trials)} trials usable."


def test_a_stall_of_a_trial_that_counts_is_beside_its_number() -> None:
    study = example.laptop()
    stall = Event("stall", 1, first_s=4.0, length_s=2.0, cost=0.25, metric="new_orders_per_minute")
    rows = [
        row.model_copy(update={"events": [stall]}) if (row.benchmark, row.replicate) == ("tpcc", 1) else row
        for row in study[TrialRow]
    ]
    cards = verdict_on(with_tables(study, {TrialRow: rows})).shown
    said = {card.benchmark: card.events for card in cards}
    assert said.pop("tpcc")[0] == (
        "local-all, replicate 1: nothing was completed for 2 s, from 4 s on, at a cost of 25 % of the mean."
    )
    assert not any(said.values())


def test_what_has_not_run_yet_is_not_called_lost() -> None:
    study = example.laptop()
    left = [row for row in study[Statistic] if (row.benchmark, row.configuration) != ("tpcc", "local-1cpu")]
    waiting = [
        row.model_copy(update={"state": "planned", "verdict": None})
        if (row.benchmark, row.configuration) == ("tpcc", "local-1cpu") and row.replicate > 1
        else row
        for row in study[TrialRow]
    ]
    cards = verdict_on(with_tables(study, {Statistic: left, TrialRow: waiting})).shown
    found = next(one for one in cards if one.benchmark == "tpcc")
    assert found.sure == "local-1cpu: no usable trial yet, 5 of 6 trials still to come."


def test_what_is_measured_on_one_of_two_configurations_gets_no_card() -> None:
    study = example.laptop()

    def other(row: Any) -> bool:
        return (row.benchmark, row.configuration) != ("tpcc", "local-1cpu")

    changed: dict[type[Any], list[Any]] = {
        Statistic: list(filter(other, study[Statistic])),
        TrialRow: list(filter(other, study[TrialRow])),
    }
    assert "tpcc" in {one.benchmark for one in verdict_on(study).shown}
    assert "tpcc" not in {one.benchmark for one in verdict_on(with_tables(study, changed)).shown}


def test_a_pair_that_more_replicates_hardly_decide_is_not_told_how_many() -> None:
    row = example.laptop()[Comparison][0]
    row = row.model_copy(update={"n_left": 6, "n_right": 5, "verdict": ComparisonVerdict.UNRESOLVED})
    for n, more, told, hopeless in (
        (5, 15, 15, False), (5, 16, None, True), (5, None, None, False), (3, 1, None, False)
    ):  # fmt: skip
        one = row.model_copy(update={"n_right": n, "more_replicates_needed": more})
        assert (one.more_to_measure, one.is_hardly_decidable) == (told, hopeless)


def test_the_lead_over_the_next_comes_from_the_ranks_where_pairs_are_not_stored() -> None:
    study = priced_example.priced()
    ranks = next(row for row in study[RankIntervals] if row.benchmark == "reads")
    gap, back = ranks.gap("aws-c5a", "unsold"), ranks.gap("unsold", "aws-c5a")
    assert gap is not None
    assert back == (-gap[0], gap[1])
    assert ranks.gap("aws-c5a", "nobody") is None
    found = card(with_tables(study, {Comparison: []}), "Operations")
    assert found.about == "the rate of unsold, number 2 of 6"
    low, high = (float(end.rstrip("×")) for end in found.interval.split(" to "))
    assert 1 < low < math.exp(gap[0]) < high
    assert found.coverage == 0.95


def test_few_cards_cover_every_subject_and_the_rest_is_folded() -> None:
    found = verdict_on(example.full_edition(3))
    subjects = {row.benchmark: row.subject for row in example.full_edition(3).benchmarks}
    assert len(found.shown) == MAX_CARDS
    assert {subjects[one.benchmark] for one in found.shown} == set(subjects.values())
    assert len(found.shown + found.folded) == 10


def test_local_configurations_are_named_by_the_one_thing_that_differs() -> None:
    study = example.laptop()
    only = OnlyDifference(what="CPUs", values={"local-1cpu": "1", "local-all": "all"})
    lookup = Lookup(study.model_copy(update={"only_difference": only}))
    assert names_of(lookup) == {"local-1cpu": "1 CPU", "local-all": "2 CPUs"}
    assert compared(lookup).startswith("2 configurations: they differ only in CPUs (1 against 2). ")
    setting = OnlyDifference(what="shared_buffers", values={"local-1cpu": "128MB", "local-all": "1GB"})
    lookup = Lookup(study.model_copy(update={"only_difference": setting}))
    assert names_of(lookup) == {"local-1cpu": "shared_buffers 128MB", "local-all": "shared_buffers 1GB"}
    assert names_of(Lookup(study)) == {"local-1cpu": "local-1cpu", "local-all": "local-all"}


def test_machines_that_are_sold_are_counted_by_provider() -> None:
    found = compared(Lookup(priced_example.priced()))
    assert found.startswith("6 configurations on AWS (3), Google Cloud (2) and Azure (1). 3 benchmarks, ")


def test_a_sentence_names_no_more_than_six() -> None:
    assert enumerated([f"m{place}" for place in range(94)]) == "m0, m1, m2, m3, m4 and 89 more"
    assert enumerated(["a", "b", "c"], last="or") == "a, b or c"
    assert MAX_NAMED == 6


def test_trials_that_cannot_be_used_come_with_their_repair() -> None:
    found = repair(Lookup(priced_example.everything()))
    assert found is not None
    assert found.text == "Usable: 180 of 200 trials."
    assert found.commands == ("nephoscope run DIR --retry-rejected",)
    assert found.then.endswith("To repair it, where DIR is the folder of the results:")
    known = repair(Lookup(priced_example.everything()), "results/of today")
    assert known is not None
    assert known.commands == ("nephoscope run 'results/of today' --retry-rejected",)
    assert known.then.endswith(". To repair it:")
    assert repair(Lookup(priced_example.priced())) is None


def test_the_analysis_stores_the_only_difference() -> None:
    made = priced_example.priced_inputs(2, {name: priced_example.MACHINES[name] for name in ("aws-m6i", "gcp-n2")})
    plain = made.study.configurations[0].model_copy(update={"priced_as": None})
    machines = [plain.database_machine.model_copy(update={"cpus": cpus}) for cpus in (1, 4)]
    configurations = [
        plain.model_copy(update={"name": name, "database_machine": machine})
        for name, machine in zip(("aws-m6i", "gcp-n2"), machines, strict=True)
    ]
    study = analyse(replace(made, study=made.study.model_copy(update={"configurations": configurations})))
    assert study.only_difference == OnlyDifference(what="CPUs", values={"aws-m6i": "1", "gcp-n2": "4"})
    assert priced_example.priced().only_difference is None


def test_a_follower_that_does_nearly_the_same_for_much_less_is_on_the_card() -> None:
    study = priced_example.priced()
    best = {
        row.configuration: row.level or 0
        for row in study[Statistic]
        if (row.benchmark, row.per_cpu) == ("reads", False)
    }

    def nearly(row: Any) -> Any:
        of_azure = (row.benchmark, row.per_cpu, row.configuration) == ("reads", False, "azure-d8s")
        return row.model_copy(update={"level": 0.98 * best["aws-c5a"]}) if of_azure else row

    months = {row.configuration: row.month_usd for row in study[CostRow] if row.basis == "on-demand"}
    costs = [
        row.model_copy(update={"month_usd": 640.0}) if row.configuration == "azure-d8s" else row
        for row in study[CostRow]
    ]
    changed: dict[type[Any], list[Any]] = {Statistic: [nearly(row) for row in study[Statistic]], CostRow: costs}
    found = card(with_tables(study, changed), "Operations")
    share = 100 * 640 / (months["aws-c5a"] or 0)
    assert found.costs[1] == f"98 % of it for {share:.0f} % of its price: azure-d8s, $640.00 a month."


def test_each_answer_has_its_own_chance_to_be_wrong() -> None:
    found = verdict_on(priced_example.priced())
    assert found.about_chances.startswith(f"Each of the {len(found.shown + found.folded)} answers has its own 5 %")
    assert not verdict_on(priced_example.priced(1)).about_chances


def on_hosts(study: AnalysedStudy, hosts: dict[str, list[str]]) -> AnalysedStudy:
    """The same study with the hosts that its file would name."""

    def moved(planned: Any) -> Any:
        intent = planned.intent
        machine = {"hosts": hosts[intent.configuration_name]}
        changed = {**intent.configuration, "database_machine": machine}
        return planned.model_copy(update={"intent": intent.model_copy(update={"configuration": changed})})

    plan = study.plan.model_copy(update={"trials": [moved(planned) for planned in study.plan.trials]})
    rows = [row.model_copy(update={"scope": "this machine"}) for row in study[Statistic]]
    return with_tables(study.model_copy(update={"plan": plan}), {Statistic: rows})


def test_answers_about_two_hosts_do_not_speak_of_one_machine() -> None:
    study = on_hosts(example.laptop(), {"local-1cpu": ["a"], "local-all": ["b"]})
    assert verdict_on(study).scope == "These answers are about the hosts a and b, not about their type."
    study = on_hosts(example.laptop(), {"local-1cpu": ["a"], "local-all": ["a"]})
    assert verdict_on(study).scope == "The answers hold for this machine; another of its type may differ."


def test_replicates_are_counted_as_they_were_taken() -> None:
    study = priced_example.priced()
    assert " 3 benchmarks, 8 replicates each, " in compared(Lookup(study))
    assert "up to" not in design(Lookup(study))
    skipped = study[TrialRow][0].model_copy(update={"state": "not needed", "verdict": None})
    lookup = Lookup(with_tables(study, {TrialRow: [skipped, *study[TrialRow][1:]]}))
    assert f"7 to 8 replicates each ({len(study[TrialRow]) - 1} of {len(study[TrialRow])} planned trials)" in compared(
        lookup
    )
    assert design(lookup).startswith(f"The plan runs each benchmark up to {study.replicates} times on each ")
    assert design(lookup).endswith("; 1 trial was skipped once its questions were closed.")


def test_results_of_others_have_the_days_from_their_first_trial_to_their_last() -> None:
    study = priced_example.priced()
    source = SourceRecord(format="x", source="example.org", licence="x", unknown=[], benchmarks=[])
    days = {"started_unix_ms": 1_785_628_800_000}
    trials = [row.model_copy(update=days) for row in study[TrialRow]]
    others = with_tables(study, {TrialRow: trials})
    others = others.model_copy(update={"source": source, "started_unix_ms": 1_718_755_200_000})
    assert ", measured by others (example.org) from 2024-06-19 to 2026-08-02, " in compared(Lookup(others))
    assert ", measured by others (example.org) on 2026-08-02, " in compared(Lookup(others.model_copy(update=days)))


def test_prices_are_as_old_as_their_oldest() -> None:
    study = priced_example.priced()
    dates = {row.date for row in study[CostLineRow] if row.basis == "on-demand"}
    dates |= {row.date for row in study[CostRow] if row.basis == "on-demand" and row.date and row.month_usd}
    oldest = max(row.age_days for row in study[CostRow] if row.basis == "on-demand" and row.age_days is not None)
    said = f"prices as of {min(dates)[:7]} to {max(dates)[:7]}, up to {oldest} days old."
    assert compared(Lookup(study)).endswith(said)


def test_what_was_measured_is_told_as_far_as_all_agree() -> None:
    study = example.laptop()
    plain = {"system": "postgres", "connections": 8}

    def with_database(planned: Any) -> Any:
        intent = planned.intent
        changed = {**intent.configuration, "database": plain}
        return planned.model_copy(update={"intent": intent.model_copy(update={"configuration": changed})})

    plan = study.plan.model_copy(update={"trials": [with_database(one) for one in study.plan.trials]})
    settings = {name: {"server_version": "18.6", "shared_buffers": "256MB"} for name in ("local-1cpu", "local-all")}
    loads = [
        row.model_copy(update={"parameters": {"warehouses": 2, "duration_s": 5.0, "connections": None}})
        for row in study.benchmarks
        if row.benchmark == "tpcc"
    ]
    study = study.model_copy(update={"plan": plan, "database_settings": settings, "benchmarks": loads})
    said = measured(Lookup(study))
    database = "PostgreSQL 18.6, shared_buffers 256 MB, 8 connections"
    assert f"{database}; TPC-C with 2 warehouses (1.10 million rows, 138.7 MiB) for 5 s." in said
    settings["local-all"] = {"server_version": "17.2", "shared_buffers": "1GB"}
    assert "PostgreSQL, 8 connections; " in measured(Lookup(study.model_copy(update={"database_settings": settings})))


def test_warehouses_in_use_are_told_beside_those_that_were_loaded() -> None:
    study = example.laptop()
    (tpcc,) = [row for row in study.benchmarks if row.benchmark == "tpcc"]

    def said(*uses: dict[str, int]) -> str:
        loads = [
            tpcc.model_copy(update={"benchmark": f"tpcc-{place}", "parameters": {"warehouses": 10_000, **one}})
            for place, one in enumerate(uses)
        ]
        return measured(Lookup(study.model_copy(update={"benchmarks": loads})))

    per_cpu = [{"active_warehouses_per_cpu": count} for count in (50, 75, 150)]
    assert "TPC-C with 50 to 150 warehouses per vCPU, of 10,000 loaded (" in said(*per_cpu)
    of_both = said({"active_warehouses": 1200}, *per_cpu)
    assert "TPC-C with 1,200 warehouses or 50 to 150 per vCPU, of 10,000 loaded (" in of_both
    assert "TPC-C with 10,000 warehouses (" in said({}, *per_cpu), "one of them may use all"


def test_several_databases_are_all_named() -> None:
    study = example.laptop()
    used = {"local-1cpu": {"system": "postgres", "version": "18"}, "local-all": {"system": "valkey"}}

    def with_database(planned: Any) -> Any:
        intent = planned.intent
        changed = {**intent.configuration, "database": used[intent.configuration_name]}
        return planned.model_copy(update={"intent": intent.model_copy(update={"configuration": changed})})

    plan = study.plan.model_copy(update={"trials": [with_database(one) for one in study.plan.trials]})
    assert "PostgreSQL 18 and Valkey" in measured(Lookup(study.model_copy(update={"plan": plan})))


def test_what_a_price_buys_is_named_where_the_metric_names_it() -> None:
    def sold(unit: str, counted: str = "") -> str:
        return priced_quantity(unit, 0.05).of(Metric.higher("rate", unit, "rate", counted=counted)).text

    assert sold("1/min", "TPC-C New-Orders/min") == "1,000 TPC-C New-Orders/min"
    assert sold("1/min", "tpmC") == "1,000 tpmC"
    assert sold("1/s") == "1,000/s"
    assert sold("IO/s") == "1,000 IO/s"


def test_the_evidence_says_which_configuration_a_short_name_means() -> None:
    only = OnlyDifference(what="CPUs", values={"local-1cpu": "1", "local-all": "all"})
    study = example.laptop().model_copy(update={"only_difference": only})
    facts = dict(key_facts(Book(Lookup(study))))
    assert facts["Configurations"] == "1 CPU (local-1cpu), 2 CPUs (local-all)"


def test_a_rehearsal_was_not_measured_at_any_time() -> None:
    study = example.laptop()
    plan = study.plan.model_copy(update={"simulated": True})
    measured_at, simulated = (
        dict(key_facts(Book(Lookup(one)))) for one in (study, study.model_copy(update={"plan": plan}))
    )
    assert "Measured" not in simulated
    assert simulated["Simulated clock"] == measured_at["Measured"]


@pytest.mark.parametrize(
    ("counts", "providers", "chapters", "said"),
    [
        (
            (6, 23, 4, 9, 20, 200),
            ["gcp"],
            ["network", "key-value"],
            "6 of 23 configurations, 4 of 9 benchmarks; left out: Google Cloud, network and single-row operations",
        ),
        ((2, 3, 1, 1, 2, 3), [], [], "2 of 3 configurations"),
        ((3, 3, 2, 2, 5, 6), [], [], "each benchmark on some of its configurations (5 of 6 combinations)"),
    ],
)
def test_a_part_of_a_study_says_so_below_the_title(
    counts: tuple[int, ...], providers: list[str], chapters: list[str], said: str
) -> None:
    names = ("configurations", "of_configurations", "benchmarks", "of_benchmarks", "cells", "of_cells")
    part = PartOfStudy(**dict(zip(names, counts, strict=True)), providers=providers, chapters=chapters)
    study = example.laptop()
    page = render_pages(study.model_copy(update={"part": part})).html[Page.MAIN]
    assert f"A part of the study: {said}." in page
    assert "A part of the study" not in render_pages(study).html[Page.MAIN]


def test_the_headline_of_the_study_has_the_first_card_and_the_first_figure() -> None:
    study = priced_example.priced()
    assert verdict_on(study).shown[0].benchmark == "reads", "the study's order, without a headline"
    asked = study.model_copy(update={"headline": Headline(benchmark="waits")})
    assert verdict_on(asked).shown[0].benchmark == "waits"
    board = main_board(Lookup(asked))
    assert board is not None
    assert board.key == ("waits", "wait"), "though it has no price"


def test_a_headline_per_cpu_is_answered_by_its_own_leaderboard() -> None:
    study = priced_example.priced().model_copy(update={"headline": Headline(benchmark="reads", view="per CPU")})
    first, *others = verdict_on(study).shown
    assert (first.benchmark, first.question) == ("reads", "Operations, per CPU")
    (best,) = [
        row for row in study[BestRow] if (row.benchmark, row.view, str(row.scope)) == ("reads", "per CPU", "overall")
    ]
    assert first.bars[0].name in best.best
    assert first.bars[0].name != "aws-c5a", "which leads with 32 vCPUs, not with one"
    assert ("reads", "Operations") in {(one.benchmark, one.question) for one in others}, "as measured, it is asked too"


def test_a_headline_of_one_cloud_compares_its_machines_alone() -> None:
    study = priced_example.priced()
    asked = {"headline": Headline(benchmark="reads", scope="cloud: gcp")}
    assert len(verdict_on(study.model_copy(update=asked)).shown[0].bars) > 2, "a part of the study has no such scope"
    scopes = {**study.scopes, "cloud: gcp": ["gcp-n2", "gcp-n2-twin"]}
    study = study.model_copy(update={**asked, "scopes": scopes})
    assert {bar.name for bar in verdict_on(study).shown[0].bars} == {"gcp-n2", "gcp-n2-twin"}


def test_several_loads_of_one_workload_are_one_card_with_a_curve() -> None:
    loads = (8, 16, 32)
    values = {
        "a": [100.0, 101, 102, 103, 104, 105],
        "b": [110.0, 111, 112, 113, 114, 115],
        "c": [90.0, 91, 92, 93, 94, 95],
    }
    found = ([], [])  # type: ignore[var-annotated]
    for load in loads:
        trials, measurements = rows(
            {name: [load * value for value in many] for name, many in values.items()},
            benchmark=f"load-{load}",
            metric=priced_example.RATE,
            cpus=dict.fromkeys(values, 4),
        )
        found[0].extend(trials)
        found[1].extend(measurements)
    study = analyse(inputs(found, metrics={f"load-{load}": [priced_example.RATE] for load in loads}))
    stepped = [
        row.model_copy(update={"uses": "kv", "parameters": {"connections": int(row.benchmark.removeprefix("load-"))}})
        for row in study.benchmarks
    ]
    found_cards = verdict_on(study.model_copy(update={"benchmarks": stepped}))
    (shown,) = found_cards.shown
    assert shown.benchmark == "load-32", "the highest load that all reached"
    assert [one.benchmark for one in found_cards.folded] == ["load-16", "load-8"]
    assert shown.curve is not None
    assert shown.curve.about.startswith("8 to 32 connections, up to ")
    assert [line.points.split()[-1].split(",")[0] for line in shown.curve.lines] == ["100.0"] * 3
    assert all(len(line.points.split()) == len(loads) for line in shown.curve.lines)
    apart = verdict_on(
        study.model_copy(update={"benchmarks": [row.model_copy(update={"uses": row.benchmark}) for row in stepped]})
    )
    assert len(apart.shown) == len(loads), "different workloads are different questions"
    assert [one.curve for one in apart.shown] == [None] * len(loads)


def test_an_author_has_a_name_terms_and_a_citation_and_nothing_of_it_is_markup() -> None:
    said = Publication(
        subtitle="Which <b>one</b>?",
        authors=["Ada Lovelace", "Grace Hopper"],
        organisation="Example Labs",
        date="2026-11-27",
        licence="CC BY 4.0",
        data_licence="CC0",
        cite="Lovelace & Hopper 2026",
        address="https://example.org/report",
    )
    study = example.laptop().model_copy(update={"publication": said, "description": "One.\n\nTwo."})
    page = render_pages(study).html[Page.MAIN]
    assert '<p class="subtitle">Which &lt;b&gt;one&lt;/b&gt;?</p>' in page
    assert "Ada Lovelace and Grace Hopper, Example Labs, 2026-11-27" in page
    assert "Text: CC BY 4.0. Data: CC0." in page
    assert "Please cite as: Lovelace &amp; Hopper 2026" in page
    assert '<meta property="og:url" content="https://example.org/report">' in page
    assert '<meta name="description" content="One.">' in page
    assert '<p class="description">One.</p>' in page
    plain = render_pages(example.laptop()).html[Page.MAIN]
    assert 'class="logo"' not in plain
    assert "Please cite" not in plain
    assert "og:url" not in plain


@pytest.mark.parametrize("address", ["http://example.org", "javascript:alert(1)", 'https://a"onload=x', "https://a b"])
def test_an_address_is_one_of_the_web(address: str) -> None:
    with pytest.raises(ValidationError):
        Publication(address=address)


def test_more_questions_have_a_column_of_costs_only_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephoscope.report.main.verdict.MAX_CARDS", 1)  # the other questions are folded
    for study, columns in ((priced_example.priced(), 3), (example.laptop(), 2)):
        _, table = render_pages(study).html[Page.MAIN].split("<caption>More questions</caption>")
        head, _ = table.split("</thead>", 1)
        assert head.count("<th ") == columns
