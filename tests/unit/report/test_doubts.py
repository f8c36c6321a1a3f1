"""What to doubt: few points, the worst first, summed up instead of listed."""

import re

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import MAX_NAMED
from nephoscope.insights.registry import RULES
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.looks import RULE, Look, QuestionAtLook, QuestionState
from nephoscope.model.records import PlanWarning, WarningKind
from nephoscope.model.rows import Case, Insight
from nephoscope.report.main.doubts import MAX_DOUBTS, SAID, Doubt, doubts, plan_notes
from nephoscope.report.parts import Book, Page
from tests.unit.report import priced_example
from tests.unit.report import report_example as example


def doubts_of(study: AnalysedStudy) -> list[Doubt]:
    return doubts(Book(Lookup.of(study)).turned_to(Page.MAIN))


def many_outliers(study: AnalysedStudy) -> AnalysedStudy:
    rows = [row for row in study.statistics if not row.per_cpu]
    notes = [
        Insight(
            rule="outliers",
            kind="note",
            text=f"{row.metric} in {row.benchmark} on {row.configuration}: 2 of {row.n} values are outliers.",
            benchmark=row.benchmark,
            trials=row.trials[:2],
            numbers={"flagged": 2 if row.benchmark == "tpcc" else 1, "n": row.n},
        )
        for row in rows
    ]
    return study.model_copy(update={"insights": notes})


def look_with(states: list[QuestionState]) -> Look:
    questions = [
        QuestionAtLook(
            kind="best", benchmark="tpcc", metric=f"m{place}", view="plain", basis=None, about="overall", state=state,
            closed_after=None, configurations=[], chance=0.0,
        )
        for place, state in enumerate(states)
    ]  # fmt: skip
    return Look(
        rule=RULE, block=6, last=6, level=0.05, last_level=0.05, questions=questions, measured={}, planned={},
        trials=[], inputs_digest="",
    )  # fmt: skip


def test_trials_that_were_not_needed_are_told_in_a_sentence() -> None:
    numbers = {"left_out": 290.0, "total": 744.0}
    note = Insight(rule="looks", kind="note", text="x" * 400, trials=[], numbers=numbers, case="left out")
    study = example.many(20).model_copy(update={"insights": [note]})
    (found,) = doubts_of(study)
    assert found.text == "290 of 744 trials were skipped."
    counts: dict[QuestionState, int] = {"decided": 93, "tie": 12, "out of reach": 17, "undecided": 2, "open": 1}
    ended = [state for state, count in counts.items() for _ in range(count)]
    (found,) = doubts_of(study.model_copy(update={"looks": [look_with(ended)]}))
    assert found.text == (
        "290 of 744 trials were skipped. Of 125 questions, 93 were decided, 12 ended in a tie, and 20 are not "
        "decided, 17 of them because the remaining replicates could not have decided them."
    )
    (found,) = doubts_of(study.model_copy(update={"looks": [look_with(["decided", "out of reach"])]}))
    assert found.text.endswith(
        "Of 2 questions, 1 was decided and 1 is not decided because the remaining replicates could not have decided it."
    )


def test_outliers_are_one_point_however_many_there_are() -> None:
    study = many_outliers(example.many(20))
    (found,) = doubts_of(study)
    match = re.fullmatch(r"Outliers in ([\d,]+) of ([\d,]+) values, (.*)\. They stay in all statistics\.", found.text)
    assert match
    flagged = sum(int(row.numbers["flagged"]) for row in study.insights)
    assert match[1] == f"{flagged:,}"
    assert match[2] == f"{sum(row.n for row in Lookup.of(study).headline_statistics):,}"
    assert match[3] == "most of them in tpcc"
    assert found.href == "evidence.html#notes"


def test_no_sentence_names_more_than_six_configurations() -> None:
    study = priced_example.priced(3, {f"m-{i}": ("aws", "us-east-1", "m6i.2xlarge", 8, 1 + i / 50) for i in range(20)})
    names = set(Lookup.of(study).configurations)
    found = doubts_of(study)
    assert found
    for doubt in found:
        assert len(names & set(re.findall(r"[\w-]+", doubt.text))) <= MAX_NAMED, doubt.text
        assert len(doubt.text.split()) < 60


