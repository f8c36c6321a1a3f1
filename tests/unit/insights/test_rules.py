"""Every rule: what it says, when it is silent, and that it never says more than the verdict."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from nephoscope.analysis.faults import FaultRow
from nephoscope.analysis.lookup import Lookup
from nephoscope.analysis.promised import PromisedRow
from nephoscope.insights import words
from nephoscope.insights.advertised import how_many, promised
from nephoscope.insights.missing import looks as looks_rule
from nephoscope.insights.outages import outages
from nephoscope.insights.predictors import order_of
from nephoscope.insights.prices import price_age, price_doubts
from nephoscope.insights.registry import RULES, analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.looks import QuestionState
from nephoscope.model.numbers import Between, money_form, percent_form, quantity, quantity_form, ratio_form
from nephoscope.model.price_rows import CostRow, PricePerformance
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.rows import (
    Comparison,
    ComparisonVerdict,
    FamilyComparison,
    GateRow,
    Insight,
    MeasurementRow,
    RankRow,
    Statistic,
    TrialRow,
)
from nephoscope.model.subjects import Subject
from nephoscope.model.words import scope_name
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.main.advertised import delivered_over_time
from nephoscope.report.main.palette import palette_of
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Book, Page
from nephoscope.report.sections.machine_numbers import machine_numbers
from nephoscope.study.model import Study
from tests.support.some_tables import with_tables
from tests.unit.analysis.study_builder import LATENCY, TPMC, inputs, measurement, noisy, observed, rows
from tests.unit.insights.rule_studies import (
    CPU_TIME,
    clouds,
    larger_ahead_in_all,
    ordered_alike,
    stopped,
    studies,
    watched,
)

WRITTEN = re.compile(r"\d[\d,]*(?:\.\d+)?")
UNITS = ("USD", "New-Orders/min", "s", "bit/s")
WIDTHS = {"narrow": 0.002, "wide": 0.03}
"""Configuration -> deviation of its values."""


def every_insight() -> Iterator[tuple[AnalysedStudy, Insight]]:
    return ((study, insight) for study in studies().values() for insight in study.insights)


def texts_of(insight: Insight) -> Iterator[str]:
    """Every form that a style could give one of its numbers."""
    styles: list[Callable[[Any], str]] = [*words.STYLES.values(), *(partial(quantity, unit=unit) for unit in UNITS)]
    for name, value in insight.numbers.items():
        yield from (style(value) for style in styles)
        low, high = (insight.numbers.get(f"{name}_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            between = Between(value, low, high)
            forms = [ratio_form(between), money_form(between), percent_form(between)]
            for form in [*forms, *(quantity_form(between, unit) for unit in UNITS)]:
                yield from (form.text(value), form.ends(low, high))


def told(study: str, rule: str) -> list[Insight]:
    return [insight for insight in studies()[study].insights if insight.rule == rule]


def test_every_rule_speaks_in_some_study_and_is_silent_in_an_empty_one(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule=rule):
            assert any(insight.rule == rule for _, insight in every_insight())
            assert told("empty", rule) == []


def test_every_number_in_a_text_is_one_of_its_numbers_written_by_the_shared_styles() -> None:
    for study, insight in every_insight():
        names = {row.configuration for row in study[TrialRow]} | {row.benchmark for row in study[TrialRow]}
        names |= {LATENCY.title, TPMC.title, CPU_TIME.title}
        names |= {label for row in study[ContrastRow] for label in (row.left, row.right)}
        names |= {scope_name(row.scope) for row in study[BestRow]}
        names |= {
            said
            for cost in study[CostRow]
            for said in (cost.basis, cost.date, cost.oldest, cost.oldest_date, cost.price_region)
            if said
        }
        names |= {version for used in study.tool_versions.values() for version in used}
        names |= {held.get("session encryption", "") for held in study.database_settings.values()} - {""}
        rest = str(insight.text)
        for name in sorted(names, key=len, reverse=True):
            rest = rest.replace(name, " ") if any(character.isdigit() for character in name) else rest
        possible = {number.rstrip(",") for text in texts_of(insight) for number in WRITTEN.findall(text)}
        written = {number.rstrip(",") for number in WRITTEN.findall(rest)}
        assert written - possible == set(), insight.text
        assert insight.numbers, insight.text


def test_evidence_exists_and_texts_are_sentences() -> None:
    for study, insight in every_insight():
        text = str(insight.text)
        assert insight.trials, text
        assert set(insight.trials) <= {row.trial for row in study[TrialRow]}, text
        assert insight.trials == sorted(set(insight.trials)), text
        assert text.endswith(".")
        assert not any(word in text for word in ("{", "  ", "None")), text


@pytest.mark.parametrize("study", ["clear", "tie", "open", "few", "latency", "constant"])
def test_an_answer_says_what_the_verdict_says_and_no_more(study: str) -> None:
    answers = told(study, "answer")
    comparisons = [
        row for row in studies()[study][Comparison] if not row.per_cpu and row.metric in headline_names(study)
    ]
    assert len(answers) == len(comparisons)
    for insight, comparison in zip(answers, comparisons, strict=True):
        assert (": not decided" in str(insight.text)) == (comparison.verdict is ComparisonVerdict.UNRESOLVED)
        assert ("are a tie" in str(insight.text)) == (comparison.verdict is ComparisonVerdict.TIE)
        claims = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
        assert ("the best is" in str(insight.text)) == (comparison.verdict in claims)


def headline_names(study: str) -> set[str]:
    return {metric.name for row in studies()[study].benchmarks for metric in row.metrics if metric.headline}


def test_the_answer_starts_with_the_winner() -> None:
    (answer,) = told("clear", "answer")
    assert str(answer.text).startswith("New-Orders committed (tpcc): the best is local-4cpu, with 2.00")
    assert " the rate of local-1cpu (1.99 to 2.01" in str(answer.text)
    assert str(answer.text).endswith("Chance of a wrong winner: at most 5 %. 95 % interval, n = 6 and 6.")
    (lower,) = told("latency", "answer")
    assert ": the best is a, with 17 % less time than b (16 to 17 %)." in str(lower.text)


@pytest.mark.parametrize(
    ("study", "cost", "ending"),
    [
        ("dearer", "1.10", ": an operation costs the server more, so a part of the gain is lost."),
        ("cheaper", "0.909", ": an operation got cheaper for the server, too."),
        ("as dear", "", ": an operation costs the server the same, within ±"),
    ],
)
def test_a_gain_is_explained_by_what_an_operation_costs(study: str, cost: str, ending: str) -> None:
    [insight] = told(study, "operation_costs")
    assert str(insight.text).startswith("tpcc: two has 1.8")
    assert f" the New-Orders committed of one, for {cost}" in str(insight.text)
    assert ending in str(insight.text)
    assert len(insight.trials) == 12


@pytest.mark.parametrize(("rule", "per_cpu"), [("answer", False), ("per_cpu", True)])
def test_a_pair_rests_on_the_trials_of_both_sides(rule: str, per_cpu: bool) -> None:
    study, [insight] = studies()["clear"], told("clear", rule)
    sides = [
        row
        for row in study[Statistic]
        if (row.benchmark, row.metric, row.per_cpu) == (insight.benchmark, TPMC.name, per_cpu)
    ]
    assert len(sides) == 2
    trials = sorted(trial for row in sides for trial in row.trials)
    assert insight.trials == trials
    [pair] = [row for row in study[Comparison] if (row.metric, row.per_cpu) == (TPMC.name, per_cpu)]
    assert sorted(Lookup(study).trials_of_pair(pair)) == trials


def test_open_verdicts_say_what_they_need() -> None:
    (open_one,) = told("open", "answer")
    assert "The interval includes 1, so neither is shown to be better. About 14 more replicates" in str(open_one.text)
    assert open_one.numbers["more"] > 0
    (hopeless,) = told("hopeless", "answer")
    assert "More replicates will hardly decide it." in str(hopeless.text)


def test_many_configurations_get_ranks_as_intervals() -> None:
    best, ranks = told("many", "answer")
    assert ": the best of 5 is e, with 1.081\N{MULTIPLICATION SIGN} the rate of d, number 2 of 5 (" in str(best.text)
    assert " Its level is 1,4" in str(best.text)
    assert str(ranks.text).endswith("error rate 5 % for all together): e 1, d 2, c 3, b 4, a 5.")


def test_several_that_may_be_the_best_are_named_with_what_would_have_shown() -> None:
    best, _ = told("three pairs", "answer")
    assert ": the best of 3 is c, with " in str(best.text)
    several, ranks = told("close", "answer")
    assert ": c or b may be the fastest; 1 of 3 is clearly slower." in str(several.text)
    assert re.search(r"A configuration [\d.]+ % slower would probably have been ruled out\.", str(several.text))
    assert "c 1 to 2" in str(ranks.text)


def test_a_single_replicate_decides_nothing_and_says_so() -> None:
    (none,) = told("once", "answer")
    assert ": the highest single run of 3 is 3 New-Orders/min, of c; each was measured once" in str(none.text)


def test_values_in_steps_are_answered_by_ranks() -> None:
    best, _ = told("steps", "answer")
    assert ": the best of 3 is c, with 1.167" in str(best.text)
    assert str(best.text).endswith("The values come in steps, so exact rank sums were used, which decide less.")


def test_scaling_is_told_from_the_larger_one() -> None:
    (scaling,) = told("clear", "per_cpu")
    assert "local-4cpu, with 4 CPUs, has 0.50" in str(scaling.text)
    assert ": it scales less than in proportion to its CPUs" in str(scaling.text)
    assert told("three pairs", "per_cpu") == []


def test_exclusions_by_reason() -> None:
    (excluded,) = told("refused", "exclusions")
    assert excluded.kind == "warning"
    assert str(excluded.text) == (
        "3 of 10 trials are not valid and excluded from all statistics: "
        "1 failed, 1 rejected by quiet and 1 with an unknown verdict from audit."
    )
    (fine,) = told("clear", "exclusions")
    assert (fine.kind, str(fine.text)) == ("note", "All 12 trials are valid.")


def test_what_a_study_did_not_need_is_no_exclusion_and_asks_for_no_replicates() -> None:
    (looks,) = told("stopped", "looks")
    assert str(looks.text) == "5 of 18 trials were skipped. Of 1 question, 1 was decided."
    (excluded,) = told("stopped", "exclusions")
    assert str(excluded.text) == "All 13 trials that ran are valid."
    assert told("stopped", "replicates") == []
    (changed,) = [insight for insight in stopped("of other trials").insights if insight.rule == "looks"]
    assert "differently, first the one after block 3:" in str(changed.text)


BEYOND = "the remaining replicates could not have decided "


@pytest.mark.parametrize(
    ("states", "words_"),
    [
        (
            {"decided": 93, "tie": 12, "out of reach": 17, "open": 3},
            "93 were decided, 12 ended in a tie and 20 are not decided (17 of them because " + BEYOND + "them).",
        ),
        (
            {"decided": 1, "out of reach": 1},
            "Of 2 questions, 1 was decided and 1 is not decided because " + BEYOND + "it.",
        ),
    ],
)
def test_how_the_questions_of_the_last_look_ended_is_told(states: dict[QuestionState, int], words_: str) -> None:
    study = studies()["stopped"]
    last = study.looks[-1]
    questions = [last.questions[0].model_copy(update={"state": state}) for state, n in states.items() for _ in range(n)]
    looks = [*study.looks[:-1], last.model_copy(update={"questions": questions})]
    (draft,) = looks_rule(Lookup(study.model_copy(update={"looks": looks})))
    assert draft.text.endswith(words_)


def test_fewer_than_six_replicates_are_told_with_their_true_coverage() -> None:
    (few,) = told("few", "replicates")
    assert str(few.text) == (
        "Each median rests on fewer than 6 valid replicates, at the least 3: the interval is only the range of the "
        "values, and covers the median with 75 % instead of 95 %."
    )
    (one,) = told("once", "replicates")
    assert str(one.text).startswith("Each median rests on a single valid replicate, which gives no interval")
    assert told("clear", "replicates") == []


def test_drift_is_told_and_its_absence_is_not() -> None:
    (drift,) = told("drifting", "order")
    assert str(drift.text).startswith("The headline values depend on the block (Kruskal-Wallis H = ")
    assert str(drift.text).endswith(": the random order spreads this over all configurations, so intervals are wider "
                                    "and no configuration is favoured.")  # fmt: skip
    (walk,) = told("walking", "order")
    assert "the replicate measured just before (autocorrelation = " in str(walk.text)
    assert str(walk.text).endswith(": replicates are not independent, and intervals may be too narrow.")
    assert told("clear", "order") == []


def test_split_machines_client_share_and_outliers() -> None:
    (machines,) = told("split", "machines")
    assert "differ from those of the other replicates in CPU model" in str(machines.text)
    (shared,) = told("clear", "colocated")
    assert str(shared.text).startswith(
        "Client and database shared a machine in tpcc, and the client took up to 12 % of its CPU time, "
    )
    (encryption,) = told("encrypted", "encryption")
    assert str(encryption.text).startswith(
        "The sessions with the database were encrypted in 2 ways: "
        "TLSv1.3 TLS_AES_256_GCM_SHA384 (tls) and none (plain)."
    )
    (less,) = told("less durable", "durability")
    assert str(less.text).startswith(
        "Databases acknowledged a commit in 2 ways: once on disk (synced) and up to a second before that (later). "
    )
    (alike,) = told("two systems", "durability")
    assert str(alike.text) == (
        "2 database systems, PostgreSQL and MariaDB, acknowledged commits alike, once on disk. Transactions ran at the "
        "isolation level serializable, which each of them has in its own way."
    )
    (equal,) = told("equal copies", "availability")
    assert str(equal.text).startswith(
        "2 databases with the same copies of the data, as the study says: two copies, synchronous. "
    )
    (unequal,) = told("unequal copies", "availability")
    assert str(unequal.text).startswith(
        "Databases were compared at 2 levels of availability, as the study asks: one copy (single) and two copies, "
        "synchronous (pair). "
    )
    (some,) = told("one is taken over", "failover")
    assert some.kind == "warning"
    assert str(some.text).startswith(
        "What lets another server take over from one that fails differs in 2 ways: cluster (first) and nothing "
        "(second). "
    )
    assert told("both are taken over", "failover") == []
    (unobserved,) = told("elsewhere", "unobserved")
    assert str(unobserved.text).startswith(
        "managed and other: the machine of the database was not observed in 12 trials."
    )
    (outlier,) = told("zeros", "outliers")
    assert outlier.trials == ["tpcc-b-6"]
    assert str(outlier.text).startswith("Outliers in 1 of 12 values, all in tpcc (modified z-score). ")


def test_outliers_are_one_sentence_however_many_there_are_and_of_three_values_there_are_none() -> None:
    far_off = analyse(inputs(rows({name: [100.0, 101, 102, 103, 104, 500] for name in "abcde"})))
    (note,) = [one for one in far_off.insights if one.rule == "outliers"]
    assert note.numbers["flagged"] == len(note.trials) == 5
    three = analyse(inputs(rows({name: [100.0, 100.1, 500] for name in "ab"})))
    assert [one for one in three.insights if one.rule == "outliers"] == []


def test_a_metric_without_a_ratio_is_named() -> None:
    (note,) = told("zeros", "claims")
    assert "not compared there: New-Orders committed in tpcc on a." in str(note.text)
    assert note.kind == "warning", "it is the headline metric"


def test_noise_names_the_widest_and_the_margin() -> None:
    (warning,) = told("open", "noise")
    assert re.match(
        r"2 of 2 medians are known less precisely than the margin of ±1\.5 %, all in tpcc; the worst is ±[\d.]+ %, of "
        r"New-Orders committed in tpcc on [ab]\.",
        str(warning.text),
    )
    assert told("clear", "noise") == []


def test_types_on_one_plateau_are_a_limit_of_the_provider() -> None:
    (cap,) = told("capped", "caps")
    assert "3 machine types of AWS (large-type, middle-type, small-type) all reach about 3,002 IO/s" in str(cap.text)
    assert len(cap.trials) == 9
    assert told("clouds", "caps") == [], "CPU rates are no limits"


def test_trials_that_were_not_at_rest_are_told() -> None:
    (warning,) = told("restless", "steadiness")
    assert warning.trials == ["tpcc-a-2"]
    assert str(warning.text).startswith("1 of 2 long trials was not in a steady state, all in tpcc: ")


def test_several_versions_of_a_tool_are_a_warning() -> None:
    (warning,) = told("versions", "versions")
    assert warning.kind == "warning"
    assert str(warning.text).startswith("1 tool ran in several versions: fio (fio-3.33 and fio-3.36). ")
    assert studies()["versions"].tool_versions == {"fio": ["fio-3.33", "fio-3.36"], "stress-ng": ["0.15"]}


def test_every_answer_says_which_machines_it_speaks_for() -> None:
    for study, words_ in (("one machine each", "these machines"), ("one machine", "this machine")):
        answers = [insight for insight in studies()[study].insights if insight.kind == "answer" and insight.benchmark]
        assert answers
        assert all(words_ in str(insight.text) for insight in answers)
    for study in ("fresh machines", "clear"):
        assert not any(
            " machine" in str(insight.text) for insight in studies()[study].insights if insight.kind == "answer"
        )


def test_a_comparison_of_one_machine_each_is_a_warning_with_its_remedy() -> None:
    (warning,) = told("one machine each", "shared_machines")
    assert str(warning.text).startswith("a and b ran on fewer than 4 machines each, so the answers compare")
    assert 'placement = "per-replicate"' in str(warning.text)
    assert [told(study, "shared_machines") for study in ("one machine", "fresh machines", "clear")] == [[], [], []]


def test_two_names_of_one_machine_are_told() -> None:
    (warning,) = told("two names", "shared_machines")
    assert str(warning.text).startswith("a and b name different machines, but all 12 trials ran on the same one.")
    assert len(warning.trials) == 12
    assert "this machine" in str(told("two names", "answer")[0].text)


def test_families_are_decided_over_types_and_told_by_pairs_of_groups() -> None:
    told_ = {str(insight.text).split(":")[0]: insight for insight in told("clouds", "families")}
    designs = told_["Ice Lake compared with Milan"]
    assert designs.numbers["ratio_k2"] == pytest.approx(1 / 1.3, rel=0.01)
    assert str(designs.text).startswith(
        "Ice Lake compared with Milan: worse in Bogo operations per vCPU (0.768×, 96 % interval"
    )
    assert str(designs.text).endswith("n = 9 and 9 types in 9 blocks.")
    assert "AMD compared with Intel" in told_
    vendor = next(row for row in studies()["clouds"][FamilyComparison] if row.question == "CPU vendor")
    assert (vendor.left, vendor.right, vendor.verdict) == ("AMD", "Intel", ComparisonVerdict.BETTER)
    sizes = next(row for row in studies()["clouds"][FamilyComparison] if row.question == "size")
    assert (sizes.left, sizes.n_left, sizes.blocks) == ("large types with one NUMA node", 2, 2)
    assert told("clear", "families") == []


def test_of_many_configurations_those_that_may_be_the_best_are_named_overall_and_within_sizes() -> None:
    (micro, *_) = told("clouds", "leaders")
    assert re.search(
        r": 9 of 18 are clearly worse; any of the remaining 9 \(3 on .+ and 3 on .+\) may be the best\.",
        str(micro.text),
    )
    assert " These may be the best: " in str(micro.text)
    sizes = next(one for one in told("clouds", "leaders") if "each of 3 sizes" in str(one.text))
    assert "(error rate 5 % each): 8 vCPUs: aws-m6a.2xlarge; 16 vCPUs: " in str(sizes.text)
    best = told("clouds", "answer")[0]
    assert " may be the best; 15 of 18 are clearly worse." in str(best.text)
    assert "Chance that the best is not among them: at most 5 %." in str(best.text)


def test_a_microbenchmark_is_held_against_the_database_or_said_to_be_undecidable() -> None:
    (predicts,) = told("clouds", "predictors")
    assert "so it predicts the order" in str(predicts.text)
    assert predicts.numbers["n"] == 18
    assert predicts.numbers["n_within"] == 18, "six of each size"
    assert str(predicts.text).endswith("): size is not the reason.")
    (none,) = told("clouds without a database", "predictors")
    assert str(none.text).startswith("These data cannot show whether 1 microbenchmark metric predicts")
    assert str(none.text).endswith("of a database: no trial drove a database.")
    assert told("clear", "predictors") == []


FALLING, RISING = [10.0 - place for place in range(8)], [1.0, 2, 3, 5, 4, 6, 7, 8]


def test_the_metric_that_predicts_best_orders_as_the_database_does_and_not_the_other_way_round() -> None:
    study = ordered_alike({"memory": FALLING, "cpu": RISING})
    (said,) = [one for one in study.insights if one.rule == "predictors"]
    assert str(said.text).startswith(
        "Of 2 microbenchmark metrics, Bogo operations of cpu ranks 8 configurations most like"
    )
    assert said.numbers["rho"] > 0.9
    assert said.numbers["level"] == pytest.approx(97.5), "the best of two needs more certainty than one alone"
    assert str(said.text).endswith("Its first 3 are c7, c6, c5; the configuration with the best New-Orders committed, "
                              "c7, is number 1 in its order.")  # fmt: skip
    (opposite,) = [one for one in ordered_alike({"memory": FALLING}).insights if one.rule == "predictors"]
    assert opposite.kind == "note"
    assert str(opposite.text).startswith(
        "These data do not show that a microbenchmark predicts the order of configurations by New-Orders committed of "
        "tpcc (Bogo operations of memory: rank correlation \N{MINUS SIGN}1.00, 95 % interval"
    )


def test_size_alone_predicts_nothing_as_machines_of_several_sizes_are_compared_per_cpu() -> None:
    study = larger_ahead_in_all()
    (said,) = [one for one in study.insights if one.rule == "predictors"]
    assert said.kind == "note"
    assert "per CPU" in str(said.text)
    lookup = Lookup(study)
    metrics = dict(lookup.headlines())
    orders = [
        order_of(lookup, ("tpcc", metrics["tpcc"]), ("micro", metrics["micro"]), per_cpu=per_cpu)
        for per_cpu in (False, True)
    ]
    assert [round(found[0].rho) for found in orders if found] == [1, -1]


def test_benchmarks_that_share_no_configuration_predict_nothing() -> None:
    """Seven types, each as one configuration for the database and as another one for the microbenchmark."""
    names = [f"m{place}.large" for place in range(7)]
    types = {f"{name}-{part}": ("aws", name) for name in names for part in ("db", "net")}
    of_database = rows({f"{name}-db": [100.0 + place] * 3 for place, name in enumerate(names)})
    alone = {f"{name}-net": [100.0 + place] * 3 for place, name in enumerate(names)}
    of_cpu = rows(alone, benchmark="coremark", subject=Subject.CPU, metric=CPU_TIME)
    both = (of_database[0] + of_cpu[0], of_database[1] + of_cpu[1])
    study = analyse(inputs(both, metrics={"tpcc": [TPMC], "coremark": [CPU_TIME]}, types=types))
    assert not [one for one in study.insights if one.rule == "predictors"]


@pytest.mark.parametrize("workload", ["max-warehouses", "tpcb", "kv", "oltp-insert", "highest-load"])
def test_a_workload_is_a_database_in_every_sentence_and_no_microbenchmark(workload: str) -> None:
    study = clouds(workload)
    texts = [str(insight.text) for insight in study.insights]
    assert not any("no trial drove a database" in text for text in texts)
    (predicts,) = [insight for insight in study.insights if insight.rule == "predictors"]
    assert "tried" not in predicts.numbers, "a sentence about several microbenchmarks says how many"
    assert str(predicts.text).startswith("Bogo operations per CPU of micro ranks")
    assert f"most like {TPMC.title} per CPU of {workload}: rank correlation" in str(predicts.text)
    (_, heading, figures), *_ = machine_numbers(Book(Lookup(study)))
    assert heading == "CPU"
    ranked = [figure.title for figure in figures]
    assert ranked == [
        f"micro: Bogo operations, {which}" for which in ("the best of each cloud", "ranked", "per CPU, the best")
    ]
    tables = (
        study[TrialRow],
        study[MeasurementRow],
        study[Statistic],
        study[Comparison],
        study[RankRow],
        study[GateRow],
    )
    for table in tables:
        assert {row.benchmark: row.subject for row in table} == {"micro": Subject.CPU, workload: Subject.DATABASE}


def test_memory_against_consistency_is_told_with_its_interval() -> None:
    related, unrelated = told("clouds", "consistency")
    assert (related.kind, unrelated.kind) == ("answer", "note")
    assert "the rank correlation of memory per vCPU with the spread (CV) of New-Orders committed" in str(related.text)
    assert str(related.text).endswith("more memory per vCPU goes with more repeatable results.")
    assert {one.numbers["level"] for one in (related, unrelated)} == {97.5}


def test_metrics_whose_spread_has_nothing_to_do_with_memory_are_one_note() -> None:
    trials, measurements = noisy({f"c{place}": 1.0 for place in range(8)}, 0.02, n=3)
    values = [measurement(row, one.value, LATENCY) for row, one in zip(trials, measurements, strict=True)]
    metrics = [TPMC, LATENCY.model_copy(update={"headline": True})]
    types = {f"c{place}": ("aws", f"m{place}.large") for place in range(8)}
    seen = [
        observed(row, memory_bytes=(1 + 5 * int(row.configuration[1]) % 8) * 2**30, cpus_online=1) for row in trials
    ]
    study = analyse(inputs((trials, measurements + values), metrics={"tpcc": metrics}, machines=seen, types=types))
    (note,) = [one for one in study.insights if one.rule == "consistency"]
    assert note.kind == "note"
    assert str(note.text).startswith(
        "These data do not show a relation between memory per vCPU and the spread (CV) of New-Orders committed in tpcc "
    )
    assert ") and 95th percentile of response time in tpcc (" in str(note.text)
    assert str(note.text).endswith("its 97.5 % interval and the number of configurations.")


def test_medians_that_the_checks_change_are_counted() -> None:
    rows_ = studies()["refused"][GateRow]
    assert [(row.configuration, row.n_before, row.n_after) for row in rows_] == [("a", 4, 2)]
    (changed,) = told("clouds", "gate")
    assert "from 36 headline medians: 36 changed by more than 5 %." in str(changed.text)
    assert told("clear", "gate") == []


def test_storage_is_judged_by_its_cost_on_the_same_machine() -> None:
    worth, shares = told("on disks", "storage")[0], told("on disks", "storage")[-1]
    assert "it is not worth its price" in str(worth.text)
    assert worth.numbers["speed"] == pytest.approx(1.1, rel=0.02)
    assert "× the cost of the same New-Orders committed" in str(worth.text)
    assert worth.numbers["ratio"] > 1
    assert "io2" in str(shares.text)
    (leader,) = told("on disks", "price_leaders")
    assert str(leader.text).startswith("tpcc: at on-demand prices, gp3 costs least for its New-Orders committed: $")
    assert str(leader.text).endswith("; error rate 5 %). It also costs least at one-year and three-year prices.")
    assert str(leader.text).count("gp3") == 1
    rows_ = [row for row in studies()["on disks"][PricePerformance] if row.basis == "on-demand"]
    assert leader.numbers["quantity"] == 1000
    assert leader.numbers["usd"] == pytest.approx(1000 * min(row.usd_per_unit for row in rows_))


def test_bits_are_priced_by_the_gigabit_and_nobody_is_called_beaten_who_is_not() -> None:
    rate = TPMC.model_copy(update={"unit": "bit/s", "per_cpu": False, "title": "Throughput"})
    found = noisy({"a": 1e6, "b": 1.0001e6}, 0.0005)
    sold = {"provider": "aws", "region": "us-east-1", "type": "m6i.2xlarge"}
    study = Study(
        name="links",
        configurations=[{"name": name, "priced_as": sold} for name in "ab"],
        benchmarks=[{"uses": "tpcc"}],
        costs={"date": "2026-11-21"},
    )
    values = [measurement(row, one.value, rate) for row, one in zip(found[0], found[1], strict=True)]
    made = inputs((found[0], values), metrics={"tpcc": [rate]})
    said = [one for one in analyse(replace(made, study=study)).insights if one.rule == "price_leaders"]
    assert f"${said[0].numbers['usd']:.2f} a month per Gbit/s" in str(said[0].text)
    assert said[0].numbers["usd"] == pytest.approx(280.32, rel=0.01)
    assert "Which one costs least: any of 2 (error rate 5 %). Any two of them differ by less than" in str(said[0].text)


def test_what_more_replicates_take_is_told_in_hours_and_where_there_is_a_price_in_dollars() -> None:
    trials, measurements = noisy({"a": 1, "b": 1.004}, deviation=0.015)
    hour_long = [row.model_copy(update={"duration_s": 3600.0}) for row in trials]
    found = inputs((hour_long, measurements))
    (open_,) = [one for one in analyse(found).insights if one.rule == "answer"]
    more = open_.numbers["more"]
    assert open_.numbers["hours"] == pytest.approx(2 * more)
    assert "usd" not in open_.numbers
    assert " min of machine time." in str(open_.text)
    sold = [one.model_copy(update={"price_usd_per_hour": 1.5}) for one in found.study.configurations]
    priced = replace(found, study=found.study.model_copy(update={"configurations": sold}))
    (open_,) = [one for one in analyse(priced).insights if one.rule == "answer"]
    assert open_.numbers["usd"] == pytest.approx(1.5 * 2 * more)
    assert f" of machine time (about ${1.5 * 2 * more:,.2f})." in str(open_.text)


def test_precision_is_told_of_the_least_precise_configuration() -> None:
    generator = np.random.default_rng(4)
    values = {name: [float(x) for x in 1000 * generator.lognormal(0, wide, 20)] for name, wide in WIDTHS.items()}
    (note,) = [one for one in analyse(inputs(rows(values))).insights if one.rule == "precision"]
    assert "replicates of wide, the least precise configuration" in str(note.text)
    needed = [note.numbers[name] for name in sorted(note.numbers) if name.startswith("needed_")]
    assert needed == sorted(needed, reverse=True)
    assert ": more than 20 for ±1 %, " in str(note.text)
    assert "(CONFIRM)" in str(note.text)


def test_old_prices_are_a_warning_and_new_ones_are_not() -> None:
    old = [one for study in studies().values() for one in study.insights if one.rule == "price_age"]
    assert old
    assert all(one.kind == "warning" and one.numbers["days"] > 180 for one in old)
    assert told("clear", "price_age") == []


def test_old_prices_of_other_contracts_are_told_apart_from_those_that_rank_machines() -> None:
    study = next(one for one in studies().values() if any(row.rule == "price_age" for row in one.insights))
    old = next(row for row in study[CostRow] if row.month_usd is not None and (row.age_days or 0) > 180)
    new = old.model_copy(update={"basis": "on-demand", "age_days": 10})
    reserved = old.model_copy(update={"basis": "reserved-1y"})
    (told_of,) = price_age(Lookup(with_tables(study, {CostRow: [new, reserved]})))
    assert told_of.text.startswith("The prices under other terms of 1 of 1 configuration were")
    assert told_of.text.endswith("The answers do not use them.")
    other = old.model_copy(update={"basis": "reserved-3y"})
    asked = with_tables(study.model_copy(update={"bases": ["reserved-1y"]}), {CostRow: [reserved, other]})
    texts = [draft.text for draft in price_age(Lookup(asked))]
    assert texts[-1].endswith("The answers do not use them.")


def test_prices_of_another_region_and_disputed_ones_are_warnings() -> None:
    study = studies()["on disks"]
    row = next(row for row in study[CostRow] if row.basis == "on-demand")
    said: list[dict[str, str]] = [{"price_region": "far"}, {"disputed": "$2 in a list"}, {}]
    prices = [row.model_copy(update={"configuration": name, **more}) for name, more in zip("abc", said, strict=True)]
    far, disputed = (draft.text for draft in price_doubts(Lookup(with_tables(study, {CostRow: prices}))))
    few = "The prices of 1 of 3 configurations are"
    assert far == f"{few} of another region, as their own has none: a costs what it does in far."
    assert disputed.startswith(f"{few} disputed, ")
    assert disputed.endswith(": an hour of b is also listed at $2 in a list.")


@pytest.mark.parametrize("unit", ["MB{s}/s", "{", "}", "{0.__class__}", "a!r:{b}"])
def test_a_unit_of_somebody_elses_tool_is_text_and_never_a_template(unit: str) -> None:
    metric = TPMC.model_copy(update={"unit": unit})
    found = rows({"a": [5.0, 5.1, 5.2, 5.1, 5.0, 5.2]}, metric=metric)
    insights = analyse(inputs(found, {"tpcc": [metric]})).insights
    assert any(unit in str(insight.text) for insight in insights), insights


def test_exchanged_machines_are_counted_with_what_differs_and_those_that_stayed_are_told() -> None:
    (every,), (some,) = told("exchanged", "exchanged"), told("one kind left", "exchanged")
    assert str(every.text) == (
        "2 of 8 attempts of a got a machine that differs from most of this configuration in CPU model, "
        "last-level cache and NUMA nodes. Their trials ran again on new machines."
    )
    assert str(some.text).startswith("2 of 7 attempts of a got ")
    assert str(some.text).endswith("1 trial of them did not run again on a machine of the usual kind, and is excluded.")
    page = render_pages(studies()["exchanged"]).html[Page.EVIDENCE]
    assert "2 of 8 attempts" in page.partition('id="machines-title"')[2].partition("</section>")[0]


def test_what_was_paid_for_is_held_against_what_was_measured_and_a_throttled_machine_is_named() -> None:
    (said,) = told("networks", "advertised")
    assert str(said.text) == (
        "1 of 2 configurations of AWS reached what is advertised, as c5n.9xlarge with 49.5 of 50 Gbit/s (99 %, "
        "capped); m5.2xlarge with 5.07 of up to 10 Gbit/s (51 %). m5.2xlarge was throttled in 6 of 6 trials: "
        "10.20 Gbit/s for 40 s, then 2.500 Gbit/s, 25 % of what is advertised."
    )


def test_a_watched_volume_is_told_with_what_it_lacked_of_its_promise_and_what_that_costs() -> None:
    (said,) = told("watched", "promised")
    assert str(said.text) == (
        "gp3 delivered at least 90 % of the promised 3,000 IO/s in 75 % of 1 h 00 min (day, the worst of 2 trials): "
        "it fell short 2 times, the longest for 15 min 00 s. What was lacking, 7.6 % of the I/Os, is $3.06 of the "
        "volume's month."
    )
    row = max(studies()["watched"][PromisedRow], key=lambda row: row.lacking_share)
    assert [str(span) for span in row.shortfalls] == ["600.0 605.0", "2000.0 2900.0"]
    assert (row.promised_by, row.promised_iops, row.watched_s, row.throttled_after_s) == ("gp3", 3000, 3600, None)
    book = Book(Lookup(studies()["watched"]))
    figure = delivered_over_time(book, book.lookup.study.benchmarks, palette_of(book.lookup))
    assert figure is not None
    sets = unpacked(figure.panels[0].script)["datasets"]
    assert (sets["promise"], sets["spans"][1]) == ([{"promised": 3000.0}], {"s": 2000.0, "end": 2900.0})
    assert min(point["low"] for point in sets["rows"]) == 0.0, "a second is not lost between others"


def test_a_throttled_volume_is_told_so_and_a_stated_promise_holds_without_a_price() -> None:
    (draft,) = promised(Lookup(watched({300: 0.5}, 600, promise="2500")))
    assert draft.text == (
        "gp3 delivered at least 90 % of the promised 2,500 IO/s in 50 % of 10 min 00 s (day, the worst of 2 trials): "
        "it fell short once, for 5 min 00 s. It was throttled after 5 min 00 s, to the end. What was lacking, 20 % of "
        "the I/Os, is $8.00 of the volume's month."
    )


def test_a_server_that_was_killed_is_told_with_how_long_clients_saw_none_and_which_writes_were_lost() -> None:
    (longest,) = told("faulted", "outages")
    assert str(longest.text) == (
        "The longest outage that any client saw in kill was 2.35 s on async and 3.35 s on sync: medians, each of 12 "
        "faults."
    )
    (lost,) = told("faulted", "losses")
    assert str(lost.text) == (
        "In kill, no acknowledged write was lost on sync in 12 faults: at most 22 % of such faults lose any. async "
        "lost 42 of 5,400 acknowledged writes."
    )


def test_where_a_part_of_the_data_was_away_for_longer_the_usual_rate_is_told_too() -> None:
    """A master of several is dead: a client has success on the keys of the others."""
    study = studies()["faulted"]
    slow = [row.model_copy(update={"time_to_usual_rate_s": 8.5}) for row in study[FaultRow]]
    (draft,) = outages(Lookup(with_tables(study, {FaultRow: slow})))
    assert draft.text.endswith(" Clients had their usual rate again after 8.500 s on async and 8.500 s on sync.")


def test_a_faster_failover_is_told_with_what_it_costs_and_what_it_saves() -> None:
    (said,) = told("faulted", "outage_costs")
    assert str(said.text) == (
        "async costs $292.00 a month more than sync and had outages shorter by 1.00 s in kill, which at 12 such faults "
        "a year is 12 s of outage less: it pays where an hour of outage costs more than $1,051,200.00."
    )
    (said,) = told("faulted at a cost", "outage_costs")
    assert str(said.text).endswith(
        "which at 24 such faults a year is 24 s of outage less, and saves $55.56 a month at $100,000.00 for an hour of "
        "outage: it would pay from $525,600.00 on."
    )
    (said,) = told("faulted for nothing", "outage_costs")
    assert str(said.text) == (
        "sync costs $292.00 a month more than async and did not surely have shorter outages in kill."
    )


@pytest.mark.parametrize(
    ("met", "below", "undecided", "says"),
    [
        (1, 1, 1, "{met:count} OF reached WHAT"),
        (0, 2, 0, "None OF reached WHAT"),
        (0, 18, 4, "{below:count} OF have not reached WHAT"),
        (0, 1, 4, "{below:count} OF has not reached WHAT"),
        (0, 0, 3, "For none OF is it decided whether it reached WHAT"),
    ],
)
def test_what_is_not_decided_is_not_said_to_be_missed(met: int, below: int, undecided: int, says: str) -> None:
    assert how_many(met, below, undecided).format(of="OF", reached="reached", what="WHAT") == says
