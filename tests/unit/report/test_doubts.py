"""What to doubt: few points, the worst first, each the sentence of the analysis."""

import re

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import MAX_NAMED
from nephoscope.insights.prices import transfer
from nephoscope.insights.registry import RULES
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostRow, TransferRow
from nephoscope.model.records import PlanWarning, WarningKind
from nephoscope.model.rows import Insight, TrialRow
from nephoscope.report.main.doubts import MAX_DOUBTS, Doubt, doubts, plan_notes
from nephoscope.report.parts import Book, Page
from tests.support.some_tables import with_tables
from tests.unit.report import priced_example
from tests.unit.report import report_example as example


def doubts_of(study: AnalysedStudy) -> list[Doubt]:
    return doubts(Book(Lookup(study)).turned_to(Page.MAIN))


def test_no_sentence_names_more_than_six_configurations() -> None:
    study = priced_example.priced(3, {f"m-{i}": ("aws", "us-east-1", "m6i.2xlarge", 8, 1 + i / 50) for i in range(20)})
    names = set(Lookup(study).configurations)
    points = doubts_of(study)
    assert points
    for doubt in points:
        assert len(names & set(re.findall(r"[\w-]+", doubt.text))) <= MAX_NAMED, doubt.text
        assert len(doubt.text.split()) < 60


def test_there_are_at_most_ten_and_notes_and_answers_are_left_to_the_evidence() -> None:
    study = example.laptop()
    warnings = [
        Insight(rule=rule, kind=kind, text=f"So says {rule}.", trials=[study[TrialRow][0].trial])
        for rule in RULES
        for kind in ("answer", "note", "warning")
    ]
    points = doubts_of(study.model_copy(update={"insights": warnings}))
    assert [doubt.text for doubt in points] == [f"So says {rule}." for rule in list(RULES)[:MAX_DOUBTS]]


def test_a_plan_that_warned_is_mentioned() -> None:
    study = example.laptop()
    told = [PlanWarning(kind="method", text=text) for text in ("trials may disturb each other", "another")]
    plan = study.plan.model_copy(update={"warnings": told})
    points = doubts_of(study.model_copy(update={"insights": [], "plan": plan}))
    assert [doubt.text for doubt in points] == ["Trials may disturb each other. The plan had 1 more warning."]


def test_transfer_is_charged_only_where_the_machines_stood() -> None:
    study = priced_example.priced(2)
    (row,) = [one for one in priced_example.everything()[TransferRow] if one.way == "same zone"][:1]
    name, month_usd = next((cost.configuration, cost.month_usd) for cost in study[CostRow] if cost.basis == "on-demand")

    def texts(*placed: tuple[str, bool, float]) -> list[str]:
        moved = [
            row.model_copy(
                update={"configuration": name, "way": way, "stood": stood, "month_usd": share * (month_usd or 0)}
            )
            for way, stood, share in placed
        ]
        return [draft.text for draft in transfer(Lookup(with_tables(study, {TransferRow: moved})))]

    near, apart = ("same zone", True, 0.0), ("between zones", False, 0.12)
    (elsewhere,) = texts(near, apart)
    assert elsewhere == (
        "Under load all month, transfer would add up to 12 % of the monthly cost of machines and volumes if load "
        "generator and database were in different zones; within one zone it is free."
    )
    (there,) = texts(("between zones", True, 2.5))
    assert there == (
        "Monthly costs leave out transfer between machines. Under load all month it would add up to 2.50 times the "
        "monthly cost of machines and volumes."
    )
    assert not texts(("same zone", True, 0.001), apart)


def test_what_a_plan_estimated_is_nothing_to_doubt_about_results() -> None:
    study = example.laptop()
    kinds: list[WarningKind] = ["hours", "hours", "prices", "placement"]
    warnings = [PlanWarning(kind=kind, text="all of it may be otherwise") for kind in kinds]
    plan = study.plan.model_copy(update={"warnings": warnings})
    assert not doubts_of(study.model_copy(update={"insights": [], "plan": plan}))
    assert plan_notes(warnings) == warnings[2:], "the evidence repeats no estimate of the time"