def test_every_rule_that_warns_is_summed_up_or_left_to_the_evidence() -> None:
    """A new rule must say whether readers should doubt what it finds."""
    nothing_to_doubt = {"answer", "leaders", "price_leaders", "contrasts", "storage", "families", "per_cpu", "growth"}
    nothing_to_doubt |= {"predictors", "consistency", "precision", "claims", "usable", "exchanged"}
    assert SAID.keys() | nothing_to_doubt == RULES.keys()
    assert not SAID.keys() & nothing_to_doubt


def test_there_are_at_most_ten_and_the_worst_is_first() -> None:
    study = example.laptop()
    numbers = {"excluded": 40.0, "total": 48.0, "restless": 3.0, "n": 3.0, "flagged": 2.0, "median": 20.0, "most": 9.0}
    cases: dict[str, Case] = {"gaps": "no value", "shared_machines": "few machines", "transfer": "stood"}
    numbers |= {"rows": 5.0, "moved": 2.0, "notable": 5.0, "count": 3.0, "least": 5.0, "trials": 3.0}
    every = [
        Insight(
            rule=rule, kind="answer" if rule == "gate" else "warning", text="It is so.", benchmark="tpcc",
            trials=[study.trials[0].trial], numbers=numbers, case=cases.get(rule, ""),
        )
        for rule in reversed(list(SAID))
    ]  # fmt: skip
    found = doubts_of(study.model_copy(update={"insights": every}))
    assert len(found) == MAX_DOUBTS
    assert study.trials[0].configuration in found[0].text
    assert found[2].text == "40 of 48 trials are not valid, all in tpcc. No number uses them."


def test_a_plan_that_warned_is_mentioned() -> None:
    study = example.laptop()
    told = [PlanWarning(kind="method", text=text) for text in ("trials may disturb each other", "another")]
    plan = study.plan.model_copy(update={"warnings": told})
    found = doubts_of(study.model_copy(update={"insights": [], "plan": plan}))
    assert [one.text for one in found] == ["Trials may disturb each other. The plan had 1 more warning."]


def test_transfer_is_charged_only_where_the_machines_stood() -> None:
    def said(*placed: tuple[str, bool, float], most: str) -> list[str]:
        (row,) = [one for one in priced_example.everything().transfers if one.way == "same zone"][:1]
        rows = [row.model_copy(update={"way": way, "stood": stood, "month_usd": usd}) for way, stood, usd in placed]
        note = Insight(
            rule="transfer",
            kind="note",
            text="",
            trials=[],
            numbers={most: 12.0},
            case="stood" if most == "most" else "",
        )
        study = priced_example.priced(2).model_copy(update={"insights": [note], "transfers": rows})
        return [one.text for one in doubts_of(study)]

    near, apart = ("same zone", True, 0.0), ("between zones", False, 46.0)
    (one,) = said(near, apart, most="most_elsewhere")
    assert one == (
        "Under load all month, transfer would add up to 12 % to monthly costs if load generator and database were in "
        "different zones; within one zone it is free."
    )
    assert said(("between zones", True, 46.0), most="most") == [
        "Monthly costs leave out transfer between machines. Under load all month it would add up to 12 %."
    ]
    assert not said(("same zone", True, 1.0), apart, most="most_elsewhere")


def test_what_a_plan_estimated_is_nothing_to_doubt_about_results() -> None:
    study = example.laptop()
    kinds: list[WarningKind] = ["hours", "hours", "prices", "placement"]
    warnings = [PlanWarning(kind=kind, text="all of it may be otherwise") for kind in kinds]
    plan = study.plan.model_copy(update={"warnings": warnings})
    assert not doubts_of(study.model_copy(update={"insights": [], "plan": plan}))
    assert plan_notes(warnings) == warnings[2:], "the evidence repeats no estimate of the time"
