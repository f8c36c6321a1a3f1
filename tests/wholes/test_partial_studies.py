"""A report is written of whatever a study has: of any part of it, however its trials ended."""

from hypothesis import HealthCheck, given, settings

from nephoscope.analysis.inputs import StudyInputs
from nephoscope.insights.registry import analyse
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Page
from tests.support.partial_studies import partial_studies


# Few, as each takes seconds; `make test-all` takes ten times as many.
@settings(max_examples=settings().max_examples // 3, suppress_health_check=list(HealthCheck))
@given(partial_studies())
def test_any_part_of_a_study_has_its_report(inputs: StudyInputs) -> None:
    pages = render_pages(analyse(inputs))
    assert pages.missing == ()
    assert all(pages.html[page].rstrip().endswith("</html>") for page in Page)
