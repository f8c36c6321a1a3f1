"""A whole analysis of a study: its tables, then the sentences about them."""

from nephoscope.analysis.analyse import tables_of
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.registry import insights_of
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.missing import MissingPart


def analyse(inputs: StudyInputs) -> AnalysedStudy:
    """Statistics, comparisons and sentences of a study; pure.

    Raises:
        ValueError: the rows contradict each other; see `cells_of`.
    """
    tables = tables_of(inputs)
    missing: list[MissingPart] = []
    insights = insights_of(Lookup(tables), missing)
    return tables.model_copy(update={"insights": insights, "missing": missing})
