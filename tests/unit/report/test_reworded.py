"""What is decided and shown follows from facts: other words in every stored sentence change none of it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import PlanWarning, WarningKind
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.report.main.doubts import doubts, plan_notes
from nephoscope.report.main.verdict import verdict
from nephoscope.report.parts import Book, Page
from tests.support.some_tables import with_tables
from tests.unit.analysis.study_builder import Rows, inputs
from tests.unit.insights.rule_studies import refused, stolen, studies

SPOKEN = {"reason", "reasons", "note", "text", "why", "advice"}
WORDS = st.lists(
    st.sampled_from(["better", "worse", "steal:", "overall", "autocorrelation", "a: b", "the hours include estimates"]),
    min_size=1,
    max_size=5,
).map(" ".join)
KINDS: list[WarningKind] = ["scale", "hours", "method", "placement", "prices", "skipped"]
EXAMPLES = ("stolen", "refused", "altered", "drifting", "clouds", "one machine each")


def reworded(value: Any, text: str, *, spoken: bool = False) -> Any:
    """The same value with this text in place of every sentence that is not empty."""
    if isinstance(value, dict):
        return {key: reworded(one, text, spoken=key in SPOKEN) for key, one in value.items()}
    if isinstance(value, list):
        return [reworded(one, text, spoken=spoken) for one in value]
    return text if spoken and isinstance(value, str) and value else value


def shown(study: AnalysedStudy) -> object:
    """What a reader is told, without how it is worded."""
    book = Book(Lookup(study)).turned_to(Page.MAIN)
    cards = verdict(book)
    return (
        [(card.benchmark, card.metric, card.state, card.number, card.interval, card.evidence) for card in cards.shown],
        [(one.href, one.label) for one in doubts(book)],
        [warning.kind for warning in plan_notes(study.plan.warnings)],
    )


@pytest.mark.parametrize("name", EXAMPLES)
@settings(max_examples=3, deadline=None)
@given(text=WORDS)
def test_other_words_change_no_answer_and_no_doubt(name: str, text: str) -> None:
    study = studies()[name]
    warnings = [PlanWarning(kind=kind, text="it may be otherwise") for kind in KINDS]
    study = study.model_copy(update={"plan": study.plan.model_copy(update={"warnings": warnings})})
    plain = study.model_dump(by_alias=True, exclude={"tables"})
    tables = {
        row: TypeAdapter(list[row]).validate_python(  # type: ignore[valid-type]  # known when it runs
            reworded([one.model_dump(by_alias=True) for one in rows], text)
        )
        for row, rows in study.tables.items()
        if row is not MeasurementRow
    }
    other = with_tables(AnalysedStudy.model_validate(reworded(plain, text)), tables)
    assert shown(with_tables(other, {MeasurementRow: study[MeasurementRow]})) == shown(study)


@pytest.mark.parametrize("found", [refused(), stolen()], ids=["refused", "stolen"])
@settings(max_examples=3, deadline=None)
@given(text=WORDS)
def test_other_reasons_of_rejected_trials_change_no_table(found: Rows, text: str) -> None:
    trials, measurements = found
    told = [row.model_copy(update={"reasons": [text for _ in row.reasons]}) for row in trials]
    plain, other = (analyse(inputs((rows, measurements))) for rows in (trials, told))
    assert with_tables(other, {TrialRow: plain[TrialRow]}) == plain
